package guard_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/ledger"
)

// mendedCase is a line of `mended.jsonl`: an answer to a message, behind calls.
type mendedCase struct {
	Name, Lang, System, User, Text string
	Tools                          []string
	Intents                        []guard.Intent
	Ghost                          bool
	// Unsure is a ghost without an alarm, as in turns.txt.
	Unsure bool
	// Turn are calls of this turn: name, result, arguments. Before are turns that are over:
	// what the user said, the call's name and result, and the answer.
	Turn   [][3]string
	Before [][4]string
}

func (c *mendedCase) messages(t *testing.T) *conversation.Conversation {
	t.Helper()
	type object map[string]any
	var messages []object
	say := func(role, text string) { messages = append(messages, object{"role": role, "content": text}) }
	call := func(name, result, args string) {
		id := fmt.Sprint("call_", len(messages))
		messages = append(messages,
			object{"role": "assistant", "content": nil, "tool_calls": []object{{"id": id, "type": "function", "function": object{"name": name, "arguments": args}}}},
			object{"role": "tool", "tool_call_id": id, "content": result})
	}
	if c.System != "" {
		say("system", c.System)
	}
	for _, turn := range c.Before {
		say("user", turn[0])
		call(turn[1], turn[2], "{}")
		say("assistant", turn[3])
	}
	say("user", c.User)
	for _, called := range c.Turn {
		call(called[0], called[1], called[2])
	}
	text, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	return conversation.Read(text)
}

// TestMended judges ghosts of the kinds that were missed once, and honest answers that
// look like them. Those of the first file were written before the rules that tell them
// apart, those of the second along with them.
func TestMended(t *testing.T) {
	t.Parallel()
	var lines []string
	for _, file := range []string{"testdata/mended.jsonl", "testdata/mended2.jsonl"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines = slices.AppendSeq(lines, strings.Lines(string(text)))
	}
	for _, line := range lines {
		var c mendedCase
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		t.Run(c.Lang+" "+c.Name, func(t *testing.T) {
			t.Parallel()
			g := guard.New(guard.Settings{Threshold: rulesThreshold, Intents: c.Intents})
			v := g.Begin(ledger.New(c.messages(t), nil), c.Tools, guard.Choice{}).Judge(guard.Answer{Text: c.Text, Finish: "stop", Done: true})
			if v.Ghost != (c.Ghost && !c.Unsure) || v.Contradiction {
				t.Errorf("%q: got ghost %v by %.2f for %v (contradiction %v), want %v", c.Text, v.Ghost, v.Score, v.Signals, v.Contradiction, c.Ghost)
			}
		})
	}
}
