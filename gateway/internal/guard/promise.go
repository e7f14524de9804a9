package guard

// announcement is that of an act at the end of an answer.
type announcement struct {
	word    string
	actions actions
	verbs   uint64
	things  things
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
func (r *reading) promised() (found []announcement) {
	left := lookBack
	for i := len(r.sentences) - 1; i >= 0 && left > 0; i-- {
		s := &r.sentences[i]
		if r.closes(s) || r.isBare(s) {
			continue
		}
		left--
		if s.closed == '?' {
			return found
		}
		if p, ok := r.promiseOf(s); ok {
			found = append(found, p)
		}
	}
	return found
}

// closes reports whether a sentence only closes the answer.
func (r *reading) closes(s *sentence) bool {
	for k := s.first; k < s.last; k++ {
		if m := &r.marks[k]; m.is(closing) && !r.isInterjection(s, m) {
			return true
		}
	}
	return false
}

// isBare reports whether a sentence has no word that is known, as a line of code has.
func (r *reading) isBare(s *sentence) bool { return s.first == s.last && s.end-s.start < 40 }

// promiseOf reads an announcement from a sentence. What speaks against it counts only
// before its verb: "I'll send it as soon as it is ready" is one.
func (r *reading) promiseOf(s *sentence) (p announcement, ok bool) {
	begun := false
	for k := s.first; k < s.last; k++ {
		m := &r.marks[k]
		p.things = p.things.or(m.things)
		switch {
		case r.holdsBack(s, m):
			if m.is(question) || !p.begins() {
				return p, false
			}
		case m.is(waiting) && (begun || r.onlyWaits(s, k)):
			p.waiting, p.word = true, r.word(m)
		case m.is(promise) && !m.is(ask):
			begun, p.outright = true, true
		case m.is(promise) || r.isPromised(s, k, begun):
			begun, p.outright = true, p.outright || !m.is(doing)
			p.take(m, r.word(m))
		}
	}
	p.waiting = p.waiting && !p.acts()
	return p, p.begins()
}

// onlyWaits reports whether a short sentence begins with a word such as "one moment".
func (r *reading) onlyWaits(s *sentence, k int) bool {
	return r.wordCount(s) <= maxWaiting && r.opensSentence(s, k)
}

// holdsBack reports whether a word takes an announcement back: "I could", but not the
// first word of "Gern, ich storniere es".
func (r *reading) holdsBack(s *sentence, m *mark) bool {
	return m.is(question|negation) || m.is(hypothetical) && !r.isInterjection(s, m)
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
func (r *reading) isPromised(s *sentence, k int, begun bool) bool {
	m := &r.marks[k]
	if m.is(done) || !begun && m.is(doing) && r.isNoun(s, k) { // "the booking"
		return false
	}
	if m.is(ask) && (begun || r.besideSelf(s, k)) {
		return true
	}
	return m.is(doing) && (begun || r.opensSentence(s, k) && !r.goesOn(s, k) || r.language.final && r.endsClause(s, k))
}

// maxLead is the length in bytes of what may stand before an announcement: "Got it, sending now."
const maxLead = 24

// goesOn reports whether a verb only goes on with a longer sentence: "It is free, making it easy".
func (r *reading) goesOn(s *sentence, k int) bool {
	at := r.marks[k].start
	for at > s.start && r.text[at-1] == ' ' {
		at--
	}
	return at-s.start > maxLead && r.text[at-1] == ','
}

// besideSelf reports whether a verb stands beside "I", where one of them opens its clause.
func (r *reading) besideSelf(s *sentence, k int) bool {
	if k > s.first && r.adjacent(k-1, k) && r.marks[k-1].is(self) {
		return r.opensSentence(s, k-1)
	}
	return k+1 < s.last && r.adjacent(k, k+1) && r.marks[k+1].is(self) && r.opensSentence(s, k)
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
func (s *sentence) has(roles role) bool { return s.roles&roles != 0 }

func (r *reading) howMany(roles role) (n int) {
	for i := range r.marks {
		n += count(r.marks[i].is(roles))
	}
	return n
}

// hasAny reports whether a text that was cut into sentences has a mark of some roles.
func (r *reading) hasAny(roles role) bool { return r.roles&roles != 0 }

// promises weighs what the end of the answer announces.
func (j *judgement) promises() {
	if j.wish.forbids {
		return
	}
	changed, acts := j.ledger.Changed(), j.acts()
	for _, p := range j.text.promised() {
		best := 0.0
		for i := range j.tools.tools {
			t := &j.tools.tools[i]
			if changed && (!p.outright || !j.isOutstanding(t, acts)) {
				continue // "Booking was successful."
			}
			if w := j.keeps(t, &p); w > 0 {
				best = max(best, w)
				j.prefer(t.name, w)
			}
		}
		if best > 0 {
			j.add(SignalPromise, best, p.word)
		}
	}
}

// isOutstanding reports whether the user asks for what a tool does, besides what was done.
func (j *judgement) isOutstanding(t *tool, done actions) bool {
	if t.vague {
		return j.wish.joins && t.actions&done != 0
	}
	return !j.isCalled(t.name) && j.wish.actions&^done&t.actions != 0
}

// keeps says how well a tool fits an announcement, between 0 and 1.
func (j *judgement) keeps(t *tool, p *announcement) float64 {
	asked := j.wish.wants(t)
	same := p.things.meets(t.things) || j.wish.things.meets(t.things)
	switch {
	case p.waiting:
		return p.waits(asked, same)
	case !p.outright && !asked: // "Disabling him keeps it."
		return 0
	case p.verbs&t.verbs != 0:
		return 0.83
	case !p.isDoneBy(t, same):
		return 0
	case asked && same:
		return 0.85
	case len(j.turn) > 0 && !p.outright: // "It is free, making it easy to start."
		return 0.6
	case asked || same:
		return 0.75
	case len(j.turn) > 0: // in the middle of work an announcement is no courtesy
		return 0.72
	}
	return 0.6
}

// waits says how well a tool that was asked for, or is about the same, fits "one moment".
func (p *announcement) waits(asked, same bool) float64 {
	switch {
	case asked && same:
		return 0.83
	case asked:
		return 0.7
	}
	return 0.5
}

// wants reports whether a message asks for an action of a tool. One whose name does not say
// what it does may do any.
func (w *wish) wants(t *tool) bool {
	return w.actions&t.actions != 0 || t.vague && w.actions != 0
}

// isDoneBy reports whether a tool may do what is announced.
func (p *announcement) isDoneBy(t *tool, same bool) bool {
	return t.actions&(p.actions|anything) != 0 || same && p.actions&making != 0 && t.actions&making != 0
}
