// Package tools reads the list of tools of a request, once for all who ask.
package tools

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
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
	c := collected{places: map[string]int{}}
	r.collect(wire.Span{Start: 0, End: len(parameters)}, &c, true, maxSchemaDepth)
	if c.odd {
		return nil
	}
	slices.SortFunc(c.params, func(a, b abi.Param) int { return strings.Compare(a.Name, b.Name) })
	return c.params
}

// collected is what was read of a tool's parameters.
type collected struct {
	params []abi.Param
	places map[string]int // in params, by name
	// schemas are where they are described, by name; nil if nobody wants to know.
	schemas map[string][]wire.Span
	odd     bool // there is something that is not made as it ought to be
}

// collect reads the parameters of the schema at a place, and of those that it refers to or is made of.
// always says that its conditions hold for every call.
func (r *reader) collect(at wire.Span, c *collected, always bool, depth int) {
	if at.Empty() || r.text[at.Start] != '{' || depth == 0 || *r.left <= 0 || c.odd {
		return
	}
	properties, required := r.find(at, "properties"), r.find(at, "required")
	if depth < maxSchemaDepth { // the bytes of the root are those that are read below
		*r.left -= at.End - at.Start
	}
	if !required.IsNull(r.text) && r.text[required.Start] != '[' {
		c.odd = true
		return
	}
	r.properties(properties, c)
	for _, key := range [...]string{"$ref", "allOf", "anyOf", "oneOf"} {
		v := r.find(at, key)
		if key != "$ref" {
			r.each(v, func(sub wire.Span) { r.collect(sub, c, always && key == "allOf", depth-1) })
		} else if target, ok := r.resolve(wire.Unquote(v.Of(r.text))); ok {
			r.collect(target, c, always, depth-1)
		}
	}
	if always {
		r.each(required, func(v wire.Span) {
			if i, ok := c.places[wire.Unquote(v.Of(r.text))]; ok {
				c.params[i].Required = true
			}
		})
	}
}

// properties adds those of a schema.
func (r *reader) properties(list wire.Span, c *collected) {
	if list.IsNull(r.text) {
		return
	}
	if r.text[list.Start] != '{' {
		c.odd = true
		return
	}
	wire.Members(r.text[:list.End], list.Start, func(key []byte, v wire.Span) bool {
		if c.odd = r.text[v.Start] != '{' && !v.IsNull(r.text) && r.text[v.Start] != 't'; c.odd {
			return false
		}
		name, types := string(wire.Key(key)), r.types(v, maxSchemaDepth)
		if c.schemas != nil {
			c.schemas[name] = append(c.schemas[name], v)
		}
		if i, again := c.places[name]; again {
			c.params[i].Types = either(c.params[i].Types, types)
			return true
		}
		c.places[name] = len(c.params)
		c.params = append(c.params, abi.Param{Name: name, Types: types})
		return true
	})
}

// either is what one of two schemas allows.
func either(a, b abi.Types) abi.Types {
	if a == 0 || b == 0 { // one allows anything
		return 0
	}
	return a | b
}

// both is what two schemas allow together; what contradicts counts as not said.
func both(a, b abi.Types) abi.Types {
	if a == 0 || b == 0 {
		return a | b
	}
	t := a & b
	if (a|b)&abi.Number != 0 && a&(abi.Number|abi.Integer) != 0 && b&(abi.Number|abi.Integer) != 0 && t&abi.Number == 0 {
		t |= abi.Integer // which are numbers too
	}
	if t == 0 {
		return a
	}
	return t
}

// reader reads the schemas of one tool.
type reader struct {
	text []byte
	left *int // bytes that may be looked at yet
	// defs are those of [reader.definitions], nil until one is asked for.
	defs map[string]wire.Span
}

// find is the place of an object's member, empty where there is no object.
func (r *reader) find(object wire.Span, name string) wire.Span {
	if object.Empty() || r.text[object.Start] != '{' {
		return wire.Span{}
	}
	return wire.Find(r.text, object, name)
}

