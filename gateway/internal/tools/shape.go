package tools

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// maxShapes is how many places of a schema are looked into for what is nested there.
const maxShapes = 512

// Shape reads what a schema says of the values that are nested in those that it describes, by the
// rules by which [Read] reads parameters. It is nil where no string in them can be given another type.
func Shape(schema []byte) *repair.Shape {
	nests := func(word string) bool { return bytes.Contains(schema, []byte(word)) }
	if bytes.Count(schema, []byte(`"properties"`)) < 2 && !nests(`"items"`) && !nests(`"prefixItems"`) && !nests(`"$ref"`) && !nests(`"additionalProperties"`) {
		return nil
	}
	left := maxVisits*len(schema) + minVisited
	s := shaper{reader: reader{text: schema, left: &left}, made: map[string]*repair.Shape{}}
	whole, ok := wire.Value(schema, 0)
	if !ok || schema[whole.Start] != '{' {
		return nil
	}
	root := s.shape([]wire.Span{whole}, 0)
	if s.gaveUp || left <= 0 { // of half a schema nobody knows what the other half says
		return nil
	}
	s.prune()
	if len(root.Members) == 0 && root.Elements == nil && len(root.Prefix) == 0 && root.Others == nil {
		return nil
	}
	return root
}

// shaper makes the shapes of one schema. A value may be described in several places, of which
// none alone has the say.
type shaper struct {
	reader
	made   map[string]*repair.Shape // by the places
	order  []*repair.Shape
	gaveUp bool
}

// shape is what the schemas at some places say of a value and of what is in it.
func (s *shaper) shape(places []wire.Span, types abi.Types) *repair.Shape {
	key := fmt.Sprint(places)
	if known := s.made[key]; known != nil {
		return known
	}
	shape := &repair.Shape{Types: types}
	if s.gaveUp = s.gaveUp || len(s.order) == maxShapes || *s.left <= 0; s.gaveUp {
		return shape
	}
	s.made[key], s.order = shape, append(s.order, shape)
	members := collected{places: map[string]int{}, schemas: map[string][]wire.Span{}}
	var elements elements
	var others []wire.Span
	known := true
	for _, at := range places {
		*s.left -= at.End - at.Start
		s.collect(at, &members, false, maxSchemaDepth)
		s.elements(at, &elements, maxSchemaDepth)
		known = s.others(at, &others, maxSchemaDepth) && known
	}
	if !members.odd && len(members.params) > 0 {
		shape.Members = make(map[string]*repair.Shape, len(members.params))
		for _, p := range members.params {
			shape.Members[p.Name] = s.shape(members.schemas[p.Name], p.Types)
		}
	}
	if !members.odd && known {
		shape.Others = s.any(others)
	}
	for _, at := range elements.prefix() {
		shape.Prefix = append(shape.Prefix, s.any([]wire.Span{at}))
	}
	shape.Elements = s.any(elements.rest())
	return shape
}

// any is the shape of a value that any of the schemas at some places describes, nil if there are none.
func (s *shaper) any(places []wire.Span) *repair.Shape {
	if len(places) == 0 {
		return nil
	}
	of := s.types(places[0], maxSchemaDepth)
	for _, at := range places[1:] {
		of = either(of, s.types(at, maxSchemaDepth))
	}
	return s.shape(places, of)
}

// afford counts the bytes of a schema that another one leads to, and reports whether it may be looked at:
// a hundred that refer to each other can be come to in a hundred million ways.
func (s *shaper) afford(at wire.Span, depth int) bool {
	if depth < maxSchemaDepth { // those of the first are counted with its value
		*s.left -= at.End - at.Start
	}
	return *s.left > 0
}

// elements are the schemas of the elements of an array: of all, or of the first ones by their place and of those
// behind them. Who both describes elements by their place and in another way too says what nobody can tell here.
type elements struct {
	all           []wire.Span
	first, behind []wire.Span
	tuples        int  // schemas that describe elements by their place
	open          bool // an alternative to one leaves them open
}

// clear reports whether it is certain what the schemas say.
func (e *elements) clear() bool { return e.tuples == 0 || e.tuples == 1 && len(e.all) == 0 && !e.open }

// prefix are the schemas of the first elements.
func (e *elements) prefix() []wire.Span {
	if !e.clear() {
		return nil
	}
	return e.first
}

// rest are the schemas of the others.
func (e *elements) rest() []wire.Span {
	switch {
	case !e.clear():
		return nil
	case e.tuples > 0:
		return e.behind
	}
	return e.all
}

