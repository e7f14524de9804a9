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
var commonThings = thingsOf("product", "file", "database", "stock", "weather", "server")

// lookupKind is what tells of a question that nobody answers by heart.
type lookupKind struct {
	// about is what the answer is about.
	about things
	// numbered says that the user gave the number of a parcel and the like and that the
	// answer is of this moment, coded that he gave a code, and own that he asks for what is his.
	numbered, coded, own bool
}

func (j *judgement) lookupKind() lookupKind {
	k := lookupKind{about: j.text.about(), numbered: j.wish.numbered && j.text.hasAny(fresh), coded: j.wish.coded}
	k.own = j.wish.own && j.wish.asks && !j.wish.sums && !j.text.hasAny(hypothetical|question|hedge|content)
	for i := range j.tools.tools {
		k.coded = k.coded && !j.tools.tools[i].things.meets(commonThings)
	}
	return k
}

// points counts what of a question speaks for a tool.
func (k *lookupKind) points(wished *things, t *tool) int {
	wanted, told := wished.meets(t.things), k.about.meets(t.things)
	points := 2*count(wanted) + count(told) + 2*count(k.numbered && told)
	return points + 3*count(k.own && (wanted || told)) + 3*count(k.coded && (t.vague || t.actions&anything == 0))
}

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