// types are those that the schema at a place allows, 0 if it does not say.
func (r *reader) types(at wire.Span, depth int) abi.Types {
	if *r.left -= at.End - at.Start; depth == 0 || *r.left <= 0 {
		return 0
	}
	var s said
	wire.Members(r.text[:at.End], at.Start, func(key []byte, v wire.Span) bool {
		r.member(&s, key, v, depth-1)
		return true
	})
	t := s.types
	if s.loose && !s.typed && t != 0 {
		t |= abi.String
	}
	null := t & abi.Null // many leave it out of the values
	t = both(t, r.typesOf(s.enum, s.constant)) | null
	if t == 0 && !r.find(at, "properties").Empty() {
		t = abi.Object
	}
	if s.nullable && t != 0 {
		t |= abi.Null
	}
	return t
}

// said is what the members of a schema say of types.
type said struct {
	types          abi.Types
	enum, constant wire.Span
	typed          bool // by the member type
	nullable       bool
	loose          bool // an alternative does not say
}

// member reads a member of a schema.
func (r *reader) member(s *said, key []byte, v wire.Span, depth int) {
	switch string(key) {
	case "$ref":
		if target, ok := r.resolve(wire.Unquote(v.Of(r.text))); ok {
			s.types = both(s.types, r.types(target, depth))
		}
	case "type":
		named := r.namedTypes(v)
		s.types, s.typed = both(s.types, named), named != 0
	case "anyOf", "oneOf":
		var some abi.Types
		r.each(v, func(sub wire.Span) {
			one := r.types(sub, depth)
			some, s.loose = some|one, s.loose || one == 0
		})
		s.types = both(s.types, some)
	case "allOf":
		r.each(v, func(sub wire.Span) { s.types = both(s.types, r.types(sub, depth)) })
	case "enum":
		s.enum = v
	case "const":
		s.constant = v
	case "nullable": // OpenAPI's word for a union with null
		s.nullable = r.text[v.Start] == 't'
	}
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

// resolve is the place of the schema that a reference names within the tool's own.
func (r *reader) resolve(ref string) (wire.Span, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if decoded, err := url.PathUnescape(pointer); err == nil {
		pointer = decoded
	}
	at := wire.Span{Start: 0, End: len(r.text)}
	if !ok || pointer == "" {
		return at, ok
	}
	steps := strings.Split(pointer, "/")
	if steps[0] != "" || len(steps) > maxSteps {
		return wire.Span{}, false
	}
	for i := range steps {
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(steps[i], "~1", "/"), "~0", "~")
	}
	if steps = steps[1:]; len(steps) > 1 && (steps[0] == "$defs" || steps[0] == "definitions") {
		if at, ok = r.definitions()[steps[0]+"/"+steps[1]]; !ok {
			return wire.Span{}, false
		}
		steps = steps[2:]
	}
	for _, step := range steps {
		if *r.left -= at.End - at.Start; *r.left <= 0 {
			return wire.Span{}, false
		}
		if at = r.step(at, step); at.Empty() {
			return wire.Span{}, false
		}
	}
	return at, true
}

// maxSteps is how deep a reference may lead.
const maxSteps = 16

// step is the place of a member, or of an element, of the value at a place.
func (r *reader) step(at wire.Span, name string) (found wire.Span) {
	if r.text[at.Start] != '[' {
		return r.find(at, name)
	}
	n, err := strconv.Atoi(name)
	wire.Elements(r.text[:at.End], at.Start, func(i int, v wire.Span) bool {
		if err == nil && i == n {
			found = v
		}
		return found.Empty()
	})
	return found
}

// definitions are the places of the definitions, by "$defs/" or "definitions/" and their name.
func (r *reader) definitions() map[string]wire.Span {
	if r.defs != nil {
		return r.defs
	}
	r.defs = map[string]wire.Span{}
	for _, kind := range [...]string{"$defs", "definitions"} {
		list := r.find(wire.Span{Start: 0, End: len(r.text)}, kind)
		if list.Empty() || r.text[list.Start] != '{' {
			continue
		}
		wire.Members(r.text, list.Start, func(key []byte, v wire.Span) bool {
			r.defs[kind+"/"+string(wire.Key(key))] = v
			return true
		})
	}
	return r.defs
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
