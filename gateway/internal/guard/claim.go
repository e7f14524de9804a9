package guard

// claim is a place of an answer that says that something was done.
type claim struct {
	word     string // the lexicon's word
	actions  actions
	things   things // what its sentence is about
	sentence int
	// firm says that the model speaks of itself, or in the passive, in a sentence that
	// has a verb. "Task deleted." is a claim as well, but so may be a heading.
	firm bool
	// general says that the claim names no action: "Done!"
	general bool
	// makes says that it is about something that the model makes in its answer: "I've
	// created a plan".
	makes bool
	// earlier says that it speaks of the time before.
	earlier bool
}

const (
	maxClaims = 32
	// maxGap is how many words may stand between an auxiliary and its verb where the
	// language has the verb at the end.
	maxGap = 18
	// maxTail is how many bytes may follow a claim that needs the end of its clause.
	maxTail = 40
)

// claims finds what an answer claims.
func (r *reading) claims() []claim {
	var found []claim
	for i := range r.sentences {
		if s := &r.sentences[i]; s.closed != '?' {
			found = r.sentenceClaims(found, s, i)
		}
		if len(found) >= maxClaims {
			return found[:maxClaims]
		}
	}
	return found
}

func (r *reading) sentenceClaims(found []claim, s *sentence, index int) []claim {
	before := len(found)
	var about things
	var makes, earlierTime bool
	for k := s.first; k < s.last; k++ {
		m := &r.marks[k]
		about = about.or(m.things)
		makes = makes || m.is(content)
		earlierTime = earlierTime || m.is(earlier)
	}
	framed := false
	for k := s.first; k < s.last; k++ {
		m := &r.marks[k]
		firm, ok := r.isClaim(s, k, framed)
		if !ok {
			continue
		}
		framed = framed || firm
		found = append(found, claim{
			word: string(r.text[m.start:m.end]), actions: m.actions, things: about, sentence: index,
			firm: firm, general: m.is(finished) && m.actions == 0, makes: makes, earlier: earlierTime,
		})
	}
	if len(found) > before && s.closed == ':' && !s.ticked {
		for i := before; i < len(found); i++ {
			found[i].firm = false
		}
	}
	return found
}

// isClaim reports whether the mark at k claims something.
func (r *reading) isClaim(s *sentence, k int, framed bool) (firm, ok bool) {
	m := &r.marks[k]
	switch {
	case m.is(done):
		return true, r.isOpen(s, k)
	case m.is(finished) && r.opensClause(m.start) && r.closesSoon(s, m.end):
		return false, r.isOpen(s, k)
	case !m.is(participle):
		return false, false
	}
	if at := r.frameOf(s, k); at >= 0 {
		return true, r.isOpen(s, at)
	}
	if framed && r.isJoined(s, k) {
		return true, true
	}
	return false, r.isElliptic(s, k) && r.isOpen(s, k)
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
		if m.is(hypothetical) || m.start >= clause && m.is(negation|other) {
			return false
		}
	}
	return true
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
		case words > maxGap || m.is(hypothetical|negation):
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

// isElliptic reports whether a participle claims without an auxiliary: at the beginning
// of a sentence, behind its subject in a short one, or alone in a clause.
func (r *reading) isElliptic(s *sentence, k int) bool {
	m := &r.marks[k]
	lead := k
	for lead > s.first && r.adjacent(lead-1, lead) && r.marks[lead-1].is(adverb) {
		lead--
	}
	from := r.marks[lead].start
	for from > s.start && r.text[from-1] == ' ' {
		from--
	}
	if from <= s.start {
		return true
	}
	switch c := r.text[from-1]; {
	case c == ':':
		return r.closesSoon(s, m.end)
	case isClauseEnd(c):
		return r.closesSoon(s, m.end) || s.ticked
	case c == quoted, c == fileName:
	case lead > s.first && r.marks[lead-1].is(object) && r.adjacent(lead-1, lead):
	case !r.closesSoon(s, m.end):
		return false
	}
	return r.wordCount(s) <= 10
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

func (r *reading) wordCount(s *sentence) int {
	n := 1
	for _, c := range r.text[s.start:s.end] {
		if c == ' ' {
			n++
		}
	}
	return n
}
