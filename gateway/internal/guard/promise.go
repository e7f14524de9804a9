package guard

// announcement is that of an act at the end of an answer.
type announcement struct {
	word    string
	actions actions
	things  things
	// waiting says that no verb is announced: "One moment."
	waiting bool
}

// lookBack is how many sentences from the end are searched for a promise, besides those
// that only close the answer.
const lookBack = 2

// promised finds what the end of an answer announces.
func (r *reading) promised() (announcement, bool) {
	left := lookBack
	var waits announcement
	for i := len(r.sentences) - 1; i >= 0 && left > 0; i-- {
		s := &r.sentences[i]
		if r.has(s, closing) || r.isBare(s) {
			continue
		}
		left--
		if s.closed == '?' {
			return announcement{}, false
		}
		switch p, ok := r.promiseOf(s); {
		case ok && !p.waiting:
			return p, true
		case ok:
			waits = p
		}
	}
	return waits, waits.waiting
}

// isBare reports whether a sentence has no word that is known, as a line of code has.
func (r *reading) isBare(s *sentence) bool { return s.first == s.last && s.end-s.start < 40 }

func (r *reading) promiseOf(s *sentence) (p announcement, ok bool) {
	begun := false
	for k := s.first; k < s.last; k++ {
		m := &r.marks[k]
		p.things = p.things.or(m.things)
		switch {
		case m.is(question):
			return p, false
		case m.is(hypothetical | negation):
			if p.actions == 0 {
				return p, false
			}
		case m.is(waiting):
			p.waiting = true
			p.word = string(r.text[m.start:m.end])
		case m.is(done) && !m.is(promise):
		case m.is(promise) && m.is(ask):
			begun, p.actions, p.word = true, p.actions|m.actions, string(r.text[m.start:m.end])
		case m.is(promise):
			begun = true
		case m.is(ask) && begun, m.is(doing) && (begun || r.opensSentence(s, k)):
			if p.actions == 0 || p.word == "" {
				p.word = string(r.text[m.start:m.end])
			}
			p.actions |= m.actions
			begun = true
		}
	}
	p.waiting = p.waiting && p.actions == 0
	return p, p.waiting || p.actions != 0
}

// opensSentence reports whether only adverbs and auxiliaries are before a mark: "Now I'm
// deleting".
func (r *reading) opensSentence(s *sentence, k int) bool {
	for i := k - 1; i >= s.first && r.adjacent(i, i+1); i-- {
		if !r.marks[i].is(adverb | common | frame | passive | and | finished | assent) {
			return false
		}
		k = i
	}
	return r.opensClause(r.marks[k].start)
}

// has reports whether a sentence has a mark of some roles.
func (r *reading) has(s *sentence, roles role) bool {
	for k := s.first; k < s.last; k++ {
		if r.marks[k].is(roles) {
			return true
		}
	}
	return false
}

func (r *reading) hasAny(roles role) bool {
	for i := range r.marks {
		if r.marks[i].is(roles) {
			return true
		}
	}
	return false
}
