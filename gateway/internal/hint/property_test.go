package hint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/hint"
)

// chat is a conversation in the making.
type chat struct {
	tools    string
	messages []string
	calls    int
}

func (c *chat) talk() *conversation.Conversation {
	return conversation.Read([]byte("[" + strings.Join(c.messages, ",") + "]"))
}

func (c *chat) see(h *hint.Histories) *hint.Change {
	return h.See([]string{"tenant"}, []byte(c.tools), c.talk())
}

var (
	words = rapid.SampledFrom([]string{"", "hello", "What is the weather in Oslo today?", "Yes.", "cache_control", strings.Repeat("lorem ipsum ", 90)})
	space = rapid.SampledFrom([]string{"", " ", "\n  "})
)

// drawContent is a text as a string or as parts.
func drawContent(t *rapid.T) string {
	text := words.Draw(t, "text")
	return rapid.SampledFrom([]string{
		fmt.Sprintf(`%q`, text), fmt.Sprintf(`[{"type":"text",%s"text":%q}]`, space.Draw(t, "space"), text),
		fmt.Sprintf(`[{"type":"text","text":%q},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]`, text),
	}).Draw(t, "content")
}

// grow adds what the model answers, and what the client sends behind that.
func (c *chat) grow(t *rapid.T) {
	if len(c.messages) > 0 {
		if n := rapid.IntRange(0, 3).Draw(t, "calls"); n > 0 {
			var calls, results []string
			for range n {
				c.calls++
				calls = append(calls, fmt.Sprintf(`{"id":"call_%d","type":"function","function":{"name":"f","arguments":"{}"}}`, c.calls))
				results = append(results, fmt.Sprintf(`{"role":"tool","tool_call_id":"call_%d","content":%s}`, c.calls, drawContent(t)))
			}
			c.messages = append(c.messages, fmt.Sprintf(`{"role":"assistant","content":null,%s"tool_calls":[%s]}`, space.Draw(t, "space"), strings.Join(calls, ",")))
			c.messages = append(c.messages, results...)
			return
		}
		c.messages = append(c.messages, fmt.Sprintf(`{"role":"assistant","content":%s}`, drawContent(t)))
	} else if rapid.Bool().Draw(t, "system") {
		c.messages = append(c.messages, fmt.Sprintf(`{"role":"system","content":%s}`, drawContent(t)))
	}
	c.messages = append(c.messages, fmt.Sprintf(`{"role":"user",%s"content":%s}`, space.Draw(t, "space"), drawContent(t)))
}

// drawChats begins several conversations, some of which begin alike.
func drawChats(t *rapid.T) []*chat {
	chats := make([]*chat, rapid.IntRange(1, 5).Draw(t, "chats"))
	for i := range chats {
		chats[i] = &chat{tools: rapid.SampledFrom([]string{"", `[{"name":"f"}]`, `[{"name":"g"}]`}).Draw(t, "tools")}
		if i > 0 && rapid.Bool().Draw(t, "alike") {
			chats[i] = &chat{chats[0].tools, slices.Clone(chats[0].messages), chats[0].calls}
		}
	}
	return chats
}

// TestHistoriesGrow: conversations that only grow change nothing, in whatever order their
// requests come, and however often, and also where their client moves marks of its own.
func TestHistoriesGrow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := hint.NewHistories()
		chats := drawChats(t)
		for range rapid.IntRange(1, 25).Draw(t, "turns") {
			c := rapid.SampledFrom(chats).Draw(t, "chat")
			c.grow(t)
			for range rapid.IntRange(1, 2).Draw(t, "times") {
				sent := &chat{tools: c.tools, messages: slices.Clone(c.messages)}
				if rapid.Bool().Draw(t, "marked") {
					last := &sent.messages[len(sent.messages)-1]
					*last = strings.TrimSuffix(*last, "}") + `,"cache_control":{"type":"ephemeral"}}`
				}
				if change := sent.see(h); change != nil {
					t.Fatalf("got the change %s of a conversation that only grew: %s", change, sent.messages)
				}
			}
		}
	})
}

// TestHistoriesChange: what changes in front of the last user message that was sent is
// found, in its place.
func TestHistoriesChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := hint.NewHistories()
		c := &chat{tools: `[{"name":"f"}]`}
		c.messages = []string{message("system", "Be kind."), message("user", "What is the weather in Oslo?")}
		for range rapid.IntRange(0, 8).Draw(t, "turns") {
			if change := c.see(h); change != nil {
				t.Fatalf("got the change %s, want none yet", change)
			}
			c.grow(t)
		}
		c.see(h)
		sent := c.talk()
		c.grow(t)
		at := rapid.IntRange(-1, len(sent.Messages)-1).Draw(t, "at")
		want := hint.Change{Part: hint.Tools, Message: -1}
		offset := len(c.tools)
		if at < 0 {
			c.tools += " "
			offset = 0
		} else {
			m := sent.Messages[at]
			if m.Role == conversation.User {
				return // it is another conversation
			}
			if want = (hint.Change{Part: hint.Messages, Message: at}); at == 0 {
				want.Part = hint.System
			}
			c.messages[at] = strings.TrimSuffix(c.messages[at], "}") + `,"new":1}`
		}
		got := c.see(h)
		if got == nil {
			t.Fatalf("got no change, want one of message %d of %s", at, c.messages)
		}
		if got.Part != want.Part || got.Message != want.Message || got.Offset%512 != 0 || got.Offset < offset/512*512-512 && at < 0 {
			t.Fatalf("got the change %s, want one of %s[%d]", got, want.Part, at)
		}
		if again := c.see(h); again == nil || *again != *got {
			t.Fatalf("got %v for the same request again, want %s", again, got)
		}
	})
}

// TestMarksProperty: marks leave JSON, are four at most, none is on an answer or on what
// is the gateway's own, and the next turn marks what this one ended with.
func TestMarksProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := &chat{tools: `[{"name":"f"}]`}
		form := rapid.SampledFrom([]hint.Form{hint.Members, hint.Parts}).Draw(t, "form")
		last := -1
		for range rapid.IntRange(1, 8).Draw(t, "turns") {
			c.grow(t)
			own := rapid.IntRange(0, 1).Draw(t, "own")
			sent := &chat{tools: c.tools, messages: slices.Clone(c.messages)}
			if own > 0 {
				sent.messages = append(sent.messages, message("user", "You MUST call a tool."))
			}
			talk := sent.talk()
			tools, messages := hint.Marks(hint.Request{Tools: []byte(c.tools), Talk: talk, Own: own}, form, 0)
			if n := len(tools) + len(messages); n > 4 {
				t.Fatalf("got %d marks, want 4 at most", n)
			}
			marked := map[int]bool{}
			after := conversation.Read(apply(talk.Text, messages))
			for i, m := range after.Messages {
				if marked[i] = hint.HasKey(m.At.Of(after.Text), "cache_control"); !marked[i] {
					continue
				}
				if m.Role == conversation.Assistant || i >= len(c.messages) {
					t.Fatalf("got a mark on message %d: %s", i, m.At.Of(after.Text))
				}
			}
			if last >= 0 && !marked[last] {
				t.Fatalf("got marks on %v, want one on %d, which the request before has ended with", marked, last)
			}
			if last = -1; len(messages) > 0 {
				for i := range after.Messages {
					if marked[i] && after.Messages[i].Role != conversation.System {
						last = i
					}
				}
			}
		}
	})
}
