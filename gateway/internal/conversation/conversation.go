// Package conversation reads the messages of a chat request: who says what, which
// tools were called and what they answered. It works on the client's bytes, which are
// valid JSON already, and changes nothing. Whatever is not made as OpenAI's messages
// are is passed over. Time is linear in the bytes that are read.
package conversation

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/wire"
)

// Role is who says a message.
type Role uint8

// The roles.
const (
	Other     Role = iota
	System         // "system" or "developer"
	User           // "user"
	Assistant      // "assistant"
	Tool           // "tool": the result of a call
)

// Message is the place of a message and of its parts. Spans of missing members are
// empty.
type Message struct {
	Role Role
	// At is the whole message; Content, Calls (tool_calls) and CallID (tool_call_id) are
	// members of it.
	At, Content, Calls, CallID wire.Span
}

// Conversation is what was read of a request's messages. It is used by one goroutine.
type Conversation struct {
	// Text is the JSON that was read, and all spans are places in it.
	Text     []byte
	Messages []Message

	exchanges []Exchange // from a message on, of which there is one in use
	from      int
}

// Read reads messages, the JSON array of a request.
func Read(messages []byte) *Conversation {
	c := &Conversation{Text: messages}
	wire.Elements(messages, 0, func(_ int, at wire.Span) bool {
		c.Messages = append(c.Messages, readMessage(messages, at))
		return true
	})
	return c
}

func readMessage(text []byte, at wire.Span) Message {
	m := Message{At: at}
	Members(text, at, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "role":
			m.Role = readRole(text, v)
		case "content":
			m.Content = v
		case "tool_calls":
			m.Calls = v
		case "tool_call_id":
			m.CallID = v
		}
		return true
	})
	return m
}

func readRole(text []byte, at wire.Span) Role {
	name, _ := Decode(text, at)
	switch string(name) {
	case "system", "developer":
		return System
	case "user":
		return User
	case "assistant":
		return Assistant
	case "tool":
		return Tool
	}
	return Other
}

// LastUser returns the place of the last message of the user before a place, or -1.
func (c *Conversation) LastUser(before int) int {
	for i, m := range slices.Backward(c.Messages[:max(before, 0)]) {
		if m.Role == User {
			return i
		}
	}
	return -1
}

// Said is the text of a message: its content, or the text parts of it, one a line.
func (c *Conversation) Said(m Message) string { return string(c.Saying(m)) }

// Saying is what Said is, which may be a part of the text and must not be changed: it copies
// nothing where a message has no escapes.
func (c *Conversation) Saying(m Message) []byte {
	if m.Content.IsNull(c.Text) {
		return nil
	}
	if s, ok := Decode(c.Text, m.Content); ok {
		return s
	}
	var parts []string
	c.Parts(m.Content, func(_ wire.Span, _ []byte, text wire.Span) bool {
		if s, _ := Decode(c.Text, text); len(s) > 0 {
			parts = append(parts, string(s))
		}
		return true
	})
	return []byte(strings.Join(parts, "\n"))
}

// Parts calls f for the parts of a content that is a list, until f returns false: with the
// place of each, its type, and the place of its text, which is empty if that is no string.
func (c *Conversation) Parts(content wire.Span, f func(part wire.Span, kind []byte, text wire.Span) bool) {
	if content.Empty() || c.Text[content.Start] != '[' {
		return
	}
	wire.Elements(c.Text[:content.End], content.Start, func(_ int, part wire.Span) bool {
		var kind []byte
		var text wire.Span
		Members(c.Text, part, func(key []byte, v wire.Span) bool {
			switch string(key) {
			case "type":
				kind, _ = Decode(c.Text, v)
			case "text":
				if text = v; c.Text[v.Start] != '"' {
					text = wire.Span{}
				}
			}
			return true
		})
		return f(part, kind, text)
	})
}

