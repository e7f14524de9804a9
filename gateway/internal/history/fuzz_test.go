package history_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/history"
	"github.com/callgate/callgate/gateway/wire"
)

// FuzzRepair repairs any text without a panic, and valid messages so that an
// upstream with these needs has nothing to complain about.
func FuzzRepair(f *testing.F) {
	for _, s := range []string{
		`[]`, `null`, `[{"role":"tool"}]`, `[{"role":"tool","tool_call_id":"a","content":[{}]},5]`,
		`[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}},{"function":{}},{"custom":{}}]},{"role":"tool","tool_call_id":"a"},{"role":"tool"}]`,
		`[ {"tool_calls" : [ { "id" : null , "function" : { } } ] , "role" : "assistant" } , { "role" : "user" } , {"tool_call_id":"", "role":"tool" , "content" : 5 } ] `,
		`[{"role":"assistant","tool_calls":[{"id":"a"},{"id":"a"}]},{"role":"tool","tool_call_id":"b"},{"role":"tool","tool_call_id":"a"}]`,
		`[{"role":"assistant","tool_calls":[{"id":"a"`, `[{"role":"tool","content":[`, `[{"role":"tool","content":"\`,
	} {
		for needs := range uint8(20) {
			f.Add([]byte(s), needs)
		}
	}
	f.Fuzz(func(t *testing.T, messages []byte, needs uint8) {
		n := history.Needs{Arguments: needs&1 != 0, Pairs: needs&2 != 0, IDs: history.IDForm(needs / 4 % 5)}
		history.IDs(conversation.Read(messages))
		if _, deep := wire.Depth(messages, 128); deep >= 0 || !jsontext.Value(messages).IsValid() {
			history.Repair(conversation.Read(messages), n, mend)
			return
		}
		if err := checkRepair(messages, n); err != nil {
			t.Fatalf("%+v: %v", n, err)
		}
	})
}
