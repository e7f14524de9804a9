package guard

import (
	"bytes"
	"slices"
)

// reckons reports whether a text has numbers to reckon with: "18% of 240", "12 * 7". What
// an answer makes of them no tool has to bring.
func (r *reading) reckons() bool {
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

const (
	// codeLetters and codeDigits are how many letters a code has at most and how many
	// digits at least: "LX318", "F-2291".
	codeLetters, codeDigits = 3, 3
)

// commonThings are what tools are about that look up what many people know.
var commonThings = thingsOf("web", "product", "file", "code", "database", "repo", "note", "stock", "weather", "server")

// hasCode reports whether a text has the code of one thing, as flights, invoices and rooms
// have them: letters, and digits at the end.
func (r *reading) hasCode() (found bool) {
	seen := 0
	figures(r.text, func(figure []byte) bool {
		digits := 0
		for n := len(figure); digits < n && isDigit(figure[n-1-digits]); {
			digits++
		}
		letters := len(figure) - digits
		found = digits >= codeDigits && letters > 0 && letters <= codeLetters || digits > codeDigits && letters == 0 && r.followsCode(figure)
		seen++
		return !found && seen < maxFigures
	})
	return found
}

// deniesFirst reports whether an answer begins with "not yet" and ends with a question:
// then it tells what it has not done.
func (j *judgement) deniesFirst() bool {
	r := j.text
	if len(r.sentences) < 2 || j.asked() < 0 {
		return false
	}
	s := &r.sentences[0]
	return s.first < s.last && r.marks[s.first].start == s.start && r.marks[s.first].is(negation|failure|forbid)
}

// followsCode reports whether a number stands behind a word of a few letters that no
// lexicon has: "TER 8834".
func (r *reading) followsCode(number []byte) bool {
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
