package guard

import "bytes"

// claim is a place of an answer that says that something was done.
type claim struct {
	word     string // the lexicon's word
	deed            // its things are what its sentence is about
	sentence int
	// firm says that the model speaks of itself, or in the passive, in a sentence that
	// has a verb. "Task deleted." is a claim as well, but so may be a heading.
	firm bool
	// state says that it tells how something is now: "The office is closed."
	state bool
	// general says that the claim names no action: "Done!"
	general bool
	// makes says that it is about something that the model makes in its answer: "I've
	// created a plan".
	makes bool
	// shown says that a block of code follows its sentence.
	shown bool
	// earlier says that it speaks of the time before.
	earlier bool
}

// looksUp reports whether only something that was found out is claimed.
func (c *claim) looksUp() bool {
	return c.actions&changes == 0 && c.actions&finds != 0 && !c.general
}

const (
	maxClaims = 32
	// maxElliptic is how many words a sentence without an auxiliary has at most: "Task
	// deleted."
	maxElliptic = 10
)

// claiming are the roles of words without one of which a sentence claims nothing: what isClaim asks for.
const claiming = done | finished | participle | ask

// findClaims finds what an answer claims, in a list without any that has room.
func findClaims(found []claim, r *reading, e *echo) []claim {
	for i := range r.sentences {
		if s := &r.sentences[i]; s.closed != '?' && s.has(claiming) {
			found = claimFinder{s, e}.find(found, i)
		}
		if len(found) >= maxClaims {
			return found[:maxClaims]
		}
	}
	return found
}

// claimFinder finds the claims of a sentence.
type claimFinder struct {
	*sentence
	echo *echo // what was claimed may be named in the user's words only
}

func (s claimFinder) find(found []claim, index int) []claim {
	from := len(found)
	var framed, framedState, begun bool
	for k := range s.marks {
		m := &s.marks[k]
		firm, state, ok := s.isClaim(k, framed)
		if !ok && (!begun || !m.is(participle) || !s.isJoined(k)) { // "Deleted the mails and blocked the sender."
			continue
		}
		begun = begun || m.is(participle)
		if framed && firm && s.isJoined(k) {
			state = state || framedState
		}
		framed, framedState = framed || firm, state
		c := claim{word: s.word(m), deed: m.deed, sentence: index, firm: firm, state: state}
		if m.actions == anything {
			c.actions = s.nounOf(k)
		}
		c.general = c.actions == 0 && c.verbs == 0
		found = append(found, c)
	}
	if from < len(found) {
		s.describe(found[from:])
	}
	return found
}

// describe adds to the claims of a sentence what the whole of it says.
func (s claimFinder) describe(claims []claim) {
	about, shown := s.about(), s.isShown()
	makes := s.has(content) && bytes.IndexByte(s.part(), fileName) < 0
	for i := range claims {
		c := &claims[i]
		c.things, c.makes, c.earlier, c.shown = about, makes, s.has(earlier), shown
	}
}

// isShown reports whether a sentence introduces a block of code, and no file is named.
func (s claimFinder) isShown() bool {
	if s.closed != ':' || bytes.IndexByte(s.part(), fileName) >= 0 {
		return false
	}
	rest := bytes.TrimLeft(s.text[s.end:min(len(s.text), s.end+8)], ": \n")
	return len(rest) > 0 && rest[0] == codeMark
}

// nounOf returns the action of the noun that a verb without a meaning of its own has:
// "hice el reembolso".
func (s claimFinder) nounOf(k int) actions {
	for i := k + 1; i < len(s.marks) && i < k+5; i++ {
		if m := &s.marks[i]; m.is(ask|participle) && m.actions&changes != 0 {
			return m.actions & changes
		}
	}
	return 0
}

// isClaim reports whether the mark at k claims something, firmly, and of a state.
func (s claimFinder) isClaim(k int, framed bool) (firm, state, ok bool) {
	m := &s.marks[k]
	switch {
	case m.is(done):
		return true, m.is(stated), s.isOpen(k)
	case m.is(finished) && (s.isHeading(m) || !m.is(participle) && s.isFinished(k)):
		return false, false, !s.isHeading(m) && s.isOpen(k)
	case s.isAble(k):
		return true, false, s.isOpen(k)
	case !m.is(participle):
		return false, false, false
	}
	if at := s.frameOf(k); at >= 0 {
		if s.isRelative(k, at) {
			return false, false, false
		}
		return true, !s.marks[at].is(frame), s.isOpen(at)
	}
	if framed && s.isJoined(k) {
		return true, false, true
	}
	return false, false, s.isElliptic(k) && s.isOpen(k) && !s.isDenied(k)
}

// isAble reports whether an auxiliary that ends in "to" is before a verb: "I was able to book".
func (s claimFinder) isAble(k int) bool {
	if !s.marks[k].is(ask) || !s.has(frame) {
		return false
	}
	i := k - 1
	for i >= 0 && s.adjacent(i, i+1) && s.marks[i].is(adverb) {
		i--
	}
	return i >= 0 && s.adjacent(i, i+1) && s.marks[i].is(frame) && bytes.HasSuffix(s.text[:s.marks[i].end], []byte(" to"))
}

// isFinished reports whether a word such as "done" is all that its clause says.
func (s claimFinder) isFinished(k int) bool {
	m := &s.marks[k]
	return s.closesSoon(m.end) && (s.opensClause(m.start) || s.isPhrase(m) && s.namesThing(k))
}

// isHeading reports whether a word such as "done" is a heading within the answer: "Done:
// the search page".
func (s claimFinder) isHeading(m *mark) bool {
	return s.start > 0 && m.end < len(s.text) && s.text[m.end] == ':'
}

// isRelative reports whether a verb and its auxiliary only say which one is meant: "rows
// that are deleted", "Zeilen, die gelöscht wurden".
func (s claimFinder) isRelative(k, at int) bool {
	if !s.language.clause {
		return at > 0 && s.adjacent(at-1, at) && s.marks[at-1].is(relative)
	}
	for i := k - 1; i >= 0; i-- {
		if s.marks[i].is(relative) && s.opensClause(s.marks[i].start) {
			return i > 0 && at > k
		}
	}
	return false
}

// isDenied reports whether a clause goes on to say what cannot be done: "an order already
// shipped can't be cancelled".
func (s claimFinder) isDenied(k int) bool {
	for i := k + 1; i < len(s.marks); i++ {
		switch m := &s.marks[i]; {
		case bytes.ContainsAny(s.text[s.marks[i-1].end:m.start], ",;:") || m.is(and):
			return false
		case m.is(negation | refusal):
			return true
		}
	}
	return false
}
