package conversation_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/internal/conversation"
)

// TestExchangesModel compares with the plain reading of fuzz_test.go, for
// conversations whose ids are few and so meet.
func TestExchangesModel(t *testing.T) {
	t.Parallel()
	id := rapid.SampledFrom([]string{`"id":"a",`, `"id":"\u0061",`, `"id":"b",`, `"id":"",`, `"id":null,`, `"id":5,`, ``})
	message := rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return `{"role":"user","content":"x"}`
		case 1, 2:
			var calls []string
			for n := range rapid.IntRange(1, 4).Draw(t, "calls") {
				calls = append(calls, fmt.Sprintf(`{%s"function":{"name":"f%d"}}`, id.Draw(t, "id"), n))
			}
			return `{"role":"assistant","tool_calls":[` + strings.Join(calls, ",") + `]}`
		}
		return `{` + strings.Replace(id.Draw(t, "id"), "id", "tool_call_id", 1) + `"role":"tool","content":"y"}`
	})
	rapid.Check(t, func(t *rapid.T) {
		messages := rapid.SliceOfN(message, 0, 14).Draw(t, "messages")
		compare(t, conversation.Read([]byte("["+strings.Join(messages, ",")+"]")))
	})
}
