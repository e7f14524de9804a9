package responses_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/responses"
)

// BenchmarkRequest reads a conversation of 40 turns with 10 tools, some 90 KB, as a request for
// a response and as the same chat completion.
func BenchmarkRequest(b *testing.B) {
	var items, tools []string
	text := strings.Repeat("The quick brown fox. ", 40)
	for i := range 40 {
		items = append(items, fmt.Sprintf(`{"role":"user","content":"%s"}`, text),
			fmt.Sprintf(`{"type":"function_call","call_id":"c%d","name":"f0","arguments":"{\"a\":1}"}`, i),
			fmt.Sprintf(`{"type":"function_call_output","call_id":"c%d","output":"%s"}`, i, text))
	}
	for i := range 10 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","name":"f%d","description":"%s","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}`, i, text))
	}
	body := []byte(`{"model":"m","input":[` + strings.Join(items, ",") + `],"tools":[` + strings.Join(tools, ",") + `]}`)
	read := func() []byte {
		r, err := responses.Parse(body, responses.Options{})
		if err == nil {
			err = r.Translate()
		}
		if err != nil {
			b.Fatal(err)
		}
		return r.Chat()
	}
	chat := read()
	b.Run("chat", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := gateway.ParseRequest(chat); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("responses", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := gateway.ParseRequest(read()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
