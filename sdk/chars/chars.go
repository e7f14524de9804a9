// Package chars holds what parsers ask of bytes again and again: whether one is white
// space, where white space ends, where a string stops being plain. Compiled to WebAssembly by
// Go, a jump costs many times an addition, so that what reads long text reads eight bytes at
// a time.
package chars

import "math/bits"

// IsSpace tells JSON's white space.
func IsSpace(c byte) bool { return c <= ' ' && spaces>>c&1 == 1 }

const spaces = 1<<' ' | 1<<'\n' | 1<<'\t' | 1<<'\r'

// IsLetter tells ASCII letters.
func IsLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// IsDigit tells decimal digits.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// Hex is the value of a hexadecimal digit, or -1.
func Hex(c byte) int {
	switch {
	case IsDigit(c):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// Space is the place of the first byte of b[i:] that is no white space, or len(b).
func Space(b []byte, i int) int {
	for i < len(b) && IsSpace(b[i]) {
		i++
	}
	return i
}

// SkipSpace is b without the white space at its front.
func SkipSpace(b []byte) []byte { return b[Space(b, 0):] }

// TrimEnd is b without the white space at its end.
func TrimEnd(b []byte) []byte {
	for len(b) > 0 && IsSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// TrimSpace is b without the white space at its ends.
func TrimSpace(b []byte) []byte { return TrimEnd(SkipSpace(b)) }

// Blank reports whether b is nothing but white space.
func Blank(b []byte) bool { return Space(b, 0) == len(b) }

// HasWord reports whether b holds a letter, a digit or an underscore, or anything that is not
// ASCII: what is made of punctuation alone is no name.
func HasWord(b []byte) bool {
	for _, c := range b {
		if IsLetter(c) || IsDigit(c) || c == '_' || c >= 0x80 {
			return true
		}
	}
	return false
}

// A byte in all bytes of a word.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// Plain is the place of the first byte of b[i:] that a JSON string does not hold as it is,
// a quotation mark, a backslash or a control character, or len(b).
func Plain(b []byte, i int) int {
	for ; len(b)-i >= 8; i += 8 {
		if stops := unplain(load(b[i:])); stops != 0 {
			return i + bits.TrailingZeros64(stops)/8
		}
	}
	if i < len(b) && len(b) >= 8 {
		// The last eight bytes, and those that were looked at shifted out. What comes in for
		// them is 0, a control character.
		left := len(b) - i
		stops := unplain(load(b[len(b)-8:]) >> (8 * uint(8-left)))
		return i + min(left, bits.TrailingZeros64(stops)/8)
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// unplain has the high bit of the first byte set that is not plain, and perhaps those of
// later ones. A byte is below n, which is at most 0x80, if subtracting n from it borrows;
// only bytes behind the first that does can be wrong by the borrow.
func unplain(word uint64) uint64 {
	quote, backslash := word^ones*'"', word^ones*'\\'
	return ((word-ones*' ')&^word | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}

func load(b []byte) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}
