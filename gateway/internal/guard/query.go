package guard

import (
	"bytes"
	"slices"
)

// What the figures of a message tell of what it asks for.

// reckons reports whether a text has numbers to reckon with: "18% of 240", "12 * 7". What
// an answer makes of them no tool has to bring.
func reckons(r *reading) bool {
	numbers := 0
	sign := false
	for i := 0; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case isDigit(c) && (i == 0 || !isFigure(r.text, i-1)):
			numbers++
		case c == '%', (c == '+' || c == '/') && i > 0 && r.text[i-1] == ' ':
			sign = sign || numbers > 0
		}
	}
	return sign && numbers > 1
}

// Bounds of what a user writes who leaves out what everybody knows that he means.
const (
	terseWords   = 2 // or characters more, in a script without spaces
	longNumber   = 6 // bytes of a number that stands for one parcel or one order
	numberDigits = 5
)

// hasNumber reports whether a text has a number as parcels, orders and customers have
// one. What is said of such a thing nobody knows by heart.
func hasNumber(r *reading) (found bool) {
	seen := 0
	figures(r.text, func(figure []byte) bool {
		found = len(figure) >= longNumber && countDigits(figure) >= numberDigits && !bytes.ContainsAny(figure, ",.:")
		seen++
		return !found && seen < maxFigures
	})
	return found
}

// isTerse reports whether a message is a question of a word or two that names a thing and
// no more, and no figure: "temperature?". What it is about is here and now.
func isTerse(r *reading) bool {
	if len(r.sentences) != 1 {
		return false
	}
	s := &r.sentences[0]
	if s.closed != '?' || !s.has(object) || nextDigit(r.text, 0) < len(r.text) {
		return false
	}
	words := s.wordCount()
	for i, c := range string(s.part()) {
		if isUnspaced(c) && i > 0 {
			words++
		}
	}
	return words <= terseWords
}

const (
	// codeLetters and codeDigits are how many letters a code has at most and how many
	// digits at least: "LX318", "F-2291".
	codeLetters, codeDigits = 3, 3
)

// hasCode reports whether a text has the code of one thing, as flights, invoices and rooms
// have them: letters, and digits at the end.
func hasCode(r *reading) (found bool) {
	seen := 0
	figures(r.text, func(figure []byte) bool {
		digits := 0
		for n := len(figure); digits < n && isDigit(figure[n-1-digits]); {
			digits++
		}
		letters := len(figure) - digits
		found = digits >= codeDigits && letters > 0 && letters <= codeLetters || digits > codeDigits && letters == 0 && followsCode(r, figure)
		seen++
		return !found && seen < maxFigures
	})
	return found
}

// followsCode reports whether a number stands behind a word of a few letters that no
// lexicon has: "TER 8834".
func followsCode(r *reading, number []byte) bool {
	at := bytes.Index(r.text, number)
	if at < 2 || r.text[at-1] != ' ' {
		return false
	}
	from := at - 1
	for from > 0 && isWordByte(r.text[from-1]) {
		from--
	}
	letters := at - 1 - from
	known := slices.ContainsFunc(r.marks, func(m mark) bool { return m.start <= from && from < m.end })
	return letters > 1 && letters <= codeLetters && !known
}
