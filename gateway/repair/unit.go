package repair

import (
	"bytes"
	"unicode/utf8"
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
			digit := hexDigit(text[i])
			if digit < 0 {
				return 0, i + 1, unitEscape
			}
			r = r<<4 | digit
		}
	}
	return r, 6, unitOK
}

// hexDigit is the value of a hexadecimal digit, or -1.
func hexDigit(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// isNumber reports whether b is a number of JSON.
func isNumber(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte{'-'})
	whole, rest := digits(b)
	if len(whole) == 0 || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	if len(rest) > 0 && rest[0] == '.' {
		fraction, behind := digits(rest[1:])
		if rest = behind; len(fraction) == 0 {
			return false
		}
	}
	if len(rest) > 0 && rest[0]|0x20 == 'e' {
		if rest = rest[1:]; len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		exponent, behind := digits(rest)
		if rest = behind; len(exponent) == 0 {
			return false
		}
	}
	return len(rest) == 0
}

// digits cuts b behind the digits that it begins with.
func digits(b []byte) (head, rest []byte) {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return b[:n], b[n:]
}
