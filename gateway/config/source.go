package config

import (
	"fmt"
	"maps"
	"reflect"
	"strconv"

	"github.com/callgate/callgate/gateway/internal/yamldoc"
)

// source remembers where the values of a Config were written. It is not changed
// after parsing.
type source struct {
	file  string
	marks map[path]mark
	// listen and admin are the addresses that were read, to tell one that a flag has
	// put in its place.
	listen, admin string
	digest        string // of the file
}

// without returns a copy that has no place for p: the value there is another one
// by now, and the place would mislead.
func (s *source) without(p path) *source {
	out := *s
	out.marks = maps.Clone(s.marks)
	out.marks[p] = mark{}
	return &out
}

// mark is the place of a value.
type mark struct {
	line, col int
	// origin says where the value came from if part of it came from the
	// environment, to be shown in its place; value is what it was then.
	origin, value string
}

// find returns the mark of the value at p, or of the nearest one that holds it.
func (s *source) find(p path) mark {
	for {
		if m, ok := s.marks[p]; ok {
			return m
		}
		if p == "" {
			return mark{}
		}
		p = p.Parent()
	}
}

// show returns a value for a message. One that came from the environment is
// shown by the text that was expanded: it may be a secret in the wrong place.
func (s *source) show(p path, value string) string {
	if m := s.marks[p]; m.origin != "" && m.value == value {
		return "the value of " + yamldoc.Quote(m.origin)
	}
	return yamldoc.Quote(value)
}

// number writes a number, size or duration for a message, and what it came from where that is the environment.
func (s *source) number(p path, v reflect.Value) string {
	if m := s.marks[p]; m.origin != "" {
		return "the value of " + yamldoc.Quote(m.origin)
	}
	if v.Kind() == reflect.Float64 {
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

// path leads to a value.
type path = yamldoc.Path

// isNameByte reports whether a byte may stand in every sort of name: a letter, a digit or an
// underscore.
func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
