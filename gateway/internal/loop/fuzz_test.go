package loop_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/gateway/internal/loop"
)

// FuzzCheck reads any text without a panic, and its report adds up.
func FuzzCheck(f *testing.F) {
	files, _ := filepath.Glob("testdata/loops/*.json")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(text, 0, 0) // no messages, but near them
		}
	}
	f.Add(messages(exchange{"get", `{"a":1}`, `"not found: 1"`}, exchange{"get", `{"a":"\ud800"}`, `[{"text":"x"},{}]`}, exchange{"get", `{"a`, `{"errors":[]}`}), 2, 1)
	f.Add(messages(exchange{"get", ` null `, `"''"`}, exchange{"", `{"":""}`, `"isERRORNo '' ’’ []"`}, exchange{"a", `[[[`, `5`}), 2, 1)
	f.Add([]byte(`[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"`), 1, 1)
	f.Fuzz(func(t *testing.T, text []byte, rounds, idle int) {
		limits := loop.Limits{Rounds: rounds, Idle: idle}
		r := loop.Check(ledger.New(conversation.Read(text), nil), nil, limits)
		if again := loop.Check(ledger.New(conversation.Read(text), nil), nil, limits); again != r {
			t.Fatalf("got %+v and then %+v", r, again)
		}
		if r.Rounds > r.Calls || r.NewResults > r.Calls || r.Efficiency < 0 || r.Efficiency > 1 || (r.Efficiency > 0) != (r.NewResults > 0 || r.Rounds == 0) {
			t.Errorf("got %+v, which does not add up", r)
		}
		if (r.Period > 0) != (r.Stop == loop.Oscillation) || r.Stop == loop.Limit && r.Tool != "" || r.Stop == "" && r.Tool != "" {
			t.Errorf("got %+v, which has what belongs to another reason", r)
		}
		if over := r.Rounds >= r.Limit; over && (r.Stop == "" || !r.Near) || !over && r.Stop == loop.Limit {
			t.Errorf("got %+v for %d rounds of %d", r, r.Rounds, r.Limit)
		}
	})
}
