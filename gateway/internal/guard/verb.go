package guard

// What stands around a verb in its sentence: an auxiliary, a negation, a condition.

// isOpen reports whether nothing before a mark takes away what it says: a condition in the
// sentence, a negation in the clause.
func (s *sentence) isOpen(k int) bool {
	clause := s.start
	for i := s.marks[k].start - 1; i >= s.start; i-- {
		if isClauseEnd(s.text[i]) {
			clause = i + 1
			break
		}
	}
	for i := k - 1; i >= 0; i-- {
		m := &s.marks[i]
		if m.is(hypothetical|question) && !s.isInterjection(m) || m.start >= clause && (m.is(negation|other) || s.isUndone(m)) {
			return false
		}
	}
	return true
}

// isUndone reports whether a phrase says that something was not done: "has not been",
// "не были". Words such as "error" do not.
func (s *sentence) isUndone(m *mark) bool { return m.is(failure) && s.isPhrase(m) }

// frameOf returns the mark of the auxiliary that belongs to a participle, or -1.
func (s *sentence) frameOf(k int) int {
	if s.language.clause {
		return farFrame(s, k)
	}
	for i := k - 1; i >= 0 && s.adjacent(i, i+1); i-- {
		switch m := &s.marks[i]; {
		case m.is(frame | passive):
			for i > 0 && s.adjacent(i-1, i) && s.marks[i-1].is(frame|passive) {
				i--
			}
			return i
		case !m.is(adverb):
			return -1
		}
	}
	return -1
}

// maxGap is how many words may stand between an auxiliary and its verb where the
// language has the verb at the end.
const maxGap = 18

// farFrame looks for the auxiliary before a verb at the end of its clause, or right
// behind it, as in a subordinate clause.
func farFrame(s *sentence, k int) int {
	if k+1 < len(s.marks) && s.adjacent(k, k+1) && s.marks[k+1].is(frame|passive) {
		return k + 1
	}
	words, at := 0, s.marks[k].start
	for i := k - 1; i >= 0; i-- {
		m := &s.marks[i]
		for ; at > m.end; at-- {
			if s.text[at-1] == ' ' {
				words++
			}
		}
		switch {
		case words > maxGap || m.is(hypothetical|negation) || s.isUndone(m):
			return -1
		case m.is(frame | passive):
			return i
		}
	}
	return -1
}

// isJoined reports whether a participle goes on behind a claim of its sentence: "I've
// found the task and deleted it".
func (s *sentence) isJoined(k int) bool {
	for i := k - 1; i >= 0 && s.adjacent(i, i+1); i-- {
		switch m := &s.marks[i]; {
		case m.is(and):
			return true
		case !m.is(adverb | frame | passive):
			return false
		}
	}
	return false
}

// isReported reports whether somebody says that something was done, or asks whether it
// was: "I've deleted it", "was it cancelled?".
func isReported(s *sentence, k int) bool {
	m := &s.marks[k]
	if !m.is(participle|done) || s.asks() { // "I'd like it to be deleted"
		return false
	}
	return m.is(done) || s.frameOf(k) >= 0
}