// Call is a call of an assistant's message.
type Call struct {
	ID, Name string
	// JSON are the arguments as they stand in the text: a string in most cases, an object as some
	// clients send it, nil for none.
	JSON []byte
	// At is the place of the arguments where they are a string, and empty otherwise.
	At wire.Span
}

// Args are the arguments as the model wrote them, JSON in most cases. They may be a part of the text,
// and must not be changed. Nobody keeps them: they may be megabytes, which the text has already. It is
// at most as long as JSON.
func (c *Call) Args() []byte {
	if args, ok := Decode(c.JSON, wire.Span{End: len(c.JSON)}); ok {
		return args
	}
	return c.JSON
}

// Calls are the calls of functions in a message, in their order.
func (c *Conversation) Calls(m Message) []Call {
	if m.Calls.IsNull(c.Text) || c.Text[m.Calls.Start] != '[' {
		return nil
	}
	var calls []Call
	wire.Elements(c.Text[:m.Calls.End], m.Calls.Start, func(_ int, at wire.Span) bool {
		var id, function wire.Span
		Members(c.Text, at, func(key []byte, v wire.Span) bool {
			switch string(key) {
			case "id":
				id = v
			case "function":
				function = v
			}
			return true
		})
		if IsObject(c.Text, function) {
			calls = append(calls, c.call(id, function))
		}
		return true
	})
	return calls
}

func (c *Conversation) call(id, function wire.Span) Call {
	text, _ := Decode(c.Text, id)
	call := Call{ID: string(text)}
	Members(c.Text, function, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "name":
			name, _ := Decode(c.Text, v)
			call.Name = string(name)
		case "arguments":
			if v.IsNull(c.Text) {
				break
			}
			if call.JSON = v.Of(c.Text); call.JSON[0] == '"' {
				call.At = v
			}
		}
		return true
	})
	return call
}

// Exchange is a call and what came of it.
type Exchange struct {
	Call
	// Message is the place of the assistant's message, and Result that of the tool's, or
	// -1 if there is none.
	Message, Result int
}

// Exchanges are the calls of the messages from one on, in their order, each with its
// result. A result belongs to the last message before it with a call that has its id and
// no result yet, and to the first of several there; ids need not be unique in a conversation. One without an id belongs to the first
// call of the message before that has none. The list is kept for the next who asks, and
// must not be changed.
func (c *Conversation) Exchanges(from int) []Exchange {
	if c.exchanges == nil || c.from != from {
		c.exchanges, c.from = c.exchange(from), from
	}
	return c.exchanges
}

func (c *Conversation) exchange(from int) []Exchange {
	list := []Exchange{}
	open := map[string][]waiting{} // by id
	for i := max(from, 0); i < len(c.Messages); i++ {
		m := c.Messages[i]
		switch m.Role {
		case Assistant:
			for _, call := range c.Calls(m) {
				open[call.ID] = wait(open[call.ID], i, len(list))
				list = append(list, Exchange{Call: call, Message: i, Result: -1})
			}
		case Tool:
			id, _ := Decode(c.Text, m.CallID)
			if groups := open[string(id)]; len(groups) > 0 {
				last := &groups[len(groups)-1]
				list[last.calls[0]].Result = i
				if last.calls = last.calls[1:]; len(last.calls) == 0 {
					open[string(id)] = groups[:len(groups)-1]
				}
			}
		}
	}
	return list
}

// waiting are the calls of a message with one id that have no result yet, by their
// places in the list.
type waiting struct {
	message int
	calls   []int
}

func wait(groups []waiting, message, call int) []waiting {
	if n := len(groups); n > 0 && groups[n-1].message == message {
		groups[n-1].calls = append(groups[n-1].calls, call)
		return groups
	}
	return append(groups, waiting{message, []int{call}})
}

// First reads the first of messages alone. A text without one gives an empty Message.
func First(messages []byte) (m Message) {
	wire.Elements(messages, 0, func(_ int, at wire.Span) bool {
		m = readMessage(messages, at)
		return false
	})
	return m
}
