package guard

import "bytes"

// claim is a place of an answer that says that something was done.
type claim struct {
	word     string // the lexicon's word
	actions  actions
	verbs    uint64 // verbs in the names of this request's tools
	things   things // what its sentence is about
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
	// left is a tool that was called for one of the things that it names, and not for
	// another.
	left string
}

// looksUp reports whether only something that was found out is claimed.
func (c *claim) looksUp() bool {
	return c.actions&changes == 0 && c.actions&finds != 0 && !c.general
}

const (
	maxClaims = 32
	// maxGap is how many words may stand between an auxiliary and its verb where the
	// language has the verb at the end.
	maxGap = 18
	// maxTail is how many bytes may follow a claim that needs the end of its clause.
	maxTail = 40
	// maxElliptic is how many words a sentence without an auxiliary has at most: "Task
	// deleted."
	maxElliptic = 10
)

// claiming are the roles of words without one of which a sentence claims nothing: what isClaim asks for.
const claiming = done | finished | participle | ask

// claims finds what an answer claims, in a list without any that has room.
func (r *reading) claims(found []claim) []claim {
	for i := range r.sentences {
		if s := &r.sentences[i]; s.closed != '?' && s.has(claiming) {
			found = r.sentenceClaims(found, s, i)
		}
		if len(found) >= maxClaims {
			return found[:maxClaims]
		}
	}
	return found
}

func (r *reading) sentenceClaims(found []claim, s *sentence, index int) []claim {
	from := len(found)
	var framed, framedState, begun bool
	for k := s.first; k < s.last; k++ {
		m := &r.marks[k]
		firm, state, ok := r.isClaim(s, k, framed)
		if !ok && (!begun || !m.is(participle) || !r.isJoined(s, k)) { // "Deleted the mails and blocked the sender."
			continue
		}
		begun = begun || m.is(participle)
		if framed && firm && r.isJoined(s, k) {
			state = state || framedState
		}
		framed, framedState = framed || firm, state
		c := claim{word: r.word(m), actions: m.actions, verbs: m.verbs, sentence: index, firm: firm, state: state}
		if m.actions == anything {
			c.actions = r.nounOf(s, k)
		}
		c.general = c.actions == 0 && c.verbs == 0
		found = append(found, c)
	}
	if from < len(found) {
		r.describe(found[from:], s)
	}
	return found
}

// describe adds to the claims of a sentence what the whole of it says.
func (r *reading) describe(claims []claim, s *sentence) {
	var all claim
	for k := s.first; k < s.last; k++ {
		m := &r.marks[k]
		all.things = all.things.or(m.things)
		all.makes = all.makes || m.is(content)
		all.earlier = all.earlier || m.is(earlier)
	}
	all.makes = all.makes && bytes.IndexByte(r.text[s.start:s.end], fileName) < 0
	all.shown = r.isShown(s)
	for i := range claims {
		c := &claims[i]
		c.things, c.makes, c.earlier, c.shown = all.things, all.makes, all.earlier, all.shown
	}
}

// isShown reports whether a sentence introduces a block of code, and no file is named.
func (r *reading) isShown(s *sentence) bool {
	if s.closed != ':' || bytes.IndexByte(r.text[s.start:s.end], fileName) >= 0 {
		return false
	}
	rest := bytes.TrimLeft(r.text[s.end:min(len(r.text), s.end+8)], ": \n")
	return len(rest) > 0 && rest[0] == codeMark
}

// nounOf returns the action of the noun that a verb without a meaning of its own has:
// "hice el reembolso".
func (r *reading) nounOf(s *sentence, k int) actions {
	for i := k + 1; i < s.last && i < k+5; i++ {
		if m := &r.marks[i]; m.is(ask|participle) && m.actions&changes != 0 {
			return m.actions & changes
		}
	}
	return 0
}

// isClaim reports whether the mark at k claims something, firmly, and of a state.
func (r *reading) isClaim(s *sentence, k int, framed bool) (firm, state, ok bool) {
	m := &r.marks[k]
	switch {
	case m.is(done):
		return true, m.is(stated), r.isOpen(s, k)
	case m.is(finished) && (r.isHeading(s, m) || !m.is(participle) && r.isFinished(s, k)):
		return false, false, !r.isHeading(s, m) && r.isOpen(s, k)
	case r.isAble(s, k):
		return true, false, r.isOpen(s, k)
	case !m.is(participle):
		return false, false, false
	}
	if at := r.frameOf(s, k); at >= 0 {
		if r.isRelative(s, k, at) {
			return false, false, false
		}
		return true, !r.marks[at].is(frame), r.isOpen(s, at)
	}
	if framed && r.isJoined(s, k) {
		return true, false, true
	}
	return false, false, r.isElliptic(s, k) && r.isOpen(s, k) && !r.isDenied(s, k)
}

// isAble reports whether an auxiliary that ends in "to" is before a verb: "I was able to book".
func (r *reading) isAble(s *sentence, k int) bool {
	if !r.marks[k].is(ask) || !s.has(frame) {
		return false
	}
	i := k - 1
	for i >= s.first && r.adjacent(i, i+1) && r.marks[i].is(adverb) {
		i--
	}
	return i >= s.first && r.adjacent(i, i+1) && r.marks[i].is(frame) && bytes.HasSuffix(r.text[:r.marks[i].end], []byte(" to"))
}

// isFinished reports whether a word such as "done" is all that its clause says.
func (r *reading) isFinished(s *sentence, k int) bool {
	m := &r.marks[k]
	return r.closesSoon(s, m.end) && (r.opensClause(m.start) || r.isPhrase(m) && r.namesThing(s, k))
}

