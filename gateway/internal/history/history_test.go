package history_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/history"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
)

// mend is the gateway's own fix.
func mend(text []byte) ([]byte, bool) {
	fixed, _, problem := repair.JSON(text, 128)
	return fixed, problem == nil
}

// apply returns messages with the edits.
func apply(messages []byte, edits []wire.Edit) []byte {
	var out []byte
	from := 0
	for _, e := range edits {
		out = append(append(out, messages[from:e.At.Start]...), e.With...)
		from = e.At.End
	}
	return slices.Concat(out, messages[from:])
}

// repaired returns messages as an upstream sees them.
func repaired(messages []byte, needs history.Needs) []byte {
	edits, _, _ := history.Repair(conversation.Read(messages), needs, mend)
	return apply(messages, edits)
}

// TestRepairLimit: a conversation of more calls and results than are looked at is
// not repaired in part.
func TestRepairLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		entries int
		want    bool
	}{{"as many as are looked at", 1 << 18, true}, {"one more", 1<<18 + 1, false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, messages := range []string{
				"[" + repeat(tt.entries, func(int) string { return `{"role":"tool"}` }) + "]",
				"[" + assistant(repeat(tt.entries, func(int) string { return `{"id":"a"}` })) + "]",
			} {
				edits, repairs, err := history.Repair(conversation.Read([]byte(messages)), everything, nil)
				if errors.Is(err, history.ErrTooMany) == tt.want {
					t.Errorf("got the error %v, want some: %t", err, !tt.want)
				}
				if got := len(edits) > 0; got != tt.want || got != (len(repairs) > 0) {
					t.Errorf("got %d edits and %v, want some: %t", len(edits), repairs, tt.want)
				}
			}
		})
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, messages string
		want           []string
		calls          int
	}{
		{"no tools", `[{"role":"user","content":"id"}]`, nil, 0},
		{"calls and results", `[{"role":"assistant","tool_calls":[{"id":"a","function":{}},{"id":"b","custom":{}}]},
			{"role":"tool","tool_call_id":"a","content":""},{"role":"tool","tool_call_id":"orphan","content":""}]`, []string{"a", "b", "orphan"}, 2},
		{"the same twice", `[{"role":"assistant","tool_calls":[{"id":"a","function":{}}]},{"role":"assistant","tool_calls":[{"id":"\u0061","function":{}}]}]`, []string{"a"}, 2},
		{"no ids", `[{"role":"assistant","tool_calls":[{"function":{}},{"id":null,"function":{}},{"id":"","function":{}}]},{"role":"tool"}]`, nil, 3},
		{"no calls", `[{"role":"assistant","tool_calls":[{"id":7,"function":{}},{},5,null]},{"role":"user","tool_calls":[{"id":"a","function":{}}]},{"role":"tool","tool_call_id":7}]`, nil, 0},
		{"no list", `{"role":"tool","tool_call_id":"a"}`, nil, 0},
		{"null", `null`, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !json.Valid([]byte(tt.messages)) {
				t.Fatal("the messages are not valid")
			}
			inUse, calls := history.IDs(conversation.Read([]byte(tt.messages)))
			if got := slices.Sorted(maps.Keys(inUse)); !slices.Equal(got, tt.want) {
				t.Errorf("got the ids %q, want %q", got, tt.want)
			}
			if calls != tt.calls {
				t.Errorf("got %d calls, want %d", calls, tt.calls)
			}
		})
	}
}
