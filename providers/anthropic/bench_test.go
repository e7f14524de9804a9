package anthropic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/internal/steps"
	"github.com/callgate/callgate/providers/anthropic"
)

// conversation is a request of some 200 KB with many turns of calls.
func conversation(turns int) string {
	var b strings.Builder
	b.WriteString(`{"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"messages":[{"role":"system","content":"s"},{"role":"user","content":"go"}`)
	words := strings.Repeat("some words of a result, ", 80)
	for i := range turns {
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"f","arguments":"{\"n\": %d}"}}]},{"role":"tool","tool_call_id":"c%d","content":"%s"}`, i, i, i, words)
	}
	b.WriteString("]}")
	return b.String()
}

func BenchmarkRequest(b *testing.B) {
	image := `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("QUJD", 1<<20) + `"}}]}]}`
	for _, tt := range []struct{ name, body string }{{"200KB of turns", conversation(100)}, {"4MB image", image}} {
		b.Run(tt.name, func(b *testing.B) {
			req, err := gateway.ParseRequest([]byte(tt.body))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(tt.body)))
			b.ReportAllocs()
			for b.Loop() {
				p := open(b, answering("application/json", strings.NewReader(wholeAnswer)))
				if _, err := p.Chat(b.Context(), model, req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStream(b *testing.B) {
	const deltas = 1000
	sse := startEvent + strings.Repeat(textEvent, deltas) + endEvents
	req := request(b, streamBody)
	b.SetBytes(int64(len(sse)))
	b.ReportAllocs()
	for b.Loop() {
		reply, err := open(b, answering("text/event-stream", strings.NewReader(sse))).Chat(b.Context(), model, req)
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = reply.Next()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/deltas, "ns/delta")
}

// TestLinear checks that a hostile request and a hostile answer take work in proportion to
// their size.
func TestLinear(t *testing.T) {
	t.Parallel()
	steps.Run(t, linear)
}

func linear(t *testing.T) {
	const small, factor = 200, 16
	const message = `{"role":"user","content":"a","x":1},{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}`
	const call, use = `,{"id":"a","function":{"name":"f","arguments":"{}"}}`, `,{"type":"tool_use","id":"a","name":"f","input":{}}`
	brackets := func(n int) string { return `"` + strings.Repeat(`\\\"[{`, n) + `"` }
	for name, body := range map[string]func(n int) string{
		"messages": func(n int) string {
			return `{"model":"m","messages":[` + message + strings.Repeat(","+message, n/2) + `]}`
		},
		"calls": func(n int) string {
			return `{"model":"m","messages":[{"role":"assistant","tool_calls":[` + call[1:] + strings.Repeat(call, n) + `]}]}`
		},
		"brackets": func(n int) string {
			return `{"model":"m","messages":[{"role":"user","content":` + brackets(n) + `}],"x":` + brackets(n) + `}`
		},
	} {
		work := func(n int) func() {
			text := body(n)
			return func() {
				if _, _, err := sent(t, anthropic.Config{}, model, text); err != nil {
					t.Error(err)
				}
			}
		}
		t.Run(name, func(t *testing.T) { steps.Linear(t, factor, work(small), work(small*factor)) })
	}
	answers := func(n int) func() {
		var fields strings.Builder
		for i := range n {
			fmt.Fprintf(&fields, `"f%d":1,`, i)
		}
		answer := `{` + fields.String() + `"usage":{` + fields.String() + `"input_tokens":1},"content":[{"type":"x"}` + strings.Repeat(use, n) + `]}`
		return func() {
			d, err := ask(t, open(t, answering("application/json", strings.NewReader(answer))), plainBody)
			if err != nil || !strings.Contains(d.warnings, "dropped:answer.fields") {
				t.Errorf("got %v, warnings %q, want an answer and that fields were dropped", err, d.warnings)
			}
		}
	}
	t.Run("answer", func(t *testing.T) { steps.Linear(t, factor, answers(small), answers(small*factor)) })
}
