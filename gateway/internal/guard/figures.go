package guard

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// maxFigures bounds how many figures are compared.
const maxFigures = 12

// unsourced counts the figures of an answer, and the words with a digit in them, that are
// nowhere in the conversation, whose JSON is told. A model that was not given them and
// has called nothing has made them up, or knows them by heart.
func (r *reading) unsourced(told []byte) (n int) {
	seen := 0
	figures(r.text, func(figure []byte) bool {
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

// isPoint reports whether a point, a comma or a colon is inside a number or a time.
func isPoint(text []byte, i int) bool {
	return (text[i] == '.' || text[i] == ',' || text[i] == ':') && i > 0 && isDigit(text[i-1]) && i+1 < len(text) && isDigit(text[i+1])
}

func isWordByte(c byte) bool { return c < utf8.RuneSelf && wordBytes[c] }

// unsourced weighs figures that a look-up would have brought, by what tells that one was
// wanted.
func (j *judgement) unsourced() {
	if len(j.turn) > 0 || len(j.earlier()) > 0 || j.figures == 0 || j.offersToLook() {
		return
	}
	points, kind := j.lookupPoints(), j.lookupKind()
	best, name := 0, ""
	for i := range j.tools.tools {
		t := &j.tools.tools[i]
		if t.actions&(finds|anything) == 0 {
			continue
		}
		switch p := points + kind.points(&j.wish.things, t); {
		case p > best:
			best, name = p, t.name
		case p == best:
			name = ""
		}
	}
	if weight := unsourcedWeights[min(best, len(unsourcedWeights)-1)]; weight > 0 {
		j.add(SignalUnsourced, weight, name)
		j.prefer(name, weight)
	}
}

// offersToLook reports whether an answer asks at its end whether something is to be looked up.
func (j *judgement) offersToLook() bool {
	at := j.asked()
	if at < 0 {
		return false
	}
	s := &j.text.sentences[at]
	for k := s.first; k < s.last; k++ {
		if m := &j.text.marks[k]; m.is(ask) && m.actions&^anything == finds && s.has(question) {
			return true
		}
	}
	return false
}

// unsourcedWeights are the weights of unsourced figures, by points.
var unsourcedWeights = []float64{0, 0, 0.2, 0.4, 0.6, 0.64, 0.75}

// lookupPoints counts what speaks for a look-up that was left out, whatever the tool: the
// more figures the more, a question, and words of this moment. General knowledge and a
// text that was wanted speak against it.
func (j *judgement) lookupPoints() int {
	asks, n := j.wish.actions&finds != 0, j.figures
	points := count(n > 1) + 2*count(n > 4) + count(n > 7) + count(asks) + count(j.wish.fresh) + count(j.text.hasAny(fresh)) -
		2*count(j.text.hasAny(hedge)) - count(j.wish.actions&changes != 0) - count(j.wish.askedBack && !j.wish.fresh && n <= 4)
	points -= 3 * count(j.wish.sums || j.deniesFirst())
	points -= 2*count(j.wish.composes) + 2*count(!j.wish.asks && j.wish.reported != 0)
	points += 3 * count(j.wish.terse && len(j.text.sentences) <= 3)
	if !asks && len(j.text.sentences) > 0 && j.text.sentences[0].has(content) {
		points -= 2
	}
	return points
}

// Bounds of what a user writes who leaves out what everybody knows that he means.
const (
	terseWords   = 2 // or characters more, in a script without spaces
	longNumber   = 6 // bytes of a number that stands for one parcel or one order
	numberDigits = 5
)

// hasNumber reports whether a text has a number as parcels, orders and customers have
// one. What is said of such a thing nobody knows by heart.
func (r *reading) hasNumber() (found bool) {
	seen := 0
	figures(r.text, func(figure []byte) bool {
		digits := 0
		for _, c := range figure {
			digits += count(isDigit(c))
		}
		found = len(figure) >= longNumber && digits >= numberDigits && !bytes.ContainsAny(figure, ",.:")
		seen++
		return !found && seen < maxFigures
	})
	return found
}

// isTerse reports whether a message is a question of a word or two that names a thing and
// no more, and no figure: "temperature?". What it is about is here and now.
func (r *reading) isTerse() bool {
	if len(r.sentences) != 1 {
		return false
	}
	s := &r.sentences[0]
	if s.closed != '?' || !s.has(object) || nextDigit(r.text, 0) < len(r.text) {
		return false
	}
	words := r.wordCount(s)
	for i, c := range string(r.text[s.start:s.end]) {
		if isUnspaced(c) && i > 0 {
			words++
		}
	}
	return words <= terseWords
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
