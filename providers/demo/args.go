package demo

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/wire"
)

// arg is one argument: a name and a value in JSON.
type arg struct {
	name, value string
}

// maxDepth is how deep made-up arguments nest.
const maxDepth = 4

// schema is what the demo reads of a JSON schema.
type schema struct {
	Type       json.RawMessage            `json:"type"`
	Enum       []json.RawMessage          `json:"enum"`
	Required   []string                   `json:"required"`
	Properties map[string]json.RawMessage `json:"properties"`
	Items      json.RawMessage            `json:"items"`
}

func schemaOf(text json.RawMessage) schema {
	var s schema
	if json.Unmarshal(text, &s) != nil {
		return schema{} // a schema that is none allows everything
	}
	return s
}

// kind is the first type of the schema that is not null.
func (s schema) kind() string {
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return one
	}
	var several []string
	_ = json.Unmarshal(s.Type, &several) // what is neither says nothing
	for _, t := range several {
		if t != "null" {
			return t
		}
	}
	return "string"
}

// arguments are values for the required properties of a tool's parameters.
func arguments(parameters json.RawMessage, name string) []arg {
	return object(schemaOf(parameters), name, 0)
}

func object(s schema, name string, depth int) []arg {
	args := make([]arg, 0, len(s.Required))
	seen := make(map[string]bool, len(s.Required)) // a list may repeat a name, arguments may not
	for _, property := range s.Required {
		if seen[property] {
			continue
		}
		seen[property] = true
		args = append(args, arg{property, value(schemaOf(s.Properties[property]), name, depth+1)})
	}
	return args
}

// scalars are values for the properties of a tool's parameters that are numbers and
// truth values and not required.
func scalars(parameters json.RawMessage) []arg {
	s := schemaOf(parameters)
	var args []arg
	for _, property := range slices.Sorted(maps.Keys(s.Properties)) {
		of := schemaOf(s.Properties[property])
		if k := of.kind(); !slices.Contains(s.Required, property) && (k == "integer" || k == "number" || k == "boolean") {
			args = append(args, arg{property, value(of, "", 1)})
		}
	}
	return args
}

func value(s schema, name string, depth int) string {
	if len(s.Enum) > 0 {
		var b bytes.Buffer
		if json.Compact(&b, s.Enum[0]) == nil {
			return b.String()
		}
	}
	switch s.kind() {
	case "integer", "number":
		return "3"
	case "boolean":
		return "true"
	case "null":
		return "null"
	case "array":
		if len(s.Items) == 0 || depth >= maxDepth {
			return "[]"
		}
		return "[" + value(schemaOf(s.Items), name, depth+1) + "]"
	case "object":
		if depth >= maxDepth {
			return "{}"
		}
		return objectJSON(object(s, name, depth))
	}
	return quote(name)
}

// objectJSON writes an object.
func objectJSON(args []arg) string {
	members := make([]string, len(args))
	for i, a := range args {
		members[i] = quote(a.name) + ":" + a.value
	}
	return "{" + strings.Join(members, ",") + "}"
}

// quote is s in JSON, without the escapes for HTML that a model would not write.
func quote(s string) string { return string(wire.AppendQuoted(nil, s)) }
