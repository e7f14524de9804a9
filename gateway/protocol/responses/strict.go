package responses

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/gateway/wire"
)

// isStrict reports whether a schema is one that a model can be held to: each object names all
// of its properties as required and takes no others.
func isStrict(schema []byte) bool {
	if o := object(schema); isObject(schema) && isTyped(o) && string(o.get("additionalProperties")) != "false" {
		return false // as most that are not
	}
	s := strictScan{text: schema}
	return s.value(nil)
}

// isTyped reports whether a schema is that of objects.
func isTyped(schema object) bool {
	return isObject(schema.get("properties")) || wire.Unquote(schema.get("type")) == "object"
}

// strictScan reads a schema once, from its beginning to its end: one that is read anew at each level takes seconds where it
// is deep and has megabytes. The text is valid.
type strictScan struct {
	text []byte
	at   int
}

// strictObject is what an object of a schema says of itself.
type strictObject struct {
	typed, closed bool
	properties    [][]byte // their names, between quotes
	required      []byte
}

// begins passes over white space, and returns what comes behind it.
func (s *strictScan) begins() byte {
	for s.at < len(s.text) && bytes.IndexByte([]byte(" \t\r\n"), s.text[s.at]) >= 0 {
		s.at++
	}
	if s.at == len(s.text) {
		return 0
	}
	return s.text[s.at]
}

// skip passes over a value, and returns it.
func (s *strictScan) skip() []byte {
	v, ok := wire.Value(s.text, s.at)
	if !ok {
		s.at = len(s.text)
		return nil
	}
	s.at = v.End
	return v.Of(s.text)
}

// value reads a value; it reports false as soon as it is not strict. names, if it is not nil, gets the names of its members.
func (s *strictScan) value(names *[][]byte) bool {
	opens := s.begins()
	if opens != '{' && opens != '[' {
		s.skip()
		return true
	}
	var o strictObject
	for s.at++; ; {
		switch s.begins() {
		case 0:
			return true
		case ',', ':':
			s.at++
			continue
		case '}', ']':
			s.at++
			return o.isStrict()
		}
		if opens == '[' {
			if !s.value(nil) {
				return false
			}
			continue
		}
		name := inner(s.skip())
		if names != nil {
			*names = append(*names, name)
		}
		if s.begins(); s.at < len(s.text) { // the colon
			s.at++
		}
		if !s.member(&o, string(name)) {
			return false
		}
	}
}

// member reads the value of a member.
func (s *strictScan) member(o *strictObject, name string) bool {
	switch opens := s.begins(); {
	case name == "required":
		o.required = s.skip()
	case name == "enum", name == "const", name == "default", name == "examples": // values, not schemas
		s.skip()
	case name == "properties" && opens == '{':
		o.typed = true
		return s.value(&o.properties)
	case opens == '{', opens == '[':
		return s.value(nil)
	default:
		v := s.skip()
		o.typed = o.typed || name == "type" && wire.Unquote(v) == "object"
		o.closed = o.closed || name == "additionalProperties" && string(v) == "false"
	}
	return true
}

// isStrict reports whether the object itself is, without what is in it.
func (o *strictObject) isStrict() bool {
	return !o.typed || o.closed && allRequired(o.properties, o.required)
}

// allRequired reports whether a list has all of some names.
func allRequired(names [][]byte, required []byte) bool {
	listed := map[string]bool{}
	if isArray(required) {
		wire.Elements(required, 0, func(_ int, v wire.Span) bool {
			listed[wire.Unquote(v.Of(required))] = true
			return true
		})
	}
	return !slices.ContainsFunc(names, func(name []byte) bool { return !listed[wire.Unquote(slices.Concat([]byte{'"'}, name, []byte{'"'}))] })
}
