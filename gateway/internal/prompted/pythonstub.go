package prompted

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// parameter is a parameter of a Python function.
type parameter struct{ name, typ, text string }

// pythonStub writes a function as Python. What a type of Python cannot say of a
// parameter is added to its description as the JSON Schema, which the template loses.
func pythonStub(dst []byte, t *tool) []byte {
	parameters := pythonParameters(t.schema())
	dst = append(append(append(dst, "```python\ndef "...), t.name...), '(')
	for i, p := range parameters {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(append(append(dst, p.name...), ": "...), p.typ...)
		if strings.HasPrefix(p.typ, "Optional[") {
			dst = append(dst, " = None"...)
		}
	}
	dst = append(append(dst, ") -> List[Dict]:\n    \"\"\""...), t.description...)
	for i, p := range parameters {
		if i == 0 {
			dst = append(dst, "\n\n    Args:"...)
		}
		dst = append(append(dst, "\n        "...), p.name...)
		dst = append(append(append(dst, " ("...), p.typ...), "): "...)
		dst = append(dst, p.text...)
	}
	return append(dst, "\n    \"\"\"\n    pass\n```"...)
}

func pythonParameters(schema []byte) []parameter {
	all := wire.Span{End: len(schema)}
	required := map[string]bool{}
	if at := conversation.Member(schema, all, "required"); !at.IsNull(schema) {
		wire.Elements(schema[:at.End], at.Start, func(_ int, v wire.Span) bool {
			name, _ := conversation.Decode(schema, v)
			required[string(name)] = true
			return true
		})
	}
	var list []parameter
	conversation.Members(schema, conversation.Member(schema, all, "properties"), func(name []byte, v wire.Span) bool {
		p := parameter{name: string(name), typ: pythonType(schema, v, maxPythonType)}
		if !required[p.name] {
			p.typ = "Optional[" + p.typ + "]"
		}
		p.text = pythonDescription(schema, v)
		list = append(list, p)
		return true
	})
	return list
}

// pythonDescription is what is said of a parameter beside its type.
func pythonDescription(schema []byte, at wire.Span) string {
	var text string
	simple := true
	conversation.Members(schema, at, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "description":
			s, _ := conversation.Decode(schema, v)
			text = string(s)
		case "type", "title":
		default:
			simple = false
		}
		return true
	})
	if simple {
		return text
	}
	return strings.TrimLeft(text+" JSON Schema: ", " ") + string(spaced(nil, at.Of(schema)))
}

// maxPythonType is how deep the types of lists and dicts are named.
const maxPythonType = 4

var pythonTypes = map[string]string{"string": "str", "number": "float", "integer": "int", "boolean": "bool", "null": "None"}

// pythonType is the type of Python for a schema.
func pythonType(schema []byte, at wire.Span, depth int) string {
	typ := conversation.Member(schema, at, "type")
	if depth == 0 || typ.IsNull(schema) {
		return "Any"
	}
	name, ok := conversation.Decode(schema, typ)
	switch {
	case ok && string(name) == "array":
		return "List[" + pythonType(schema, conversation.Member(schema, at, "items"), depth-1) + "]"
	case ok && string(name) == "object":
		return "Dict[str, " + pythonType(schema, conversation.Member(schema, at, "additionalProperties"), depth-1) + "]"
	case ok && pythonTypes[string(name)] != "":
		return pythonTypes[string(name)]
	case schema[typ.Start] != '[':
		return "Any"
	}
	var union []string
	wire.Elements(schema[:typ.End], typ.Start, func(_ int, v wire.Span) bool {
		name, _ := conversation.Decode(schema, v)
		one := pythonTypes[string(name)]
		if one == "" {
			one = "Any"
		}
		if !slices.Contains(union, one) {
			union = append(union, one)
		}
		return true
	})
	return "Union[" + strings.Join(union, ", ") + "]"
}
