package chat_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/chat"
	"github.com/callgate/callgate/gateway/wire"
)

type reply struct{ streamed bool }

func (r reply) Header() http.Header           { return nil }
func (r reply) Streamed() bool                { return r.streamed }
func (r reply) Next() (*gateway.Frame, error) { return nil, io.EOF }
func (r reply) Close() error                  { return nil }

// TestToolEvents has what the gateway's own tools do in front of a client that has not asked for it,
// and of one that has.
func TestToolEvents(t *testing.T) {
	const event = `{"id":"c","choices":[],"callgate":{"tool":{"event":"started","id":"a","server":"s","name":"n","arguments":"{}"}}}`
	const usage = `{"id":"c","choices":[],"usage":{"prompt_tokens":1}}`
	const whole = `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"callgate":{"tools":[{"event":"listed","server":"s","tools":[],"after":0}]}}`
	for _, c := range []struct {
		header string
		shown  bool
	}{{"", false}, {"0", false}, {"1", true}} {
		front, err := chat.Parse(t.Context(), []byte(`{}`), protocol.Client{Header: http.Header{"X-Callgate-Tool-Events": {c.header}}})
		if err != nil {
			t.Fatal(err)
		}
		w := front.Writer(&gateway.Response{Summary: &gateway.Summary{ToolRun: &gateway.ToolRun{}}, Reply: reply{true}})
		var out []byte
		for _, data := range []string{event, usage} {
			f := wire.Event([]byte(data))
			if out, err = w.Frame(out, &f); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(string(out), "callgate") != c.shown || !strings.Contains(string(out), usage) {
			t.Errorf("%q: got %s", c.header, out)
		}
		w = front.Writer(&gateway.Response{Summary: &gateway.Summary{ToolRun: &gateway.ToolRun{}}, Reply: reply{}})
		body, err := w.Whole(&wire.Frame{Raw: []byte(whole), Data: []byte(whole), Whole: true})
		if err != nil || strings.Contains(string(body), "callgate") != c.shown || !strings.Contains(string(body), `"content":"x"`) {
			t.Errorf("%q: got %v and %s", c.header, err, body)
		}
	}
	if _, err := chat.Parse(t.Context(), nil, protocol.Client{Header: http.Header{"X-Callgate-Tool-Events": {"yes"}}}); err == nil {
		t.Error("got no error for a header that says neither 1 nor 0")
	}
}
