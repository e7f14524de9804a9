package guard

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// maxFigures bounds how many figures are compared.
const maxFigures = 12

// countUnsourced counts the figures of a text, and the words with a digit in them, that are
// nowhere in the conversation, whose JSON is told. A model that was not given them and
// has called nothing has made them up, or knows them by heart.
func countUnsourced(text, told []byte) (n int) {
	seen := 0
	figures(text, func(figure []byte) bool {
		if !containsWord(told, figure) {
			n++
		}
		seen++
		return seen < maxFigures
	})
	return n
}

// sharesFigure reports whether a figure of a text is in another.
func sharesFigure(of, text []byte) (shared bool) {
	seen := 0
	figures(of, func(figure []byte) bool {
		shared = shared || containsWord(text, figure)
		seen++
		return !shared && seen < maxFigures
	})
	return shared
}

// containsWord reports whether a figure stands in a text and not inside another word.
func containsWord(text, figure []byte) bool {
	for {
		at := bytes.Index(text, figure)
		if at < 0 {
			return false
		}
		end := at + len(figure)
		if (at == 0 || !isWordByte(text[at-1])) && (end == len(text) || !isWordByte(text[end])) {
			return true
		}
		text = text[end:]
	}
}

// figures calls f for the words with a digit in them, until it returns false.
func figures(text []byte, f func(figure []byte) bool) {
	for i := nextDigit(text, 0); i < len(text); i = nextDigit(text, i+1) {
		start, end := i, i
		for start > 0 && isFigure(text, start-1) {
			start--
		}
		for end < len(text) && isFigure(text, end) {
			end++
		}
		if !f(text[start:end]) {
			return
		}
		i = end
	}
}

// nextDigit is the place of the first digit from a place on, or the length of the text. Most texts have
// few: eight bytes at a time are passed over that have none.
func nextDigit(text []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(text); i += 8 {
		// Bytes from 0 to ? become 0, and the second line tells whether one of the eight is 0.
		tens := (binary.LittleEndian.Uint64(text[i:]) ^ '0'*ones) & (0xf0 * ones)
		if (tens-ones)&^tens&highs != 0 {
			for k := i; k < i+8; k++ {
				if isDigit(text[k]) {
					return k
				}
			}
		}
	}
	for i < len(text) && !isDigit(text[i]) {
		i++
	}
	return i
}

// isFigure reports whether a byte is part of a word with digits.
func isFigure(text []byte, i int) bool {
	return isWordByte(text[i]) || isPoint(text, i)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func countDigits(figure []byte) (n int) {
	for _, c := range figure {
		n += count(isDigit(c))
	}
	return n
}

// isPoint reports whether a point, a comma or a colon is inside a number or a time.
func isPoint(text []byte, i int) bool {
	return (text[i] == '.' || text[i] == ',' || text[i] == ':') && i > 0 && isDigit(text[i-1]) && i+1 < len(text) && isDigit(text[i+1])
}

func isWordByte(c byte) bool { return c < utf8.RuneSelf && wordBytes[c] }

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
