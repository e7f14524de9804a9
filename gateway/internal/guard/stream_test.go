package guard_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/ledger"
)

// TestUndecided streams answers in small pieces and looks when they are let go.
func TestUndecided(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("The sea is blue and the hills are green. ", 50)
	intents := []guard.Intent{{Match: []string{"delete"}, Expect: "delete_task"}}
	for _, c := range []struct {
		name    string
		user    string
		intents []guard.Intent
		choice  guard.Choice
		text    string
		call    string // made at the end
		// letGo is the number of bytes at which the text is let go, at most; 0 is never.
		letGo int
	}{
		{"nothing to it", "What is the sea like?", nil, guard.Choice{}, long, "", 420},
		{"a claim", "Delete the task.", nil, guard.Choice{}, "I've deleted the task. " + long, "", 0},
		{"a claim late", "Delete the task.", nil, guard.Choice{}, long + "I've deleted the task.", "", 420},
		{"an intent", "delete the task", intents, guard.Choice{}, long, "", 0},
		{"required", "What is the sea like?", nil, guard.Choice{Required: true}, long, "", 0},
		{"required, and called", "What is the sea like?", nil, guard.Choice{Required: true}, long, "list_tasks", len(long)},
		{"another than required", "What is the sea like?", nil, guard.Choice{Tool: "delete_task"}, long, "list_tasks", 0},
		{"a call", "Delete the task.", nil, guard.Choice{}, "I'll look.", "list_tasks", 10},
		{"an intent and a call", "delete the task", intents, guard.Choice{}, "I'll look.", "list_tasks", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := guard.New(guard.Settings{Intents: c.intents}).Begin(ledger.New(userSays(t, c.user), nil), []string{"delete_task", "list_tasks"}, c.choice)
			letGo := 0
			for i := 0; i <= len(c.text); i += 5 {
				if held := k.Undecided(guard.Answer{Text: c.text[:i]}); !held && letGo == 0 {
					letGo = i
				} else if held && letGo > 0 {
					t.Fatalf("got %d bytes held after %d were let go", i, letGo)
				}
			}
			if c.call != "" && letGo == 0 && !k.Undecided(guard.Answer{Text: c.text, Calls: []string{c.call}}) {
				letGo = len(c.text)
			}
			if letGo > c.letGo || letGo == 0 != (c.letGo == 0) {
				t.Errorf("got the text let go at %d bytes, want %d", letGo, c.letGo)
			}
			if k.Undecided(guard.Answer{Text: c.text, Done: true}) {
				t.Error("got an answer held that is over, want it judged")
			}
		})
	}
}
