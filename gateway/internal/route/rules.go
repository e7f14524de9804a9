package route

import (
	"net/textproto"
	"slices"
)

// Condition is what a rule asks of a request. All that is set must hold; the zero value
// holds always.
type Condition struct {
	// Metadata are the values, one of which a member of the request's metadata must have.
	// They may be patterns.
	Metadata map[string][]string
	// Headers are the same for the client's headers, whose names have no case.
	Headers map[string][]string
	// Languages are those, one of which the request must be in, as package language has
	// them.
	Languages []string
	// Tools says whether tools must be offered, or must not.
	Tools Answer
	// Stream says whether a stream must be asked for, or must not.
	Stream Answer
	// MinSize and MaxSize are bounds on the bytes of the request's body, both included;
	// MaxSize 0 is none.
	MinSize, MaxSize int
}

// Answer is yes or no, or of no matter.
type Answer int

// The answers.
const (
	Either Answer = iota
	Yes
	No
)

// agrees reports whether the answer is what is.
func (a Answer) agrees(is bool) bool { return a == Either || (a == Yes) == is }

// Facts is what there is to know of a request. The gateway implements it over the
// client's bytes. What costs most is asked last.
type Facts interface {
	// Shape is what costs nothing to know.
	Shape() Shape
	// Header returns the values of a header, by its canonical name.
	Header(name string) []string
	// Metadata returns a member of the metadata; ok is false if it is no text.
	Metadata(key string) (value string, ok bool)
	// Language is the language that the request is in, or "" if nobody can tell.
	Language() string
}

// Shape is how a request looks from outside.
type Shape struct {
	Tools, Stream bool
	Size          int
}

// Rules are the conditions of an entry's rules, made ready. They are not changed, and safe
// for concurrent use.
type Rules struct {
	conditions []condition
	keys       []string
	languages  bool
}

// condition is a Condition made ready.
type condition struct {
	Condition
	headers, metadata []choice
}

// choice is a name, and the patterns of which one must fit what it has.
type choice struct {
	name string
	any  []Glob
}

func (c choice) holds(value string) bool {
	return slices.ContainsFunc(c.any, func(g Glob) bool { return g.Match(value) })
}

// NewRules makes conditions ready, in the order in which they are tried.
func NewRules(conditions []Condition) *Rules {
	r := &Rules{}
	for _, in := range conditions {
		c := condition{Condition: in}
		for name, values := range in.Headers {
			c.headers = append(c.headers, newChoice(textproto.CanonicalMIMEHeaderKey(name), values))
		}
		for key, values := range in.Metadata {
			c.metadata = append(c.metadata, newChoice(key, values))
			r.keys = append(r.keys, key)
		}
		r.languages = r.languages || len(in.Languages) > 0
		r.conditions = append(r.conditions, c)
	}
	slices.Sort(r.keys)
	r.keys = slices.Compact(r.keys)
	return r
}

func newChoice(name string, values []string) choice {
	c := choice{name: name}
	for _, v := range values {
		c.any = append(c.any, NewGlob(v))
	}
	return c
}

// Keys are the members of the metadata that some rule asks for, sorted.
func (r *Rules) Keys() []string { return r.keys }

// Languages reports whether some rule asks for the language.
func (r *Rules) Languages() bool { return r.languages }

// First returns the place of the first condition that holds, or -1.
func (r *Rules) First(f Facts) int {
	shape := f.Shape()
	for i := range r.conditions {
		if r.conditions[i].holds(f, shape) {
			return i
		}
	}
	return -1
}

func (c *condition) holds(f Facts, s Shape) bool {
	if !c.Tools.agrees(s.Tools) || !c.Stream.agrees(s.Stream) || s.Size < c.MinSize || c.MaxSize > 0 && s.Size > c.MaxSize {
		return false
	}
	for _, h := range c.headers {
		if !slices.ContainsFunc(f.Header(h.name), h.holds) {
			return false
		}
	}
	for _, m := range c.metadata {
		if value, ok := f.Metadata(m.name); !ok || !m.holds(value) {
			return false
		}
	}
	return len(c.Languages) == 0 || slices.Contains(c.Languages, f.Language())
}
