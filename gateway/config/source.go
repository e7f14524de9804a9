package config

import (
	"maps"
	"strconv"
	"strings"
)

// source remembers where the values of a Config were written. It is not changed
// after parsing.
type source struct {
	file  string
	marks map[path]mark
	// listen and admin are the addresses that were read, to tell one that a flag has
	// put in its place.
	listen, admin string
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
		p = p.parent()
	}
}

// show returns a value for a message. One that came from the environment is
// shown by the text that was expanded: it may be a secret in the wrong place.
func (s *source) show(p path, value string) string {
	if m := s.marks[p]; m.origin != "" && m.value == value {
		return "the value of " + quote(m.origin)
	}
	return quote(value)
}

// path leads to a value: keys with dots, others in brackets, as in
// models["Qwen/Qwen3"].targets[0].
type path string

func (p path) key(k string) path {
	if !isSimple(k) {
		return p + path("["+strconv.Quote(k)+"]")
	}
	if p == "" {
		return path(k)
	}
	return p + "." + path(k)
}

func (p path) at(i int) path { return p + path("["+strconv.Itoa(i)+"]") }

// parent returns the path without its last step. A quoted key cannot hold `["`,
// because quoting puts a backslash between the two.
func (p path) parent() path {
	text := string(p)
	end := strings.LastIndexByte(text, '.')
	if strings.HasSuffix(text, `"]`) {
		end = strings.LastIndex(text, `["`)
	} else if strings.HasSuffix(text, "]") {
		end = strings.LastIndexByte(text, '[')
	}
	return path(text[:max(end, 0)])
}

func isSimple(key string) bool {
	for i := range len(key) {
		if !isWord(key[i]) && key[i] != '-' {
			return false
		}
	}
	return key != ""
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
