package prompted

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// qwenCoderTool writes a function as tags: its parameters one by one, and then whatever
// else the schema and the function have.
func qwenCoderTool(dst []byte, t *tool) []byte {
	dst = appendTag(append(dst, "<function>"...), "name", t.name)
	if t.description != "" {
		dst = appendTag(dst, "description", strings.TrimSpace(t.description))
	}
	dst = append(dst, "\n<parameters>"...)
	schema := t.schema()
	all := wire.Span{End: len(schema)}
	conversation.Members(schema, conversation.Member(schema, all, "properties"), func(name []byte, parameter wire.Span) bool {
		dst = appendTag(append(dst, "\n<parameter>"...), "name", string(name))
		dst = appendMembers(dst, schema, parameter, func(key string) bool { return key == "type" })
		dst = appendMembers(dst, schema, parameter, func(key string) bool { return key == "description" })
		dst = appendMembers(dst, schema, parameter, except("name", "type", "description"))
		dst = append(dst, "\n</parameter>"...)
		return true
	})
	dst = appendMembers(dst, schema, all, except("type", "properties"))
	dst = append(dst, "\n</parameters>"...)
	dst = appendMembers(dst, t.function, wire.Span{End: len(t.function)}, except("type", "name", "description", "parameters"))
	return append(dst, "\n</function>"...)
}

func except(keys ...string) func(key string) bool {
	return func(key string) bool { return !slices.Contains(keys, key) }
}

func appendTag(dst []byte, name, text string) []byte {
	dst = append(append(append(dst, "\n<"...), name...), '>')
	dst = append(append(append(dst, text...), "</"...), name...)
	return append(dst, '>')
}

// appendMembers writes the members that are wanted as tags.
func appendMembers(dst, text []byte, object wire.Span, wanted func(key string) bool) []byte {
	conversation.Members(text, object, func(key []byte, v wire.Span) bool {
		if name := string(key); wanted(name) {
			value := pythonText(text, v)
			if name == "description" {
				value = strings.TrimSpace(value)
			}
			dst = appendTag(dst, name, value)
		}
		return true
	})
	return dst
}

// pythonText is a string's own text, a word as Python writes it, and any other value as
// JSON.
func pythonText(text []byte, at wire.Span) string {
	if s, ok := conversation.Decode(text, at); ok && text[at.Start] == '"' {
		return string(s)
	}
	switch value := string(at.Of(text)); value {
	case "true":
		return "True"
	case "false":
		return "False"
	case "null":
		return "None"
	default:
		return string(spaced(nil, []byte(value)))
	}
}
