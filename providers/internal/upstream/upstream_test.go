package upstream_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/providers/internal/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a client for an upstream that h serves.
func open(t *testing.T, c upstream.Config, h http.HandlerFunc) *upstream.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c.BaseURL = s.URL + "/base?v=1"
	p, err := upstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.CloseIdleConnections)
	return p
}

func TestRequest(t *testing.T) {
	t.Parallel()
	got := make(chan *http.Request, 1)
	p := open(t, upstream.Config{
		Key: "sk-canary", KeyHeader: "x-api-key", Drop: []string{"openai-beta"}, Forward: []string{"x-custom"},
		Headers: map[string]string{"version": "2"},
	}, func(w http.ResponseWriter, r *http.Request) {
		got <- r
		io.WriteString(w, `{"whole":true}`)
	})
	client := http.Header{"Openai-Beta": {"a"}, "X-Other": {"a"}, "X-Api-Key": {"of-the-client"}, "Version": {"1"}, "X-Custom": {"b"}}
	resp, err := p.Do(t.Context(), upstream.Request{URL: p.URL("a", "b%2Fc"), Body: wire.Pieces{[]byte("{}")}, Header: client})
	if err != nil || string(resp.Data) != `{"whole":true}` || resp.Stream != nil {
		t.Fatalf("got %+v, %v, want the whole answer", resp, err)
	}
	r := <-got
	if want := "/base/a/b%2Fc?v=1"; r.URL.String() != want {
		t.Errorf("got %s, want %s", r.URL, want)
	}
	for name, want := range map[string]string{"X-Api-Key": "sk-canary", "Authorization": "", "Openai-Beta": "", "X-Other": "", "Version": "2", "X-Custom": "b"} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestQuotaCodes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		status     int
		kind       gateway.Kind
		code       string
	}{
		{"as the code", `{"error":{"code":"spent","message":"m"}}`, 429, gateway.QuotaExceeded, "insufficient_quota"},
		{"as the type", `{"error":{"type":"spent","message":"m"}}`, 400, gateway.QuotaExceeded, "insufficient_quota"},
		{"at the top", `{"code":"spent"}`, 429, gateway.QuotaExceeded, "insufficient_quota"},
		{"with the status of a wrong key", `{"error":{"code":"spent","message":"m"}}`, 403, gateway.QuotaExceeded, "insufficient_quota"},
		{"another code", `{"error":{"code":"other","message":"spent"}}`, 429, gateway.RateLimited, "upstream_rate_limited"},
		{"a failure", `{"error":{"code":"spent"}}`, 500, gateway.Unavailable, "upstream_error"},
		{"by its status", `no JSON`, 402, gateway.QuotaExceeded, "insufficient_quota"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := open(t, upstream.Config{QuotaCodes: []string{"spent"}}, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})
			_, err := p.Do(t.Context(), upstream.Request{URL: p.URL("chat")})
			var e *gateway.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || e.CodeOrDefault() != tt.code {
				t.Errorf("got %v, want kind %d, code %q", err, tt.kind, tt.code)
			}
		})
	}
}

// TestStream sees that what is complete is the adapter's to say.
func TestStream(t *testing.T) {
	t.Parallel()
	p := open(t, upstream.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: a\ndata: {\"a\":1}\n\ndata: {\"b\":2}\n")
	})
	for _, finished := range []bool{false, true} {
		resp, err := p.Do(t.Context(), upstream.Request{URL: p.URL("chat"), Stream: true})
		if err != nil {
			t.Fatal(err)
		}
		s := resp.Stream
		for _, want := range []string{"event: a\ndata: {\"a\":1}\n\n", "data: {\"b\":2}\n\n"} {
			b, err := s.Next()
			if err != nil || string(b.Raw) != want {
				t.Fatalf("got %q, %v, want %q", b.Raw, err, want)
			}
			s.Started()
		}
		s.Finished(finished)
		_, err = s.Next()
		var e *gateway.Error
		cut := errors.As(err, &e) && e.Code == upstream.CodeCut
		if cut == finished || finished && err != io.EOF {
			t.Errorf("finished %v: got %v", finished, err)
		}
		if again := s.End(); again != err {
			t.Errorf("got %v behind the end, want %v again", again, err)
		}
		s.Close()
	}
}
