// Package tools reads the list of tools of a request, once for all who ask.
package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// maxSchemaDepth bounds how far $ref and combined schemas are followed.
const maxSchemaDepth = 8

// Schemas are read where they are needed, and nothing of them is kept: one that is decoded takes
// hundreds of bytes for each of the client's.

// Read reads the tools of a request, in OpenAI's form or as bare function
// objects, into what a parser needs to know of them. A tool whose schema cannot
// be read keeps its name and loses its parameters: the schema is the client's and
// the upstream's business.
func Read(tools []byte) ([]abi.Tool, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	list, ok := wire.Value(tools, 0)
	switch {
	case !json.Valid(tools):
		return nil, errors.New("tools: not valid JSON")
	case !ok || tools[list.Start] != '[':
		if ok && list.IsNull(tools) {
			return nil, nil
		}
		return nil, errors.New("tools: not a list")
	}
	var out []abi.Tool
	// References to each other could lead through more schemas than anyone can wait
	// for. So many bytes of schemas are looked at, all tools together.
	left := maxVisits*len(tools) + minVisited
	wire.Elements(tools, list.Start, func(_ int, tool wire.Span) bool {
		f := tool
		if own := wire.Find(tools, tool, "function"); !own.IsNull(tools) {
			f = own
		}
		if name := wire.Unquote(wire.Find(tools, f, "name").Of(tools)); name != "" {
			out = append(out, abi.Tool{Name: name, Params: readParams(wire.Find(tools, f, "parameters").Of(tools), &left)})
		}
		return true
	})
	return out, nil
}

// How often the bytes of all schemas are looked at on average, and how many of a short list.
const (
	maxVisits  = 32
	minVisited = 64 << 10
)

func readParams(parameters []byte, left *int) []abi.Param {
	r := &reader{text: parameters, left: left}
	root := wire.Span{Start: 0, End: len(parameters)}
	properties, required := r.find(root, "properties"), r.find(root, "required")
	if properties.Empty() || !required.IsNull(parameters) && parameters[required.Start] != '[' {
		return nil
	}
	n, ok := 0, properties.IsNull(parameters) || parameters[properties.Start] == '{'
	wire.Members(parameters, properties.Start, func(_ []byte, v wire.Span) bool {
		n++
		ok = parameters[v.Start] == '{' || v.IsNull(parameters)
		return ok
	})
	if !ok {
		return nil
	}
	params := make([]abi.Param, 0, n)
	wire.Members(parameters, properties.Start, func(key []byte, v wire.Span) bool {
		params = append(params, abi.Param{Name: nameOf(key), Types: r.types(v, maxSchemaDepth)})
		return true
	})
	slices.SortFunc(params, func(a, b abi.Param) int { return strings.Compare(a.Name, b.Name) })
	wire.Elements(parameters, required.Start, func(_ int, v wire.Span) bool {
		name := wire.Unquote(v.Of(parameters))
		if i, found := slices.BinarySearchFunc(params, name, func(p abi.Param, name string) int { return strings.Compare(p.Name, name) }); found {
			params[i].Required = true
		}
		return true
	})
	return params
}

// nameOf is the name that a key stands for.
func nameOf(key []byte) string {
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key)
	}
	return wire.Unquote(slices.Concat([]byte{'"'}, key, []byte{'"'}))
}

// reader reads the schemas of one tool.
type reader struct {
	text []byte
	left *int // bytes that may be looked at yet
	// defs are the places of the definitions by "$defs/" or "definitions/" and their name; nil
	// until one is asked for.
	defs map[string]wire.Span
}

// find is the place of an object's member, empty where there is no object.
func (r *reader) find(object wire.Span, name string) wire.Span {
	if object.Empty() || r.text[object.Start] != '{' {
		return wire.Span{}
	}
	return wire.Find(r.text, object, name)
}

// types is the union of the types that the schema at a place allows, 0 if it does not say.
func (r *reader) types(at wire.Span, depth int) abi.Types {
	if *r.left -= at.End - at.Start; depth == 0 || *r.left <= 0 {
		return 0
	}
	var t abi.Types
	var enum, constant wire.Span
	nullable := false
	wire.Members(r.text[:at.End], at.Start, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "$ref":
			if target, ok := r.resolve(wire.Unquote(v.Of(r.text))); ok {
				t |= r.types(target, depth-1)
			}
		case "type":
			t |= r.namedTypes(v)
		case "anyOf", "oneOf", "allOf":
			r.each(v, func(sub wire.Span) { t |= r.types(sub, depth-1) })
		case "enum":
			enum = v
		case "const":
			constant = v
		case "nullable": // OpenAPI's word for a union with null
			nullable = r.text[v.Start] == 't'
		}
		return true
	})
	if t == 0 {
		t = r.typesOf(enum, constant)
	}
	if t == 0 && !r.find(at, "properties").Empty() {
		t = abi.Object
	}
	if nullable && t != 0 {
		t |= abi.Null
	}
	return t
}

// typesOf are those of the values that a schema names.
func (r *reader) typesOf(enum, constant wire.Span) (t abi.Types) {
	r.each(enum, func(v wire.Span) { t |= typeOf(v.Of(r.text)) })
	return t | typeOf(constant.Of(r.text))
}

// each calls f for the elements of a list, if it is one.
func (r *reader) each(list wire.Span, f func(wire.Span)) {
	if list.Empty() || r.text[list.Start] != '[' {
		return
	}
	wire.Elements(r.text[:list.End], list.Start, func(_ int, v wire.Span) bool {
		f(v)
		return *r.left > 0
	})
}

func (r *reader) resolve(ref string) (wire.Span, bool) {
	name, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return wire.Span{}, false
	}
	if r.defs == nil {
		r.defs = map[string]wire.Span{}
		for _, kind := range [...]string{"$defs", "definitions"} {
			list := r.find(wire.Span{Start: 0, End: len(r.text)}, kind)
			if list.Empty() || r.text[list.Start] != '{' {
				continue
			}
			wire.Members(r.text, list.Start, func(key []byte, v wire.Span) bool {
				r.defs[kind+"/"+nameOf(key)] = v
				return true
			})
		}
	}
	target, found := r.defs[name]
	return target, found
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

// namedTypes are those of a name, or of a list of names.
func (r *reader) namedTypes(at wire.Span) (t abi.Types) {
	if r.text[at.Start] == '"' {
		return typeNames[wire.Unquote(at.Of(r.text))]
	}
	r.each(at, func(name wire.Span) { t |= typeNames[wire.Unquote(name.Of(r.text))] })
	return t
}

// typeOf is the type of a JSON value, by its first byte.
func typeOf(v []byte) abi.Types {
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
