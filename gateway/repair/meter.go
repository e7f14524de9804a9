package repair

import (
	"encoding/json"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// freeSteps is how many steps a check may take whatever the size of the arguments;
	// each byte of them adds one. A step is well below a microsecond.
	freeSteps = 1 << 17
	// mostPattern is how many bytes a pattern may have to be checked.
	mostPattern = 1 << 10
	// mostProgram is how large the patterns of a schema may be together, in states of
	// the machines that match them.
	mostProgram = 32 << 10
)

// steps is how many steps a check of value may take. An error names the place in the
// value, so each takes memory in proportion to its depth.
func steps(value any, size int) int {
	return (freeSteps + size) / (1 + depthOf(value)/8)
}

func depthOf(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			deepest = max(deepest, 1+depthOf(member))
		}
	case []any:
		for _, element := range v {
			deepest = max(deepest, 1+depthOf(element))
		}
	}
	return deepest
}

// meter counts the steps of a check. A schema is a program of its author's: a few
// references to each other can ask for more steps than anyone can wait for.
//
// The library has no budget, but it asks every schema's format about every value,
// when the value is of the right type and before it goes deeper. So each schema is
// given a format that accepts all and pays in advance for what comes next.
type meter struct{ left int }

// exhausted is what the meter panics with, for want of another way out of the
// library. It never leaves the package.
type exhausted struct{}

func (m *meter) spend(n int) {
	if m.left -= n; m.left < 0 {
		panic(exhausted{})
	}
}

// attach has the meter count the steps of all schemas that root leads to, and
// returns them by their location. It fails if one of them cannot be checked.
func (m *meter) attach(root *jsonschema.Schema) (map[string]*jsonschema.Schema, error) {
	known := map[string]*jsonschema.Schema{}
	seen := map[*jsonschema.Schema]bool{root: true}
	chain := 0
	for queue := []*jsonschema.Schema{root}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if s.RecursiveRef != nil || s.DynamicRef != nil {
			return nil, errUnchecked
		}
		for p := range s.PatternProperties {
			if p, ok := p.(*pattern); !ok || p.re == nil {
				return nil, errUnchecked
			}
		}
		if p, ok := s.Pattern.(*pattern); ok && p.re == nil {
			s.Pattern = nil
		}
		known[s.Location] = s
		same, parts := subschemas(s)
		if len(same) > 0 {
			chain++
		}
		for _, sub := range slices.Concat(same, parts, slices.Collect(maps.Values(s.Properties)), s.PrefixItems) {
			if !seen[sub] {
				seen[sub] = true
				queue = append(queue, sub)
			}
		}
	}
	for s := range seen {
		s.Format = &jsonschema.Format{Name: "steps", Validate: m.toll(s, chain)}
	}
	return known, nil
}

// subschemas are those that are asked about the same value, and those that are asked
// about all of its members or elements. Properties and PrefixItems, of which each is
// asked about one, are not among them.
func subschemas(s *jsonschema.Schema) (same, parts []*jsonschema.Schema) {
	add := func(to *[]*jsonschema.Schema, list ...*jsonschema.Schema) {
		for _, sub := range list {
			if sub != nil {
				*to = append(*to, sub)
			}
		}
	}
	one := func(v any) *jsonschema.Schema {
		sub, _ := v.(*jsonschema.Schema)
		return sub
	}
	add(&same, s.Ref, s.Not, s.If, s.Then, s.Else)
	add(&same, slices.Concat(s.AllOf, s.AnyOf, s.OneOf)...)
	for _, sub := range s.DependentSchemas {
		add(&same, sub)
	}
	for _, sub := range s.Dependencies {
		add(&same, one(sub))
	}
	for _, sub := range s.PatternProperties {
		add(&parts, sub)
	}
	add(&parts, one(s.AdditionalProperties), s.PropertyNames, s.UnevaluatedProperties)
	add(&parts, one(s.Items), one(s.AdditionalItems), s.Items2020, s.Contains, s.UnevaluatedItems)
	if list, ok := s.Items.([]*jsonschema.Schema); ok {
		add(&parts, list...)
	}
	return same, parts
}

