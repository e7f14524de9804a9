package guard

import "slices"

// announcement is that of an act at the end of an answer.
type announcement struct {
	word string
	deed
	// waiting says that no verb is announced: "One moment."
	waiting bool
	// outright says that it has a word such as "I'll". A verb alone may be a noun: "Booking".
	outright bool
}

// lookBack is how many sentences from the end are searched for a promise, besides those
// that only close the answer.
const lookBack = 2

// maxWaiting is how many words a sentence has at most that only says "one moment".
const maxWaiting = 9

// promised finds what the end of an answer announces.
func promised(r *reading) (found []announcement) {
	left := lookBack
	for i := len(r.sentences) - 1; i >= 0 && left > 0; i-- {
		s := &r.sentences[i]
		if closes(s) || isBare(s) {
			continue
		}
		left--
		if s.closed == '?' {
			return found
		}
		if p, ok := promiseOf(s); ok {
			found = append(found, p)
		}
	}
	return found
}

// closes reports whether a sentence only closes the answer.
func closes(s *sentence) bool {
	return s.has(closing) && slices.ContainsFunc(s.marks, func(m mark) bool { return m.is(closing) && !s.isInterjection(&m) })
}

// isBare reports whether a sentence has no word that is known, as a line of code has.
func isBare(s *sentence) bool { return len(s.marks) == 0 && s.end-s.start < 40 }

// promiseOf reads an announcement from a sentence. What speaks against it counts only
// before its verb: "I'll send it as soon as it is ready" is one.
func promiseOf(s *sentence) (p announcement, ok bool) {
	begun := false
	for k := range s.marks {
		m := &s.marks[k]
		p.things = p.things.or(m.things)
		switch {
		case takesBack(s, m):
			if m.is(question) || !p.begins() {
				return p, false
			}
		case m.is(waiting) && (begun || onlyWaits(s, k)):
			p.waiting, p.word = true, s.word(m)
		case m.is(promise) && !m.is(ask):
			begun, p.outright = true, true
		case m.is(promise) || isPromised(s, k, begun):
			begun, p.outright = true, p.outright || !m.is(doing)
			p.take(m, s.word(m))
		}
	}
	p.waiting = p.waiting && !p.acts()
	return p, p.begins()
}

// onlyWaits reports whether a short sentence begins with a word such as "one moment".
func onlyWaits(s *sentence, k int) bool {
	return s.wordCount() <= maxWaiting && s.opensSentence(k)
}

// takesBack reports whether a word takes an announcement back: "I could", but not the
// first word of "Gern, ich storniere es".
func takesBack(s *sentence, m *mark) bool {
	return m.is(question|negation) || m.is(hypothetical) && !s.isInterjection(m)
}

func (p *announcement) take(m *mark, word string) {
	p.actions |= m.actions
	p.verbs |= m.verbs
	if p.word == "" {
		p.word = word
	}
}

// begins reports whether something is announced.
func (p *announcement) begins() bool { return p.waiting || p.acts() }

// acts reports whether an announcement has a verb.
func (p *announcement) acts() bool { return p.actions != 0 || p.verbs != 0 }

// isPromised reports whether the verb at k is announced: behind "I'll", beside "I", or in
// a form that says so by itself.
func isPromised(s *sentence, k int, begun bool) bool {
	m := &s.marks[k]
	if m.is(done) || !begun && m.is(doing) && s.isNoun(k) { // "the booking"
		return false
	}
	if m.is(ask) && (begun || besideSelf(s, k)) {
		return true
	}
	return m.is(doing) && (begun || s.opensSentence(k) && !goesOn(s, k) || s.language.final && s.endsClause(k))
}

// maxLead is the length in bytes of what may stand before an announcement: "Got it, sending now."
const maxLead = 24

// goesOn reports whether a verb only goes on with a longer sentence: "It is free, making it easy".
func goesOn(s *sentence, k int) bool {
	at := s.marks[k].start
	for at > s.start && s.text[at-1] == ' ' {
		at--
	}
	return at-s.start > maxLead && s.text[at-1] == ','
}

// besideSelf reports whether a verb stands beside "I", where one of them opens its clause.
func besideSelf(s *sentence, k int) bool {
	if k > 0 && s.adjacent(k-1, k) && s.marks[k-1].is(self) {
		return s.opensSentence(k - 1)
	}
	return k+1 < len(s.marks) && s.adjacent(k, k+1) && s.marks[k+1].is(self) && s.opensSentence(k)
}
