package anthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/anthropic"
)

// FuzzRequest checks that every request which the gateway takes is either refused
// with its place, or becomes one that is valid JSON, with turns that alternate.
func FuzzRequest(f *testing.F) {
	for _, g := range goldens(f, "request") {
		f.Add([]byte(g.part("openai.json")))
	}
	for _, g := range goldens(f, "refused") {
		for line := range strings.Lines(g.part("fields.jsonl")) {
			f.Add([]byte(`{"model":"m",` + line[1:]))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := gateway.ParseRequest(body)
		if err != nil {
			return
		}
		var sent []byte
		p := open(t, transport(func(r *http.Request) (*http.Response, error) {
			sent, _ = io.ReadAll(r.Body)
			return answering("application/json", strings.NewReader(wholeAnswer))(r)
		}))
		reply, err := p.Chat(t.Context(), req.Model, req)
		if err != nil {
			if e := gateway.AsError(err); e.Kind != gateway.Invalid || e.Param == "" || e.Message == "" {
				t.Errorf("got %v, want an error of the kind Invalid with its place", err)
			}
			return
		}
		for _, w := range reply.(gateway.Warner).Warnings() {
			if strings.ContainsFunc(w, func(r rune) bool { return r <= ' ' || r > '~' }) {
				t.Errorf("got the warning %q, want plain words", w)
			}
		}
		// The arguments of a call may hold a name twice; nothing else may.
		if !jsontext.Value(sent).IsValid(jsontext.AllowDuplicateNames(true)) {
			t.Fatalf("got %s, want valid JSON", sent)
		}
		var out struct {
			MaxTokens json.RawMessage `json:"max_tokens"`
			Messages  []struct {
				Role    string
				Content []json.RawMessage
			} `json:"messages"`
		}
		if err := json.Unmarshal(sent, &out); err != nil || out.MaxTokens == nil {
			t.Fatalf("got %s, %v, want a request with max_tokens", sent, err)
		}
		for i, m := range out.Messages {
			if len(m.Content) == 0 || i > 0 && m.Role == out.Messages[i-1].Role {
				t.Errorf("got %s, want turns that alternate and have a content", sent)
			}
		}
	})
}

// FuzzStream checks that every stream of bytes ends in a good end or an error of the
// gateway's, gives frames that are whole, and is the same however it is cut.
func FuzzStream(f *testing.F) {
	for _, g := range goldens(f, "stream") {
		f.Add([]byte(g.part("anthropic.sse")))
	}
	f.Fuzz(func(t *testing.T, sse []byte) {
		if len(sse) > 1<<14 {
			return
		}
		want := fuzzed(t, open(t, answering("text/event-stream", strings.NewReader(string(sse)))), streamBody)
		got := fuzzed(t, open(t, answering("text/event-stream", iotest.OneByteReader(strings.NewReader(string(sse))))), streamBody)
		if got != want {
			t.Errorf("byte by byte:\n got %s\nwant %s", got, want)
		}
	})
}

// FuzzAnswer checks that every whole answer becomes a completion or an error.
func FuzzAnswer(f *testing.F) {
	for _, g := range goldens(f, "answer") {
		f.Add([]byte(g.part("anthropic.json")))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		fuzzed(t, open(t, answering("application/json", strings.NewReader(string(answer)))), plainBody)
	})
}

// fuzzed asks and returns all that came, for a comparison.
func fuzzed(t *testing.T, p *anthropic.Provider, body string) string {
	t.Helper()
	d, err := ask(t, p, body)
	if err == nil && len(d.data) > 0 && !strings.Contains(strings.Join(d.data, ""), `"finish_reason":"`) {
		t.Errorf("got a good end without a finish reason: %s", d.raw)
	}
	if err != nil {
		if e := gateway.AsError(err); e.Kind == gateway.Internal {
			t.Errorf("got %v, want an error with a kind", err)
		}
	}
	return timeless(d.raw) + "\n" + d.warnings + "\n" + errorText(err)
}
