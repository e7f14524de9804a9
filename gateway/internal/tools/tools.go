// Package tools reads the list of tools of a request, once for all who ask.
package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
)

// maxSchemaDepth bounds how far $ref and combined schemas are followed.
const maxSchemaDepth = 8

// schema is the part of a JSON Schema that decides which types a value may have.
type schema struct {
	Ref        string            `json:"$ref"`
	Type       json.RawMessage   `json:"type"` // a name, or a list of names
	Enum       []json.RawMessage `json:"enum"`
	Const      json.RawMessage   `json:"const"`
	AnyOf      []schema          `json:"anyOf"`
	OneOf      []schema          `json:"oneOf"`
	AllOf      []schema          `json:"allOf"`
	Nullable   bool              `json:"nullable"` // OpenAPI's word for a union with null
	Properties json.RawMessage   `json:"properties"`
	Required   []string          `json:"required"`
	Defs       map[string]schema `json:"$defs"`
	OldDefs    map[string]schema `json:"definitions"`
}

// Read reads the tools of a request, in OpenAI's form or as bare function
// objects, into what a parser needs to know of them. A tool whose schema cannot
// be read keeps its name and loses its parameters: the schema is the client's and
// the upstream's business.
func Read(tools []byte) ([]abi.Tool, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	type function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	}
	var list []json.RawMessage
	if err := json.Unmarshal(tools, &list); err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	// References to each other could lead through more schemas than anyone can wait
	// for. Of a request only as many are read as it has bytes, all tools together.
	left := len(tools)
	out := make([]abi.Tool, 0, len(list))
	for _, raw := range list {
		var t struct {
			function
			Function *function `json:"function"`
		}
		if json.Unmarshal(raw, &t) != nil {
			continue // it is no function, or none that anyone can read
		}
		f := t.function
		if t.Function != nil {
			f = *t.Function
		}
		if f.Name != "" {
			out = append(out, abi.Tool{Name: f.Name, Params: readParams(f.Parameters, &left)})
		}
	}
	return out, nil
}

func readParams(parameters json.RawMessage, left *int) []abi.Param {
	var root schema
	if len(parameters) == 0 || json.Unmarshal(parameters, &root) != nil {
		return nil
	}
	var properties map[string]schema
	if json.Unmarshal(root.Properties, &properties) != nil {
		return nil
	}
	required := map[string]bool{}
	for _, name := range root.Required {
		required[name] = true
	}
	params := make([]abi.Param, 0, len(properties))
	for name, s := range properties {
		params = append(params, abi.Param{Name: name, Types: s.types(&root, maxSchemaDepth, left), Required: required[name]})
	}
	slices.SortFunc(params, func(a, b abi.Param) int { return strings.Compare(a.Name, b.Name) })
	return params
}

// types is the union of the types that the schema allows, 0 if it does not say. left
// is how many schemas may be read yet.
func (s schema) types(root *schema, depth int, left *int) abi.Types {
	if depth == 0 || *left <= 0 {
		return 0
	}
	*left--
	var t abi.Types
	if s.Ref != "" {
		if target, ok := root.resolve(s.Ref); ok {
			t |= target.types(root, depth-1, left)
		}
	}
	t |= namedTypes(s.Type)
	for _, list := range [][]schema{s.AnyOf, s.OneOf, s.AllOf} {
		for _, sub := range list {
			t |= sub.types(root, depth-1, left)
		}
	}
	if t == 0 {
		for _, v := range append(s.Enum, s.Const) {
			t |= typeOf(v)
		}
	}
	if t == 0 && len(s.Properties) > 0 {
		t = abi.Object
	}
	if s.Nullable && t != 0 {
		t |= abi.Null
	}
	return t
}

func (s *schema) resolve(ref string) (schema, bool) {
	defs := s.Defs
	name, ok := strings.CutPrefix(ref, "#/$defs/")
	if !ok {
		defs = s.OldDefs
		name, ok = strings.CutPrefix(ref, "#/definitions/")
	}
	target, found := defs[name]
	return target, ok && found
}

// typeNames are JSON Schema's names and the others that tools in the wild use.
var typeNames = map[string]abi.Types{
	"string": abi.String, "str": abi.String, "text": abi.String,
	"integer": abi.Integer, "int": abi.Integer, "int32": abi.Integer, "int64": abi.Integer,
	"number": abi.Number, "float": abi.Number, "float64": abi.Number, "double": abi.Number,
	"boolean": abi.Boolean, "bool": abi.Boolean,
	"object": abi.Object, "dict": abi.Object,
	"array": abi.Array, "list": abi.Array,
	"null": abi.Null,
}

func namedTypes(raw json.RawMessage) abi.Types {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return typeNames[one]
	}
	var many []string
	if json.Unmarshal(raw, &many) != nil {
		return 0
	}
	var t abi.Types
	for _, name := range many {
		t |= typeNames[name]
	}
	return t
}

// typeOf is the type of a JSON value, by its first byte.
func typeOf(v json.RawMessage) abi.Types {
	if len(v) == 0 {
		return 0
	}
	switch v[0] {
	case '"':
		return abi.String
	case '{':
		return abi.Object
	case '[':
		return abi.Array
	case 't', 'f':
		return abi.Boolean
	case 'n':
		return abi.Null
	}
	if strings.ContainsAny(string(v), ".eE") {
		return abi.Number
	}
	return abi.Integer
}
