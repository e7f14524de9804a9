package guard_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/ledger"
)

// signalCase is a line of signals.jsonl: one answer to one message, and the signals that
// it has and has not.
type signalCase struct {
	Name, Lang, User, Text, Tool string
	Tools                        []string
	Want, Not                    []string
	Ghost                        bool
	// Turn are calls of this turn with their results, Earlier names of calls before it.
	Turn    [][2]string
	Earlier []string
}

func (c *signalCase) messages(t *testing.T) *conversation.Conversation {
	t.Helper()
	type object map[string]any
	var messages []object
	call := func(name, result string) {
		id := fmt.Sprint("call_", len(messages))
		messages = append(messages,
			object{"role": "assistant", "content": nil, "tool_calls": []object{{"id": id, "type": "function", "function": object{"name": name, "arguments": "{}"}}}},
			object{"role": "tool", "tool_call_id": id, "content": result})
	}
	for _, name := range c.Earlier {
		messages = append(messages, object{"role": "user", "content": "Do it."})
		call(name, `{"ok":true}`)
	}
	messages = append(messages, object{"role": "user", "content": c.User})
	for _, called := range c.Turn {
		call(called[0], called[1])
	}
	text, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	return conversation.Read(text)
}

func TestSignals(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/signals.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	g := guard.New(guard.Settings{Threshold: rulesThreshold})
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var c signalCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		t.Run(c.Lang+" "+c.Name, func(t *testing.T) {
			t.Parallel()
			if c.Tools == nil {
				c.Tools = []string{"create_task", "delete_task", "list_tasks", "send_email", "get_weather", "set_light"}
			}
			c.check(t, g.Begin(ledger.New(c.messages(t), nil), c.Tools, guard.Choice{}).Judge(guard.Answer{Text: c.Text, Finish: "stop", Done: true}))
		})
	}
}

func (c *signalCase) check(t *testing.T, v guard.Verdict) {
	t.Helper()
	got := map[string]bool{}
	for _, s := range v.Signals {
		got[s.Name] = true
	}
	for _, name := range c.Want {
		if !got[name] {
			t.Errorf("%q: got %v, want %s among them", c.Text, v.Signals, name)
		}
	}
	for _, name := range c.Not {
		if got[name] {
			t.Errorf("%q: got %v, want no %s", c.Text, v.Signals, name)
		}
	}
	if v.Ghost != c.Ghost {
		t.Errorf("%q: got ghost %v by %.2f for %v, want %v", c.Text, v.Ghost, v.Score, v.Signals, c.Ghost)
	}
	if c.Tool != "" && v.Tool != c.Tool {
		t.Errorf("%q: got the tool %q, want %q", c.Text, v.Tool, c.Tool)
	}
}
