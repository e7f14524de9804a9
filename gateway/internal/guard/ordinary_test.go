package guard_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/ledger"
)

// TestOrdinary judges answers of everyday chats with tools on offer, which need none.
func TestOrdinary(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/ordinary.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	g := guard.New(guard.Settings{Threshold: rulesThreshold})
	n := 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); n++ {
		var c struct {
			Lang, User, Answer string
			Tools              []string
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		v := g.Begin(ledger.New(userSays(t, c.User), nil), c.Tools, guard.Choice{}).Judge(guard.Answer{Text: c.Answer, Finish: "stop", Done: true})
		if v.Ghost || v.Contradiction {
			t.Errorf("%s %q: %q is a ghost by %.2f for %v, want fine", c.Lang, c.User, c.Answer, v.Score, v.Signals)
		}
	}
	if n < 60 {
		t.Errorf("got %d answers, want at least 60", n)
	}
}

// userSays is a conversation of one message.
func userSays(t testing.TB, text string) *conversation.Conversation {
	t.Helper()
	messages, err := json.Marshal([]map[string]string{{"role": "user", "content": text}})
	if err != nil {
		t.Fatal(err)
	}
	return conversation.Read(messages)
}
