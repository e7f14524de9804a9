package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/history"
)

// everything is what Anthropic's API demands.
var everything = history.Needs{Arguments: true, Pairs: true, IDs: history.AnthropicID}

// longChat is a conversation of about 200 KB, as a program that edits code has it.
func longChat(id string) []byte {
	var b strings.Builder
	b.WriteString(`[{"role":"system","content":"You are a careful engineer."},{"role":"user","content":"Fix the build."}`)
	output := strings.Repeat(`main.go:12:3: cannot use \"x\" (untyped string constant) as int value in argument to f\n`, 43)
	for n := range 46 {
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"`+id+`","type":"function","function":{"name":"edit","arguments":"{`, n)
		for line := range 16 {
			fmt.Fprintf(&b, `\"line %d\": \"if err != nil {\", `, line)
		}
		fmt.Fprintf(&b, `\"file\": \"main.go\"}"}}]},{"role":"tool","tool_call_id":"`+id+`","content":"%s"}`, n, output)
	}
	b.WriteString("]")
	return []byte(b.String())
}

func BenchmarkRepair(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog.\\n", 200*1024/46)
	for _, bb := range []struct {
		name     string
		messages []byte
		needs    history.Needs
	}{
		{"no tools", []byte(`[{"role":"user","content":"` + text + `"}]`), everything},
		{"no needs", longChat("call_%d"), history.Needs{}},
		{"nothing wrong", longChat("call_%d"), everything},
		{"all ids wrong", longChat("functions.edit:%d"), everything},
		{"Kimi", longChat("functions.edit:%d"), history.Needs{IDs: history.KimiID}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.messages)))
			b.ReportAllocs()
			for b.Loop() {
				history.Repair(conversation.Read(bb.messages), bb.needs, mend)
			}
		})
	}
}