// elements adds the schemas of the elements of an array that the schema at a place describes, or those
// that it refers to or is made of.
func (s *shaper) elements(at wire.Span, list *elements, depth int) {
	if at.Empty() || s.text[at.Start] != '{' || depth == 0 || !s.afford(at, depth) {
		return
	}
	s.ownElements(at, list)
	if target, ok := s.resolve(wire.Unquote(s.find(at, "$ref").Of(s.text))); ok {
		s.elements(target, list, depth-1)
	}
	s.each(s.find(at, "allOf"), func(sub wire.Span) { s.elements(sub, list, depth-1) })
	for _, key := range [...]string{"anyOf", "oneOf"} {
		tuples, open := list.tuples, false
		s.each(s.find(at, key), func(sub wire.Span) {
			before, had := list.tuples, len(list.all)
			s.elements(sub, list, depth-1)
			open = open || list.tuples == before && len(list.all) == had && s.mayBeArray(sub, depth-1)
		})
		list.open = list.open || open && list.tuples > tuples
	}
}

// ownElements adds the schemas of elements that stand in the schema at a place itself.
func (s *shaper) ownElements(at wire.Span, list *elements) {
	prefix, items := s.find(at, "prefixItems"), s.find(at, "items")
	if prefix.Empty() && !items.Empty() && s.text[items.Start] == '[' { // as it was called before
		prefix, items = items, s.find(at, "additionalItems")
	}
	switch {
	case !prefix.Empty():
		list.tuples++
		s.each(prefix, func(sub wire.Span) { list.first = append(list.first, sub) })
		if !items.Empty() {
			list.behind = append(list.behind, items)
		}
	case !items.Empty():
		list.all = append(list.all, items)
	}
}

// mayBeArray reports whether an array is among what the schema at a place describes.
func (s *shaper) mayBeArray(at wire.Span, depth int) bool {
	t := s.types(at, depth)
	return t == 0 || t&abi.Array != 0
}

// others adds the schemas of the members that the schema at a place does not name, or those that it refers
// to or is made of. It reports false if nobody can tell them from the names: patterns have a say too, or
// an alternative leaves them open.
func (s *shaper) others(at wire.Span, list *[]wire.Span, depth int) (known bool) {
	if at.Empty() || s.text[at.Start] != '{' || !s.afford(at, depth) {
		return true
	}
	if depth == 0 || !s.find(at, "patternProperties").Empty() {
		return false
	}
	if v := s.find(at, "additionalProperties"); !v.Empty() && s.text[v.Start] == '{' {
		*list = append(*list, v)
	}
	known = true
	if target, ok := s.resolve(wire.Unquote(s.find(at, "$ref").Of(s.text))); ok {
		known = s.others(target, list, depth-1)
	}
	s.each(s.find(at, "allOf"), func(sub wire.Span) { known = s.others(sub, list, depth-1) && known })
	for _, key := range [...]string{"anyOf", "oneOf"} {
		s.each(s.find(at, key), func(sub wire.Span) {
			before := len(*list)
			known = s.others(sub, list, depth-1) && known && (len(*list) > before || s.closed(sub, depth-1))
		})
	}
	return known
}

// closed reports whether a value that the schema at a place describes is no object, or one without other
// members than it names.
func (s *shaper) closed(at wire.Span, depth int) bool {
	if v := s.find(at, "additionalProperties"); !v.Empty() && s.text[v.Start] == 'f' {
		return true
	}
	t := s.types(at, depth)
	return t != 0 && t&abi.Object == 0
}

// prune takes out the shapes in which nothing can be given a type.
func (s *shaper) prune() {
	useful := map[*repair.Shape]bool{}
	for again := true; again; {
		again = false
		for _, shape := range slices.Backward(s.order) {
			if !useful[shape] && isUseful(shape, useful) {
				useful[shape], again = true, true
			}
		}
	}
	for _, shape := range s.order {
		prune(shape, useful)
	}
}

// isUseful reports whether a shape can be given a type, or leads to one that is useful.
func isUseful(shape *repair.Shape, useful map[*repair.Shape]bool) bool {
	if shape.Typed() || useful[shape.Elements] || useful[shape.Others] {
		return true
	}
	for _, member := range shape.Members {
		if useful[member] {
			return true
		}
	}
	return slices.ContainsFunc(shape.Prefix, func(element *repair.Shape) bool { return useful[element] })
}

// prune takes out what a shape leads to that is not useful.
func prune(shape *repair.Shape, useful map[*repair.Shape]bool) {
	if !useful[shape.Others] {
		shape.Others = nil
	}
	for name, member := range shape.Members {
		if shape.Others == nil && !useful[member] {
			delete(shape.Members, name)
		}
	}
	if !useful[shape.Elements] {
		shape.Elements = nil
	}
	left := shape.Elements != nil
	for i, element := range shape.Prefix {
		if !useful[element] {
			shape.Prefix[i] = nil
		}
		left = left || shape.Prefix[i] != nil
	}
	if !left {
		shape.Prefix = nil
	}
}
