// Package plaintext makes the text of somebody else (a client, a model, an upstream, a plugin)
// fit to be shown: short, and in one line. Use Excerpt in a message, Head for a name that is
// compared or counted, and Line before anything goes to a terminal or into a log.
package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Excerpt is the beginning of s of at most limit bytes, with "…" behind it if there is more.
func Excerpt(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return Head(s, limit) + "…"
}

// Head is the beginning of s of at most limit bytes. It does not end in half a character.
func Head(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}

// Ends is s, of which only the beginning and the end are left if it is longer than limit: edge
// bytes each, and a line break between them.
func Ends[T string | []byte](s T, limit, edge int) string {
	if len(s) <= limit {
		return string(s)
	}
	head, tail := edge, len(s)-edge
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return string(s[:head]) + "\n" + string(s[tail:])
}

// Line is s in one line: a control character, which could also steer a terminal, becomes a
// space.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
