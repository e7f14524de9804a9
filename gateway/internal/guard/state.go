package guard

import "slices"

// Acts are told as states as well: "Biscuit's booster now sits on Tuesday", "Melk en
// eieren staan op je lijstje". No verb says what was done, so that such a sentence counts
// only as the answer to a request, if it repeats what the request is about.

// weighStates weighs sentences that tell how something is now, where the user has asked for
// what makes it so, and no call has told it.
func weighStates(to *reasons, by *actWeigher, owed *tool) {
	r, w := by.answer, by.wish
	if len(by.turn.calls) > 0 || to.has(SignalClaimTool, owedWeight) {
		return
	}
	if w.holdsBack() || w.composes || w.reported != 0 || w.actions&(changes|anything) == 0 && !by.answersPlain() {
		return
	}
	if r.hasAny(refusal|failure|guide) || asksBack(r, w.things) {
		return
	}
	for i := range r.sentences {
		if word, ok := stateOf(&r.sentences[i], by.echo); ok {
			by.weigh(to, &claim{word: word, sentence: i, firm: true, state: true, general: true}, "", owed)
			return
		}
	}
}

// asksBack reports whether an answer asks the user something about what he wants, but for what closes it
// and offers of something else.
func asksBack(r *reading, wanted things) bool {
	return slices.ContainsFunc(r.sentences, func(s sentence) bool { return asksAbout(&s, wanted) })
}

func asksAbout(s *sentence, wanted things) bool {
	switch {
	case s.has(closing), s.closed != '?' && !s.has(question):
		return false
	case s.closed != '?' && s.has(hypothetical): // "If you'd like, I can draft it as well."
		return false
	}
	about := s.about()
	if about.none() || about.meets(wanted) {
		return true
	}
	return !slices.ContainsFunc(s.marks, func(m mark) bool { return m.is(ask|doing) && m.actions&changes != 0 })
}

// stateOf returns the word by which a sentence tells a state that the user has asked for.
func stateOf(s *sentence, e *echo) (word string, ok bool) {
	if s.closed == '?' || s.closed == ':' || s.has(hypothetical|question|hedge|waiting|veto) || isInstruction(s) {
		return "", false
	}
	if _, announced := promiseOf(s); announced {
		return "", false
	}
	repeated := e.repeats(s.part())
	if repeated == 0 {
		return "", false
	}
	most := repeated > 1 && repeated >= len(e.words)-1
	for k := range s.marks {
		m := &s.marks[k]
		if (m.is(stated) || most && m.is(passive)) && s.isOpen(k) {
			return s.word(m), true
		}
	}
	return "", false
}
