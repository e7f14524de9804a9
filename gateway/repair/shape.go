package repair

import "github.com/callgate/callgate/sdk/abi"

// Shape is what a schema says of the types inside a value, at any depth. It may lead back to itself,
// as schemas do, and is not changed once it is made. A nil Shape says nothing.
type Shape struct {
	// Types are those of the value itself; 0 is any.
	Types abi.Types
	// Members are those of an object that are themselves, or hold, what can be given a type.
	Members map[string]*Shape
	// Others are those of an object that no name of Members is, nil if nothing in them can be given a
	// type. Where it is not, Members has all names.
	Others *Shape
	// Prefix are the first elements of an array, where each has a shape of its own.
	Prefix []*Shape
	// Elements are those of an array behind Prefix, nil if nothing in them can be given a type.
	Elements *Shape
}

// Typed reports whether a string in the place of the value can be given another type.
func (s *Shape) Typed() bool { return s != nil && excludesString(s.Types) }

// inside reports whether there is something to be seen in a value that begins with a byte.
func (s *Shape) inside(first byte) bool {
	switch {
	case s == nil:
		return false
	case first == '[':
		return s.Elements != nil || len(s.Prefix) > 0
	}
	return len(s.Members) > 0 || s.Others != nil
}

// element is the shape of the nth element of an array.
func (s *Shape) element(n int) *Shape {
	if n < len(s.Prefix) {
		return s.Prefix[n]
	}
	return s.Elements
}
