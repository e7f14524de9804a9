package guard

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Bounds of a sentence, in bytes: what is longer is cut, and sentenceLength is that of a short one.
const (
	maxSentence    = 700
	sentenceLength = 60
)

// split cuts the text into sentences.
func (r *reading) split() {
	r.sentences = slices.Grow(r.sentences[:0], len(r.text)/sentenceLength+2)
	start, marks := 0, r.marks
	for i := 0; ; {
		for limit := min(len(r.text), start+maxSentence+1); i < limit && !mayClose[r.text[i]]; {
			i++
		}
		if i == len(r.text) {
			break
		}
		closed, size := boundary(r.text, i, start, r.language)
		if size == 0 {
			i++
			continue
		}
		marks = r.addSentence(start, i, marks, closed)
		i += size
		start = i
	}
	r.addSentence(start, len(r.text), marks, 0)
}

// mayClose are the bytes that a sentence may be closed by, or by what they begin.
var mayClose = [256]bool{
	'\n': true, '!': true, '?': true, tick: true, '.': true, 0xe3: true, 0xd8: true, 0xe0: true, 0xe2: true, 0xdb: true,
}

// boundary returns what closes a sentence at a place and its length, or 0.
func boundary(text []byte, i, start int, l *language) (closed byte, size int) {
	switch c := text[i]; c {
	case '\n', '!', '?':
		return c, 1
	case tick:
		return tick, 1
	case '.':
		inside := i+1 < len(text) && text[i+1] > ' ' && text[i+1] != ')'
		if inside || !l.english && isOrdinal(text, i) || isAbbreviation(text, i, start) {
			return 0, 0
		}
		return c, 1
	case 0xe3, 0xd8, 0xe0, 0xe2, 0xdb:
		switch char, n := utf8.DecodeRune(text[i:]); char {
		case '。', '।', '۔', '…':
			return '.', n
		case '؟':
			return '?', n
		}
	}
	if i-start > maxSentence && text[i] == ' ' {
		return '.', 1
	}
	return 0, 0
}

// isOrdinal reports whether the point at i belongs to a number: "am 3. Mai".
func isOrdinal(text []byte, i int) bool {
	from := i
	for from > 0 && isDigit(text[from-1]) {
		from--
	}
	return from < i && i-from <= 2 && (from == 0 || text[from-1] == ' ')
}

// maxAbbreviation is the length in bytes of the longest abbreviation that ends with a point within a sentence.
const maxAbbreviation = 6

// isAbbreviation reports whether the point at i ends one.
func isAbbreviation(text []byte, i, start int) bool {
	from := i
	for from > start && i-from <= maxAbbreviation && text[from-1] > ' ' && !isClauseEnd(text[from-1]) {
		from--
	}
	switch string(text[from:i]) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "vs", "approx",
		"nr", "hr", "ca", "bzw", "inkl", "str", "evtl",
		"m", "mme", "sr", "sra", "srta", "dra", "sig", "dott", "avv",
		"p", "ul", "godz", "им", "ул", "г", "вул", "mevr", "dhr",
		"z", "b", "e", "g", "i", "fa", "art", "s", "d":
		return true
	}
	return false
}

// addSentence adds a sentence, unless it is empty, and returns the marks behind it.
func (r *reading) addSentence(start, end int, marks []mark, closed byte) []mark {
	for start < end && (r.text[start] == ' ' || r.text[start] == '.') {
		start++
	}
	for end > start && r.text[end-1] == ' ' {
		end--
	}
	n := 0
	var roles role
	for n < len(marks) && marks[n].start < end {
		roles |= marks[n].roles
		n++
	}
	r.roles |= roles
	if start == end {
		if n := len(r.sentences); n > 0 && closed == '?' {
			r.sentences[n-1].closed = closed
		}
		return marks[n:]
	}
	if closed == '\n' && r.text[end-1] == ':' {
		closed = ':'
	}
	ticked := closed == tick || start > 0 && bytes.LastIndexByte(r.text[max(0, start-2):start], tick) >= 0
	r.sentences = append(r.sentences, sentence{r.text, start, end, marks[:n], r.language, roles, closed, ticked})
	return marks[n:]
}
