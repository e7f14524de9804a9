package repair

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/callgate/callgate/gateway/wire"
)

// Bounds of schemas. Compiling takes time with the square of some of them.
const (
	mostDepth    = 128
	mostNodes    = 4096    // objects, arrays and booleans
	mostPointers = 1 << 20 // bytes of the JSON pointers to all of them
	mostLookups  = 1 << 20 // references and ids, times nodes
	mostDigits   = 400     // of a number, written out
)

// base is the address of a schema. Nothing is ever loaded from it or from any other.
const base = "https://schema.invalid/parameters"

var errUnchecked = errors.New("repair: the schema cannot be checked")

// compile makes c ready, or leaves its root nil.
func (c *compiled) compile(parameters []byte) {
	defer func() {
		if recover() != nil { // the library on a schema that it did not expect
			c.root, c.known, c.quick = nil, nil, nil
		}
	}()
	if depth, _ := wire.Depth(parameters, mostDepth); depth > mostDepth {
		return
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(parameters))
	if err != nil {
		return
	}
	var s survey
	if s.walk(doc, 0); !s.fits() {
		return
	}
	// Most tools do not say which draft they mean, and some mean an old one.
	for _, draft := range []*jsonschema.Draft{jsonschema.Draft2020, jsonschema.Draft7, jsonschema.Draft4} {
		patterns := patterns{meter: &c.meter}
		compiler := jsonschema.NewCompiler()
		compiler.DefaultDraft(draft)
		compiler.UseLoader(nil)
		compiler.UseRegexpEngine(patterns.compile)
		if compiler.AddResource(base, doc) != nil {
			return
		}
		root, err := compiler.Compile(base)
		if err != nil {
			continue
		}
		if c.known, err = c.meter.attach(root); err == nil {
			c.root, c.nodes, c.quick = root, s.nodes, newQuick(doc)
		}
		return
	}
}

// survey counts what compiling a schema will cost.
type survey struct {
	nodes, pointers, links int
	odd                    bool // it holds what is not compiled
}

func (s *survey) fits() bool {
	return !s.odd && s.nodes <= mostNodes && s.pointers <= mostPointers && s.links*s.nodes <= mostLookups
}

// walk reads a value that a pointer of so many bytes leads to.
func (s *survey) walk(v any, pointer int) {
	switch v := v.(type) {
	case map[string]any:
		s.nodes, s.pointers = s.nodes+1, s.pointers+pointer
		allowNull(v)
		for key, member := range v {
			if _, ok := member.(string); ok {
				s.link(key)
			}
			s.walk(member, pointer+1+3*len(key)) // a byte may be escaped in three
		}
	case []any:
		s.nodes, s.pointers = s.nodes+1, s.pointers+pointer
		for _, element := range v {
			s.walk(element, pointer+5)
		}
	case bool:
		s.nodes, s.pointers = s.nodes+1, s.pointers+pointer
	case json.Number:
		s.odd = s.odd || !modestNumber(string(v))
	}
}

// link notes a keyword that makes one place refer to another.
func (s *survey) link(key string) {
	switch key {
	case "$ref", "$id", "id", "$anchor", "$dynamicAnchor":
		s.links++
	case "$dynamicRef", "$recursiveRef":
		s.odd = true // looked up through all schemas that are being checked
	}
}

// allowNull says in JSON Schema what OpenAPI says with nullable.
func allowNull(schema map[string]any) {
	if schema["nullable"] != true {
		return
	}
	switch t := schema["type"].(type) {
	case string:
		schema["type"] = []any{t, "null"}
	case []any:
		schema["type"] = append(t, "null")
	default:
		return
	}
	if list, ok := schema["enum"].([]any); ok {
		schema["enum"] = append(list, nil)
	}
}

// modest reports whether all numbers in v are such that arithmetic with them is
// quick. The library computes with all their digits.
func modest(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			if !modest(member) {
				return false
			}
		}
	case []any:
		for _, element := range v {
			if !modest(element) {
				return false
			}
		}
	case json.Number:
		return modestNumber(string(v))
	}
	return true
}

func modestNumber(s string) bool { return digitsOf(s) <= mostDigits }

// digitsOf is about how many digits a number has when its exponent is written out.
func digitsOf(s string) int {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return len(s)
	}
	exponent, err := strconv.Atoi(s[i+1:])
	if err != nil || max(exponent, -exponent) > mostDigits {
		return mostDigits + 1
	}
	return i + max(exponent, -exponent)
}
