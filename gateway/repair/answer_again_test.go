package repair_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/repair"
)

// TestAnswerAgain reads an answer with the memory of another one, whose repairs are not its own.
func TestAnswerAgain(t *testing.T) {
	var a repair.Answer
	for _, tt := range []struct {
		text, want string
		repairs    int
	}{{`{a:1}`, `{"a":1}`, 1}, {`5`, `5`, 0}} {
		a.Begin(&repair.Form{}, 0)
		a.Feed([]byte(tt.text))
		if _, problem := a.End(); problem != nil || string(a.Text()) != tt.want || len(a.Repairs()) != tt.repairs {
			t.Errorf("%s: got %s, the repairs %q and %v", tt.text, a.Text(), a.Repairs(), problem)
		}
	}
}
