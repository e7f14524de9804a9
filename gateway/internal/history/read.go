package history

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/internal/span"
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
	at        span.Span
	role      role
	calls, id span.Span
}

// readMessage reads a message. A result whose id is neither a string nor missing is
// no result, but something of the client's own.
func readMessage(text []byte, at span.Span) message {
	m := message{at: at}
	members(text, at, func(key []byte, v span.Span) bool {
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
		if _, ok := decode(text, m.id); !ok {
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

func readRole(text []byte, at span.Span) role {
	name, _ := decode(text, at)
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
	at, id, function, custom span.Span
}

// eachCall calls f for the calls in a message's list of them until it returns false. What has neither an id
// nor a function to call is none, and neither is what has an id that is no string.
func eachCall(text []byte, list span.Span, f func(entry) bool) {
	if list.Empty() {
		return
	}
	span.Elements(text[:list.End], list.Start, func(_ int, at span.Span) bool {
		e := entry{at: at}
		members(text, at, func(key []byte, v span.Span) bool {
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
		id, ok := decode(text, e.id)
		if ok && (len(id) > 0 || isObject(text, e.function) || isObject(text, e.custom)) {
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
	name, _ := decode(text, member(text, called, "name"))
	return name
}

// members calls f for the members of the object at a span, with their keys decoded,
// until f returns false. Anything but an object has none.
func members(text []byte, at span.Span, f func(key []byte, v span.Span) bool) {
	if !isObject(text, at) {
		return
	}
	span.Members(text[:at.End], at.Start, func(key []byte, v span.Span) bool { return f(plainKey(key), v) })
}

// plainKey decodes a key, as it stands between its quotes. None that matters here
// is written with escapes by anyone, but it may be.
func plainKey(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key
	}
	plain, _ := jsontext.AppendUnquote(nil, slices.Concat([]byte{'"'}, key, []byte{'"'})) // what is no key is none that is sought
	return plain
}

// member returns the place of an object's member, or an empty span.
func member(text []byte, object span.Span, name string) (found span.Span) {
	members(text, object, func(key []byte, v span.Span) bool {
		if string(key) == name {
			found = v
			return false
		}
		return true
	})
	return found
}

func isObject(text []byte, at span.Span) bool { return !at.Empty() && text[at.Start] == '{' }

// decode returns the text of a string, or nil for null and for an empty span. ok is
// false for any other value. What it returns is a part of text where that has no
// escapes.
func decode(text []byte, at span.Span) (s []byte, ok bool) {
	if at.IsNull(text) {
		return nil, true
	}
	raw := at.Of(text)
	if raw[0] != '"' {
		return nil, false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], true
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	return s, err == nil
}

// quote writes a text as a JSON string.
func quote[Bytes ~[]byte | ~string](dst []byte, s Bytes) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // only invalid UTF-8 fails, and is replaced
	return dst
}
