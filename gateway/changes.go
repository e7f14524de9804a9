package gateway

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// Changes are what the gateway has changed of a request in another protocol than chat completions,
// in terms that each protocol has words for.
type Changes struct {
	// System is a text that belongs behind what the system says, or "".
	System string
	// Remarks are messages of the user's behind the client's own.
	Remarks []string
	// Choice is tool_choice as a chat completion has it, nil if it is the client's.
	Choice []byte
	// Parameters are schemas of functions, by their names.
	Parameters map[string][]byte
	// Fields are other members at the top, with the names that chat completions have.
	Fields []Field
}

// find compares a request with what it was. ok is false if there is a change of another kind.
func (c *Changes) find(was, is []byte) (ok bool) {
	if len(was) == len(is) && (len(is) == 0 || &was[0] == &is[0]) {
		return true
	}
	before := map[string][]byte{}
	wire.Members(was, 0, func(key []byte, v wire.Span) bool {
		before[string(key)] = v.Of(was)
		return true
	})
	ok = true
	wire.Members(is, 0, func(key []byte, at wire.Span) bool {
		name, v := string(key), at.Of(is)
		old, had := before[name]
		delete(before, name)
		switch {
		case had && bytes.Equal(old, v):
		case name == "messages":
			ok = c.messages(old, v)
		case name == "tools":
			ok = c.tools(old, v)
		case name == "tool_choice":
			c.Choice = v
		default:
			c.Fields = append(c.Fields, Field{name, string(v)})
		}
		return ok
	})
	return ok && len(before) == 0 // nothing was taken away
}

func list(array []byte) (elements [][]byte) {
	wire.Elements(array, 0, func(_ int, v wire.Span) bool {
		elements = append(elements, v.Of(array))
		return true
	})
	return elements
}

// messages compares the messages.
func (c *Changes) messages(was, is []byte) bool {
	before, after := list(was), list(is)
	if now := conversation.First(is); now.Role == conversation.System {
		said, had := member(after[0], "content"), []byte(nil)
		if old := conversation.First(was); old.Role == conversation.System {
			had, before = member(before[0], "content"), before[1:]
		}
		if !c.system(had, said) {
			return false
		}
		after = after[1:]
	}
	if len(after) < len(before) {
		return false
	}
	for i, m := range before {
		if !bytes.Equal(m, after[i]) {
			return false
		}
	}
	for _, m := range after[len(before):] {
		content := member(m, "content")
		if wire.Unquote(member(m, "role")) != "user" || len(content) == 0 || content[0] != '"' {
			return false
		}
		c.Remarks = append(c.Remarks, wire.Unquote(content))
	}
	return true
}

// system compares what the system says, texts: what is new stands behind the rest.
func (c *Changes) system(was, is []byte) bool {
	if len(is) == 0 || is[0] != '"' || len(was) > 0 && was[0] != '"' {
		return bytes.Equal(was, is)
	}
	rest, ok := strings.CutPrefix(wire.Unquote(is), wire.Unquote(was))
	c.System = strings.TrimPrefix(rest, "\n\n")
	return ok
}

// tools compares the tools: their schemas may be others.
func (c *Changes) tools(was, is []byte) bool {
	before, after := list(was), list(is)
	if len(before) != len(after) {
		return false
	}
	for i := range after {
		if bytes.Equal(before[i], after[i]) {
			continue
		}
		f, old := member(after[i], "function"), member(before[i], "function")
		schema, had := member(f, "parameters"), member(old, "parameters")
		name := wire.Unquote(member(f, "name"))
		if name == "" || schema == nil || had == nil || !bytes.Equal(without(f, "parameters"), without(old, "parameters")) {
			return false
		}
		if c.Parameters == nil {
			c.Parameters = map[string][]byte{}
		}
		c.Parameters[name] = schema
	}
	return true
}

// without is an object without a member.
func without(object []byte, name string) []byte {
	return wire.Splice(object, wire.Remove(object, name))
}

// member is a member of an object, nil if it is not there.
func member(object []byte, name string) []byte {
	at := wire.Find(object, wire.Span{End: len(object)}, name)
	if at.IsNull(object) {
		return nil
	}
	return at.Of(object)
}