// toll returns the function that pays for what a schema asks about a value. chain is
// how many schemas may be asked about one value before it is clear that they go
// round in a circle; the library looks back through them.
func (m *meter) toll(s *jsonschema.Schema, chain int) func(v any) error {
	same, parts := subschemas(s)
	self := 1 + chain/16 + len(s.Required)/16
	for _, sub := range same {
		self += price(sub)
	}
	for _, list := range s.DependentRequired {
		self += 1 + len(list)/16
	}
	for _, list := range s.Dependencies {
		if list, ok := list.([]string); ok {
			self += 1 + len(list)/16
		}
	}
	each := 1
	for _, sub := range parts {
		each += price(sub)
	}
	prices := make(map[string]int, len(s.Properties))
	for name, sub := range s.Properties {
		prices[name] = price(sub)
	}
	return func(v any) error {
		m.spend(self)
		switch v := v.(type) {
		case map[string]any:
			m.spend(len(v) * each)
			for name := range v {
				m.spend(prices[name])
			}
		case []any:
			m.spend(len(v) * each)
			for _, sub := range s.PrefixItems[:min(len(v), len(s.PrefixItems))] {
				m.spend(price(sub))
			}
			if s.UniqueItems {
				m.spend(len(v) * len(v) / 64) // what it takes if all have the same hash
			}
		case string:
			m.spend(len(v) / 64)
		case json.Number:
			m.spend(digitsOf(string(v)) / 32)
		}
		return nil
	}
}

// price is what a schema costs before it comes to its toll.
func price(s *jsonschema.Schema) int {
	n := 0
	if s.Enum != nil {
		n += sizeOf(s.Enum.Values)
	}
	if s.Const != nil {
		n += sizeOf(*s.Const)
	}
	return 1 + n/16
}

// sizeOf is how many steps a comparison with v takes at most, roughly.
func sizeOf(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			n += len(name)/64 + sizeOf(member)
		}
	case []any:
		for _, element := range v {
			n += sizeOf(element)
		}
	case string:
		n += len(v) / 64
	}
	return n
}

// patterns compiles the regular expressions of a schema.
type patterns struct {
	meter *meter
	size  int
}

// pattern is a regular expression. It matches nothing if re is nil, because Go's
// package cannot say it; a schema asks more of such strings than can be checked.
type pattern struct {
	text  string
	re    *regexp.Regexp
	size  int
	meter *meter
}

// compile is a jsonschema.RegexpEngine. JSON Schema means the expressions of
// JavaScript, of which Go's are nearly a part: what it lacks, as look-ahead, takes
// time without bound.
func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	tree := parse(text)
	if tree == nil {
		return &pattern{text: text}, nil
	}
	size := programSize(tree)
	if p.size += size; p.size > mostProgram {
		return nil, errUnchecked
	}
	re, err := regexp.Compile(text)
	return &pattern{text: text, re: re, size: size, meter: p.meter}, err
}

// parse returns nil for an expression that Go's package cannot say.
func parse(text string) *syntax.Regexp {
	if len(text) > mostPattern {
		return nil
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil
	}
	return tree
}

// programSize is about how many states the machine for an expression has. Repeated
// parts are there several times.
func programSize(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/16
	if re.Op == syntax.OpLiteral {
		n = 1 + len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min, re.Max)
	}
	return n
}

func (p *pattern) String() string { return p.text }

// MatchString pays for the match, which takes time with the product of both sizes.
func (p *pattern) MatchString(s string) bool {
	if p.re == nil {
		return false
	}
	p.meter.spend(1 + len(s)*p.size/64)
	return p.re.MatchString(s)
}