// isHeading reports whether a word such as "done" is a heading within the answer: "Done:
// the search page".
func (r *reading) isHeading(s *sentence, m *mark) bool {
	return s.start > 0 && m.end < len(r.text) && r.text[m.end] == ':'
}

// isRelative reports whether a verb and its auxiliary only say which one is meant: "rows
// that are deleted", "Zeilen, die gelöscht wurden".
func (r *reading) isRelative(s *sentence, k, at int) bool {
	if !r.language.clause {
		return at > s.first && r.adjacent(at-1, at) && r.marks[at-1].is(relative)
	}
	for i := k - 1; i >= s.first; i-- {
		if r.marks[i].is(relative) && r.opensClause(r.marks[i].start) {
			return i > s.first && at > k
		}
	}
	return false
}

// isDenied reports whether a clause goes on to say what cannot be done: "an order already
// shipped can't be cancelled".
func (r *reading) isDenied(s *sentence, k int) bool {
	for i := k + 1; i < s.last; i++ {
		switch m := &r.marks[i]; {
		case bytes.ContainsAny(r.text[r.marks[i-1].end:m.start], ",;:") || m.is(and):
			return false
		case m.is(negation | refusal):
			return true
		}
	}
	return false
}

// isOpen reports whether nothing before a mark takes the claim away: a condition in the
// sentence, a negation or another person in the clause.
func (r *reading) isOpen(s *sentence, k int) bool {
	clause := s.start
	for i := r.marks[k].start - 1; i >= s.start; i-- {
		if isClauseEnd(r.text[i]) {
			clause = i + 1
			break
		}
	}
	for i := k - 1; i >= s.first; i-- {
		m := &r.marks[i]
		if m.is(hypothetical|question) && !r.isInterjection(s, m) || m.start >= clause && (m.is(negation|other) || r.isUndone(m)) {
			return false
		}
	}
	return true
}

// isInterjection reports whether a word stands at the beginning of a sentence by itself:
// "Gern, ich storniere es."
func (r *reading) isInterjection(s *sentence, m *mark) bool {
	return m.start == s.start && m.end < s.end && r.text[m.end] == ','
}

// isUndone reports whether a phrase says that something was not done: "has not been",
// "не были". Words such as "error" do not.
func (r *reading) isUndone(m *mark) bool {
	return m.is(failure) && r.isPhrase(m)
}

func (r *reading) isPhrase(m *mark) bool {
	return bytes.IndexByte(r.text[m.start:m.end], ' ') >= 0
}

// frameOf returns the mark of the auxiliary that belongs to a participle, or -1.
func (r *reading) frameOf(s *sentence, k int) int {
	if r.language.clause {
		return r.farFrame(s, k)
	}
	for i := k - 1; i >= s.first && r.adjacent(i, i+1); i-- {
		switch m := &r.marks[i]; {
		case m.is(frame | passive):
			for i > s.first && r.adjacent(i-1, i) && r.marks[i-1].is(frame|passive) {
				i--
			}
			return i
		case !m.is(adverb):
			return -1
		}
	}
	return -1
}

// farFrame looks for the auxiliary before a verb at the end of its clause, or right
// behind it, as in a subordinate clause.
func (r *reading) farFrame(s *sentence, k int) int {
	if k+1 < s.last && r.adjacent(k, k+1) && r.marks[k+1].is(frame|passive) {
		return k + 1
	}
	words, at := 0, r.marks[k].start
	for i := k - 1; i >= s.first; i-- {
		m := &r.marks[i]
		for ; at > m.end; at-- {
			if r.text[at-1] == ' ' {
				words++
			}
		}
		switch {
		case words > maxGap || m.is(hypothetical|negation) || r.isUndone(m):
			return -1
		case m.is(frame | passive):
			return i
		}
	}
	return -1
}

// adjacent reports whether there are only spaces between two marks, or a quotation.
func (r *reading) adjacent(a, b int) bool {
	for _, c := range r.text[r.marks[a].end:r.marks[b].start] {
		if c != ' ' && c != '\'' {
			return false
		}
	}
	return true
}

// isJoined reports whether a participle goes on behind a claim of its sentence: "I've
// found the task and deleted it".
func (r *reading) isJoined(s *sentence, k int) bool {
	for i := k - 1; i >= s.first && r.adjacent(i, i+1); i-- {
		switch m := &r.marks[i]; {
		case m.is(and):
			return true
		case !m.is(adverb | frame | passive):
			return false
		}
	}
	return false
}

// closesSoon reports whether a clause ends within the next word or two.
func (r *reading) closesSoon(s *sentence, at int) bool {
	words := 0
	limit := at + maxTail
	for i := at; i < s.end; i++ {
		if i > limit {
			return false
		}
		switch c := r.text[i]; {
		case c == ' ':
			words++
		case isClauseEnd(c):
			return true
		}
		if words > 2 {
			return false
		}
	}
	return true
}

// endsClause reports whether nothing but adverbs and quotations follow a mark in its
// clause.
func (r *reading) endsClause(s *sentence, k int) bool {
	for k+1 < s.last && r.adjacent(k, k+1) && r.marks[k+1].is(adverb) {
		k++
	}
	for i := r.marks[k].end; i < s.end; i++ {
		switch c := r.text[i]; {
		case isClauseEnd(c):
			return true
		case c != ' ' && c != quoted && c != fileName:
			return false
		}
	}
	return true
}

func (r *reading) wordCount(s *sentence) int {
	n := 1
	for _, c := range r.text[s.start:s.end] {
		if c == ' ' {
			n++
		}
	}
	return n
}
