package repair

import (
	"unicode/utf8"

	"github.com/callgate/callgate/sdk/chars"
)

// plain are the bytes that stand for themselves in any string of nearly JSON.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 0x80; c++ {
		t[c] = true
	}
	t['"'], t['\''], t['\\'] = false, false, false
	return t
}()

// unit is what a piece of a string is.
type unit uint8

const (
	unitOK     unit = iota
	unitCut         // more text is needed to tell
	unitUTF8        // not UTF-8
	unitHalf        // half of a surrogate pair
	unitEscape      // an escape that JSON has not, to the byte that is wrong
	unitOther       // a quote or a control character
)

// nextUnit measures what text, the inside of a string, begins with: a run of plain
// bytes, a character, an escape, or the two escapes of a surrogate pair. A string
// in pieces of units can be cut between any of them.
func nextUnit(text []byte) (n int, kind unit) {
	for n < len(text) && plain[text[n]] {
		n++
	}
	switch {
	case n > 0:
		return n, unitOK
	case text[0] == '\\':
		return escapeUnit(text)
	case text[0] < utf8.RuneSelf:
		return 1, unitOther
	case !utf8.FullRune(text):
		return 0, unitCut
	}
	r, n := utf8.DecodeRune(text)
	if r == utf8.RuneError && n == 1 {
		return 1, unitUTF8
	}
	return n, unitOK
}

// escapeUnit measures an escape.
func escapeUnit(text []byte) (n int, kind unit) {
	if len(text) < 2 {
		return 0, unitCut
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, unitOK
	case 'u':
	default:
		return 2, unitEscape
	}
	high, n, kind := hexUnit(text)
	switch {
	case kind != unitOK || high < 0xd800 || high > 0xdfff:
		return n, kind
	case high > 0xdbff:
		return n, unitHalf
	}
	low, _, kind := hexUnit(text[n:])
	switch {
	case kind == unitCut:
		return 0, unitCut
	case kind != unitOK || low < 0xdc00 || low > 0xdfff:
		return n, unitHalf
	}
	return 2 * n, unitOK
}

// hexUnit reads the \uXXXX that text begins with.
func hexUnit(text []byte) (r rune, n int, kind unit) {
	for i := range 6 {
		switch {
		case i == len(text):
			return 0, 0, unitCut
		case i < 2:
			if text[i] != `\u`[i] {
				return 0, i + 1, unitEscape
			}
		default:
			digit := chars.Hex(text[i])
			if digit < 0 {
				return 0, i + 1, unitEscape
			}
			r = r<<4 | rune(digit)
		}
	}
	return r, 6, unitOK
}
