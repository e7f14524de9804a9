// Package providertest is the contract of a [gateway.Provider] whose upstream
// speaks OpenAI's chat completions, as a test against scripted upstreams: what
// must arrive there, what must come back byte for byte, what ends a request, and
// what each failure is called.
package providertest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway"
)

// Settings are what a case needs the provider to be made with.
type Settings struct {
	// BaseURL is the upstream's address with its version. It may be one for https,
	// in front of which nothing speaks TLS.
	BaseURL string
	// Key is the credential for the upstream.
	Key string
	// The timers. Zero means the provider's own default, which must be longer than
	// a test runs, some seconds.
	Connect, FirstToken, Idle, Total time.Duration
}

// Wire is where an upstream differs from OpenAI's own in what it must be sent.
type Wire struct {
	// URL is the path and the query of a chat request, behind Settings.BaseURL.
	URL string
	// KeyHeader is the header that holds the key; KeyScheme stands in front of it.
	KeyHeader, KeyScheme string
}

// OpenAI is the wire of OpenAI itself and of most upstreams that speak like it.
func OpenAI() Wire {
	return Wire{URL: "/chat/completions", KeyHeader: "Authorization", KeyScheme: "Bearer "}
}

// Model is the upstream's name of the model in every request that [Run] sends.
const Model = "upstream-model"

// Factory makes the provider under test. It may use t to free what it holds.
type Factory func(t *testing.T, s Settings) gateway.Provider

const (
	key   = "sk-canary-0123456789abcdef"
	short = 50 * time.Millisecond // a timer that shall run out
	slow  = 5 * time.Minute       // what takes longer hangs
)

// testCase is one rule of the contract.
type testCase struct {
	name string
	rule string // printed when it is broken
	run  func(t *testing.T, f Factory)
}

func (c testCase) title() string { return strings.ReplaceAll(c.name, " ", "_") }

func (c testCase) check(t *testing.T, f Factory) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("rule: %s", c.rule)
		}
	})
	c.run(t, f)
}

// Run tests the provider that f makes, whose upstream speaks w. It must be called
// from a test that is not parallel, since it looks for goroutines that were left
// behind.
func Run(t *testing.T, w Wire, f Factory) {
	before := goleak.IgnoreCurrent()
	// What is measured in time comes first and alone.
	for _, c := range cancelCases() {
		t.Run(c.title(), func(t *testing.T) { c.check(t, f) })
	}
	t.Run("contract", func(t *testing.T) {
		for _, c := range slices.Concat(requestCases(w), replyCases(), streamCases(), cutCases(), timerCases(), statusCases(), errorCases()) {
			t.Run(c.title(), func(t *testing.T) {
				t.Parallel()
				c.check(t, f)
			})
		}
	})
	t.Run("no_goroutine_left", func(t *testing.T) { goleak.VerifyNone(t, before) })
}

// open makes a provider for an upstream and releases its idle connections at the
// test's end.
func open(t *testing.T, f Factory, s Settings) gateway.Provider {
	t.Helper()
	s.Key = key
	p := f(t, s)
	if c, ok := p.(interface{ CloseIdleConnections() }); ok {
		t.Cleanup(c.CloseIdleConnections)
	}
	return p
}

// request parses a body that must be good.
func request(t *testing.T, body string) *gateway.Request {
	t.Helper()
	r, err := gateway.ParseRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func plainRequest(t *testing.T) *gateway.Request {
	return request(t, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
}

func streamRequest(t *testing.T) *gateway.Request {
	return request(t, `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
}

// chat asks and expects a reply, which is closed at the test's end.
func chat(ctx context.Context, t *testing.T, p gateway.Provider, r *gateway.Request) gateway.Reply {
	t.Helper()
	reply, err := p.Chat(ctx, Model, r)
	if err != nil {
		t.Fatalf("Chat: got error %v, want a reply", err)
	}
	t.Cleanup(func() { reply.Close() })
	return reply
}

// drained is what a reply gave.
type drained struct {
	raw   string
	data  []string
	done  bool
	after bool // a frame came behind the end marker
	err   error
}

func drain(reply gateway.Reply) drained {
	var d drained
	var raw strings.Builder
	for {
		frame, err := reply.Next()
		if err != nil {
			d.raw, d.err = raw.String(), err
			return d
		}
		raw.Write(frame.Raw)
		d.after = d.after || d.done
		d.done = d.done || frame.Done
		if frame.Data != nil {
			d.data = append(d.data, string(frame.Data))
		}
	}
}

// ask sends one request and returns the first error, from Chat or from the reply.
func ask(t *testing.T, p gateway.Provider, r *gateway.Request) (drained, error) {
	t.Helper()
	reply, err := p.Chat(t.Context(), Model, r)
	if err != nil {
		return drained{}, err
	}
	defer reply.Close()
	d := drain(reply)
	if d.err == io.EOF {
		return d, nil
	}
	return d, d.err
}

// wantError checks an error's class, and that it is fit to be shown.
func wantError(t *testing.T, err error, kind gateway.Kind, code string, texts ...string) *gateway.Error {
	t.Helper()
	var e *gateway.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want a *gateway.Error", err, err)
	}
	if e.Kind != kind || e.CodeOrDefault() != code {
		t.Errorf("got kind %d, code %q, want %d, %q; error: %v", e.Kind, e.CodeOrDefault(), kind, code, e)
	}
	for _, text := range texts {
		if !strings.Contains(e.Message, text) {
			t.Errorf("got message %q, want it to say %q", e.Message, text)
		}
	}
	if kind != gateway.Canceled {
		for _, secret := range []string{key, key[:len(key)-4]} {
			if strings.Contains(e.Error()+e.Message+string(e.Body)+headerText(e.Header), secret) {
				t.Errorf("the error quotes the key: %v", e)
			}
		}
	}
	return e
}

func headerText(h http.Header) string {
	var b strings.Builder
	_ = h.Write(&b) // a Builder does not fail
	return b.String()
}
