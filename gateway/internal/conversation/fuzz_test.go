package conversation_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// A second reading, by encoding/json, which knows nothing of spans.

type object map[string]json.RawMessage

func asObject(raw json.RawMessage) object {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

func asList(raw json.RawMessage) (list []json.RawMessage) {
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

func asText(raw json.RawMessage) (s string, ok bool) {
	return s, raw != nil && string(raw) != "null" && json.Unmarshal(raw, &s) == nil
}

func text(raw json.RawMessage) string {
	s, _ := asText(raw)
	return s
}

func said(content json.RawMessage) string {
	if s, ok := asText(content); ok {
		return s
	}
	var parts []string
	for _, part := range asList(content) {
		if s := text(asObject(part)["text"]); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

// call and exchange are what is to be read of a call.
type call struct{ id, name, args string }

type exchange struct {
	call
	message, result int
}

func calls(m object) (calls []call) {
	for _, raw := range asList(m["tool_calls"]) {
		made := asObject(raw)
		function := asObject(made["function"])
		if function == nil {
			continue
		}
		args, ok := asText(function["arguments"])
		if raw := function["arguments"]; !ok && raw != nil && string(raw) != "null" {
			args = string(raw)
		}
		calls = append(calls, call{text(made["id"]), text(function["name"]), args})
	}
	return calls
}

// exchanges looks for the call of each result among all before: one that waits, of the
// last message that has any, and there the first.
func exchanges(messages []object) (list []exchange) {
	for i, m := range messages {
		switch text(m["role"]) {
		case "assistant":
			for _, c := range calls(m) {
				list = append(list, exchange{c, i, -1})
			}
		case "tool":
			found := -1
			for n, e := range list {
				if e.id == text(m["tool_call_id"]) && e.result < 0 && (found < 0 || e.message > list[found].message) {
					found = n
				}
			}
			if found >= 0 {
				list[found].result = i
			}
		}
	}
	return list
}

func within(t *testing.T, outer, inner wire.Span, what string) {
	t.Helper()
	if inner != (wire.Span{}) && (inner.Start < outer.Start || inner.End > outer.End || inner.Start > inner.End) {
		t.Fatalf("%s is at %v, want it within %v", what, inner, outer)
	}
}

// FuzzRead reads any text without a panic, and valid messages as encoding/json does.
func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		if archive, err := txtar.ParseFile(file); err == nil {
			f.Add(archive.Files[0].Data)
		}
	}
	for _, s := range []string{
		``, `[`, `[{`, `[{"`, `[{"role`, `[{"role":`, `[{"role":"assistant","tool_calls":[{"function":{"arguments":"\`, `[{"role":"user","content":[`,
		`[{"role":"user","content":"\ud800"}]`, `[{"role":"user","content":n}]`, `[{"\ud800":1,"\x":2}]`, "[{\"role\":\"user\",\"content\":\"\xff\"}]", `[{"role":"user","role":"tool"}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := conversation.Read(b)
		for i, m := range c.Messages {
			within(t, wire.Span{End: len(b)}, m.At, "a message")
			within(t, m.At, m.Content, "a content")
			within(t, m.At, m.Calls, "the calls")
			within(t, m.At, m.CallID, "an id")
			for _, call := range c.Calls(m) {
				within(t, m.Calls, call.At, "the arguments")
			}
			if i > 0 && m.At.Start < c.Messages[i-1].At.End {
				t.Fatalf("message %d begins in the one before", i)
			}
			c.Said(m)
		}
		c.Exchanges(0)
		c.Exchanges(len(c.Messages) / 2)
		if _, deep := wire.Depth(b, 128); deep < 0 && jsontext.Value(b).IsValid() {
			compare(t, c)
		}
	})
}

// compare reads valid messages both ways.
func compare(t rapid.TB, c *conversation.Conversation) {
	t.Helper()
	var messages []object
	for _, raw := range asList(c.Text) {
		messages = append(messages, asObject(raw))
	}
	if len(c.Messages) != len(messages) {
		t.Fatalf("got %d messages, want %d", len(c.Messages), len(messages))
	}
	read := func(c *conversation.Call) call { return call{c.ID, c.Name, string(c.Args())} }
	for i, m := range c.Messages {
		role := text(messages[i]["role"])
		if want := map[string]conversation.Role{"system": conversation.System, "developer": conversation.System, "user": conversation.User,
			"assistant": conversation.Assistant, "tool": conversation.Tool}[role]; m.Role != want {
			t.Fatalf("message %d: got the role %s, want %s", i, roles[m.Role], role)
		}
		if got, want := c.Said(m), said(messages[i]["content"]); got != want {
			t.Fatalf("message %d: got %q, want %q", i, got, want)
		}
		var got []call
		for _, made := range c.Calls(m) {
			got = append(got, read(&made))
		}
		if want := calls(messages[i]); !slices.Equal(got, want) {
			t.Fatalf("message %d: got the calls %v, want %v", i, got, want)
		}
	}
	var got []exchange
	for _, e := range c.Exchanges(0) {
		got = append(got, exchange{read(&e.Call), e.Message, e.Result})
	}
	if want := exchanges(messages); !slices.Equal(got, want) {
		t.Fatalf("got the exchanges %+v, want %+v", got, want)
	}
}
