package history

import (
	"bytes"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// mentionsTools says whether there can be a call or a result in messages. It is a
// search in place of a reading: most conversations have neither. It misses one that
// spells all words of tools with escapes, which nobody does: that is left as it is.
func mentionsTools(messages []byte) bool { return bytes.Contains(messages, []byte(`"tool`)) }

// role is the part of a message's role that matters here.
type role uint8

const (
	roleUnread role = iota
	roleOther
	roleAssistant
	roleTool
)

// message is what is read of a message. Spans of missing members are empty.
type message struct {
	at        wire.Span
	role      role
	calls, id wire.Span
}

// readMessage reads a message. A result whose id is neither a string nor missing is
// no result, but something of the client's own.
func readMessage(text []byte, at wire.Span) message {
	m := message{at: at}
	conversation.Members(text, at, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "role":
			m.role = readRole(text, v)
		case "tool_calls":
			m.calls = v
		case "tool_call_id":
			m.id = v
		}
		return !m.complete()
	})
	if m.role == roleTool {
		if _, ok := conversation.Decode(text, m.id); !ok {
			m.role = roleOther
		}
	}
	return m
}

// complete says whether nothing more has to be read of a message. Its content, which
// is most of it, often comes last.
func (m message) complete() bool {
	return m.role == roleOther || m.role == roleTool && !m.id.Empty() || m.role == roleAssistant && !m.calls.Empty()
}

func readRole(text []byte, at wire.Span) role {
	name, _ := conversation.Decode(text, at)
	switch string(name) {
	case "assistant":
		return roleAssistant
	case "tool":
		return roleTool
	}
	return roleOther
}

// entry is one of a message's calls.
type entry struct {
	at, id, function, custom wire.Span
}

// eachCall calls f for the calls in a message's list of them until it returns false. What has neither an id
// nor a function to call is none, and neither is what has an id that is no string.
func eachCall(text []byte, list wire.Span, f func(entry) bool) {
	if list.Empty() {
		return
	}
	wire.Elements(text[:list.End], list.Start, func(_ int, at wire.Span) bool {
		e := entry{at: at}
		conversation.Members(text, at, func(key []byte, v wire.Span) bool {
			switch string(key) {
			case "id":
				e.id = v
			case "function":
				e.function = v
			case "custom":
				e.custom = v
			}
			return true
		})
		id, ok := conversation.Decode(text, e.id)
		if ok && (len(id) > 0 || conversation.IsObject(text, e.function) || conversation.IsObject(text, e.custom)) {
			return f(e)
		}
		return true
	})
}

// name is the name of what is called, or nil.
func (e entry) name(text []byte) []byte {
	called := e.function
	if called.Empty() {
		called = e.custom
	}
	name, _ := conversation.Decode(text, conversation.Member(text, called, "name"))
	return name
}
