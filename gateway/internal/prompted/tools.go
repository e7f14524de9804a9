package prompted

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// tool is a function that is offered.
type tool struct {
	whole       []byte // {"type":"function","function":{…}}
	function    []byte // {"name":…}
	name        string
	description string
	parameters  []byte // the JSON Schema, or nil
}

// readTools reads the functions of a request's tools: in OpenAI's form, or bare objects
// with a name. It warns of tools that are not functions.
func readTools(tools []byte, warned *warned) []tool {
	var list []tool
	wire.Elements(tools, 0, func(_ int, at wire.Span) bool {
		if t, kind := readTool(tools, at); kind == "" {
			list = append(list, t)
		} else {
			warned.drop(kind)
		}
		return true
	})
	return list
}

// readTool reads one tool. kind is "" if it is a function, and what it is otherwise.
func readTool(text []byte, at wire.Span) (t tool, kind string) {
	var typ, function, name wire.Span
	conversation.Members(text, at, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "type":
			typ = v
		case "function":
			function = v
		case "name":
			name = v
		}
		return true
	})
	named, _ := conversation.Decode(text, typ)
	isFunction := len(named) == 0 || string(named) == "function"
	switch {
	case isFunction && conversation.IsObject(text, function):
		t.whole, t.function = at.Of(text), function.Of(text)
	case isFunction && !name.IsNull(text):
		t.function = bare(text, at)
		t.whole = slices.Concat([]byte(`{"type":"function","function":`), t.function, []byte("}"))
	default:
		return t, cmp.Or(string(named), unknown)
	}
	t.read()
	if t.name == "" {
		return t, "unnamed"
	}
	return t, ""
}

// bare is an object without the member type.
func bare(text []byte, at wire.Span) []byte {
	out := []byte("{")
	wire.Members(text[:at.End], at.Start, func(key []byte, v wire.Span) bool {
		if string(wire.Key(key)) != "type" {
			out = appendMember(out, key, v.Of(text))
		}
		return true
	})
	return append(out, '}')
}

// appendMember appends a member to an object that is being written. The key is as it
// stands between its quotes.
func appendMember(dst, key, value []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(append(append(dst, '"'), key...), `":`...)
	return append(dst, value...)
}

func (t *tool) read() {
	conversation.Members(t.function, wire.Span{End: len(t.function)}, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "name":
			name, _ := conversation.Decode(t.function, v)
			t.name = string(name)
		case "description":
			description, _ := conversation.Decode(t.function, v)
			t.description = string(description)
		case "parameters":
			if !v.IsNull(t.function) {
				t.parameters = v.Of(t.function)
			}
		}
		return true
	})
}

// schema is the JSON Schema of the parameters. A tool without one takes none.
func (t *tool) schema() []byte {
	if t.parameters == nil {
		return []byte("{}")
	}
	return t.parameters
}

// warned collects the warnings for the client.
type warned struct {
	args, content int
	dropped       []string
}

// unknown stands for a type that is not known.
const unknown = "unknown"

// maxDropped bounds how many types are named. Clients know a handful.
const maxDropped = 16

func (t *warned) drop(kind string) {
	if kind == "" || len(kind) > 64 || strings.Trim(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.") != "" {
		kind = unknown // it goes into a header
	}
	if len(t.dropped) == maxDropped {
		kind = "others"
	}
	if len(t.dropped) <= maxDropped && !slices.Contains(t.dropped, kind) {
		t.dropped = append(t.dropped, kind)
	}
}

func (t *warned) list() []string {
	var list []string
	if t.args > 0 {
		list = append(list, KindArgs+":"+strconv.Itoa(t.args))
	}
	if t.content > 0 {
		list = append(list, KindContent+":"+strconv.Itoa(t.content))
	}
	for _, kind := range t.dropped {
		list = append(list, KindDropped+":"+kind)
	}
	return list
}
