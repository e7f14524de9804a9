package guard

import (
	"bytes"
	"unicode/utf8"
)

const (
	maxFigures = 12
	// minFigures is how many figures a look-up that was never made has to have invented
	// before it counts as one.
	minFigures = 1
)

// unsourced counts the figures of an answer, and the words with a digit in them, that are
// nowhere in the conversation, whose JSON is told. A model that was not given them and
// has called nothing has made them up, or knows them by heart.
func (r *reading) unsourced(told []byte) int {
	n, seen := 0, 0
	for i := 0; i < len(r.text) && seen < maxFigures; i++ {
		if !isWord(rune(r.text[i])) || r.text[i] >= utf8.RuneSelf {
			continue
		}
		end, digit := i, false
		for end < len(r.text) && (r.text[end] < utf8.RuneSelf && isWord(rune(r.text[end])) || isPoint(r.text, end)) {
			digit = digit || isDigit(r.text[end])
			end++
		}
		if digit {
			if seen++; !bytes.Contains(told, r.text[i:end]) {
				n++
			}
		}
		i = end
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isPoint reports whether a point, a comma or a colon is inside a number or a time.
func isPoint(text []byte, i int) bool {
	return (text[i] == '.' || text[i] == ',' || text[i] == ':') && i > 0 && isDigit(text[i-1]) && i+1 < len(text) && isDigit(text[i+1])
}
