package conversation_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway/internal/conversation"
)

var roles = map[conversation.Role]string{
	conversation.Other: "other", conversation.System: "system", conversation.User: "user",
	conversation.Assistant: "assistant", conversation.Tool: "tool",
}

// describe writes down all that is read of a conversation.
func describe(c *conversation.Conversation) string {
	var b strings.Builder
	for i, m := range c.Messages {
		fmt.Fprintf(&b, "%d %s %q\n", i, roles[m.Role], c.Said(m))
		for _, call := range c.Calls(m) {
			fmt.Fprintf(&b, "  call %q %q %q\n", call.ID, call.Name, call.Args())
		}
	}
	for _, e := range c.Exchanges(0) {
		result := "none"
		if e.Result >= 0 {
			result = fmt.Sprint(e.Result)
		}
		fmt.Fprintf(&b, "exchange %d %q -> %s\n", e.Message, e.ID, result)
	}
	return b.String()
}

// TestRead reads the conversations of testdata.
func TestRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d cases and the error %v, want some", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil || len(archive.Files) != 2 {
				t.Fatalf("got the error %v, want messages.json and want", err)
			}
			messages, want := archive.Files[0].Data, string(archive.Files[1].Data)
			before := string(messages)
			if got := describe(conversation.Read(messages)); got != want {
				t.Errorf("%sgot\n%swant\n%s", archive.Comment, got, want)
			}
			if string(messages) != before {
				t.Error("the client's bytes were written to")
			}
		})
	}
}

func TestLastUser(t *testing.T) {
	t.Parallel()
	c := conversation.Read([]byte(`[{"role":"system"},{"role":"user"},{"role":"assistant"},{"role":"user"},{"role":"tool"}]`))
	for before, want := range map[int]int{-1: -1, 0: -1, 1: -1, 2: 1, 3: 1, 4: 3, 5: 3} {
		if got := c.LastUser(before); got != want {
			t.Errorf("before %d: got %d, want %d", before, got, want)
		}
	}
	if got := conversation.Read(nil).LastUser(0); got != -1 {
		t.Errorf("no messages: got %d, want -1", got)
	}
}

// TestExchangesFrom: calls before the place do not count, nor do their results.
func TestExchangesFrom(t *testing.T) {
	t.Parallel()
	c := conversation.Read([]byte(`[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f"}}]},{"role":"user"},{"role":"tool","tool_call_id":"a"},
		{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"g"}}]},{"role":"tool","tool_call_id":"a"}]`))
	for _, tt := range []struct {
		from int
		want string
	}{
		{-5, "f:0>2 g:3>4 "}, {0, "f:0>2 g:3>4 "}, {1, "g:3>4 "}, {3, "g:3>4 "}, {4, ""}, {5, ""}, {99, ""},
	} {
		got := ""
		for _, e := range c.Exchanges(tt.from) {
			got += fmt.Sprintf("%s:%d>%d ", e.Name, e.Message, e.Result)
		}
		if got != tt.want {
			t.Errorf("from %d: got %q, want %q", tt.from, got, tt.want)
		}
	}
}

// TestCallPlace: arguments can be replaced at their place.
func TestCallPlace(t *testing.T) {
	t.Parallel()
	text := []byte(`[{"role":"assistant","tool_calls":[{"function":{"arguments":"{\"a\":1}","name":"f"}},{"function":{"name":"g","arguments":{"a":1}}},{"function":{"name":"h"}}]}]`)
	c := conversation.Read(text)
	for i, want := range []string{`"{\"a\":1}"`, "", ""} {
		if got := string(c.Calls(c.Messages[0])[i].At.Of(text)); got != want {
			t.Errorf("call %d: got the place of %s, want that of %s", i, got, want)
		}
	}
}

// TestSpans: members of a message are where they say.
func TestSpans(t *testing.T) {
	t.Parallel()
	text := []byte(` [ {"role":"tool", "content" : "x" , "tool_call_id":"a","tool_calls":[ ]}, {"role":"user"} ]`)
	c := conversation.Read(text)
	m := c.Messages[0]
	for _, tt := range []struct{ name, got, want string }{
		{"message", string(m.At.Of(text)), `{"role":"tool", "content" : "x" , "tool_call_id":"a","tool_calls":[ ]}`},
		{"content", string(m.Content.Of(text)), `"x"`}, {"id", string(m.CallID.Of(text)), `"a"`}, {"calls", string(m.Calls.Of(text)), `[ ]`},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, tt.got, tt.want)
		}
	}
	if m := c.Messages[1]; !m.Content.Empty() || !m.Calls.Empty() || !m.CallID.Empty() {
		t.Errorf("members that are missing: got %+v, want them empty", m)
	}
}
