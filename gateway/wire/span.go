// Package wire is bytes: places in JSON text, edits of it and their splice, JSON written
// by hand, and streams of server-sent events. What passes through the gateway stays the
// bytes that it came as; a caller finds the few places that matter, and splices what
// changes.
//
// Nothing here validates. Text that is no JSON gives ok false or a place that is within
// the text, never a panic, in time linear in what is read.
package wire

import "bytes"

// Span is the place of a value: text[Start:End].
type Span struct{ Start, End int }

// Of returns the spanned part of b.
func (s Span) Of(b []byte) []byte { return b[s.Start:s.End] }

// Empty reports whether the span holds nothing, as it does for a missing key.
func (s Span) Empty() bool { return s.End <= s.Start }

// Value returns the place of the value that begins at or after i, behind white
// space.
func Value(b []byte, i int) (Span, bool) {
	i = space(b, i)
	if i >= len(b) {
		return Span{}, false
	}
	var end int
	switch b[i] {
	case '"':
		end = stringEnd(b, i)
	case '{', '[':
		end = nestedEnd(b, i)
	default:
		end = i
		for end < len(b) && !ends[b[end]] {
			end++
		}
	}
	return Span{i, end}, end > i
}

// Members calls f for each member of the object that begins at i. key is the text
// between its quotes, escapes and all; the keys of the wire have none. It stops
// when f returns false. ok is false where the text is not an object.
func Members(b []byte, i int, f func(key []byte, value Span) bool) (ok bool) {
	c, stopped := cursor{b: b, i: i}, false
	ok = c.each('{', func(_ int, key []byte) bool {
		v := c.value()
		stopped = !v.Empty() && !f(key, v)
		return !v.Empty() && !stopped
	})
	return ok || stopped
}

// Elements calls f for each element of the array that begins at i, as Members
// does for an object.
func Elements(b []byte, i int, f func(n int, value Span) bool) (ok bool) {
	c, stopped := cursor{b: b, i: i}, false
	ok = c.each('[', func(n int, _ []byte) bool {
		v := c.value()
		stopped = !v.Empty() && !f(n, v)
		return !v.Empty() && !stopped
	})
	return ok || stopped
}

// Find returns the place of the object's member called key, or an empty span.
func Find(b []byte, object Span, key string) Span {
	var found Span
	Members(b[:object.End], object.Start, func(k []byte, v Span) bool {
		if string(k) == key {
			found = v
			return false
		}
		return true
	})
	return found
}

// IsNull reports whether the span is empty or holds null.
func (s Span) IsNull(b []byte) bool { return s.Empty() || b[s.Start] == 'n' }

// ends marks the bytes that end a number or a word.
var ends = [256]bool{' ': true, '\n': true, '\t': true, '\r': true, ',': true, '}': true, ']': true, ':': true, '"': true, '{': true, '[': true}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// Blank reports whether b is white space, if anything.
func Blank(b []byte) bool { return space(b, 0) == len(b) }

// stringEnd returns the place behind the closing quote of the string at i, or -1.
// It jumps from quote to quote: most of a chat is long strings.
func stringEnd(b []byte, i int) int {
	start := i + 1
	for at := start; ; {
		n := bytes.IndexByte(b[at:], '"')
		if n < 0 {
			return -1
		}
		quote := at + n
		slashes := 0
		for quote-slashes > start && b[quote-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return quote + 1
		}
		at = quote + 1
	}
}

// nestedEnd returns the place behind the object or array at i, or -1.
func nestedEnd(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := stringEnd(b, i)
			if end < 0 {
				return -1
			}
			i = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// Depth returns how deep the text nests at most, counting the outermost value as
// 1, and where a nesting deeper than limit begins, or -1.
func Depth(b []byte, limit int) (depth, at int) {
	deepest := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := stringEnd(b, i)
			if end < 0 {
				return deepest, -1
			}
			i = end - 1
		case '{', '[':
			if depth++; depth > limit {
				return depth, i
			}
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest, -1
}
