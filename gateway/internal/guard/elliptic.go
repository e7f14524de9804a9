package guard

import "bytes"

// isElliptic reports whether a participle claims without an auxiliary: at the beginning
// of a sentence, behind its subject in a short one, or alone in a clause.
func (r *reading) isElliptic(s *sentence, k int) bool {
	m := &r.marks[k]
	if r.isOrder(m) {
		return false
	}
	lead := k
	for lead > s.first && r.adjacent(lead-1, lead) && r.marks[lead-1].is(adverb) {
		lead--
	}
	if r.isNoun(s, lead) || m.is(object) && r.hasAfter(s, k, participle) { // "Pedido 7781 cancelado."
		return false
	}
	return r.standsAlone(s, lead, k)
}

// standsAlone reports whether a participle, with the adverbs from the mark at lead on, claims by its
// place.
func (r *reading) standsAlone(s *sentence, lead, k int) bool {
	from := s.start + len(bytes.TrimRight(r.text[s.start:r.marks[lead].start], " "))
	if from == s.start {
		return true
	}
	before := r.text[from-1]
	if isClauseEnd(before) {
		return r.closesSoon(s, r.marks[k].end) || s.ticked && before != ':'
	}
	if r.wordCount(s) > maxElliptic {
		return false
	}
	return before == quoted || before == fileName || r.endsClause(s, k) && r.namesThing(s, k) || r.leads(s, k)
}

// isNoun reports whether an article is right before a mark: "the updated plan", "my order".
func (r *reading) isNoun(s *sentence, k int) bool {
	return k > s.first && r.marks[k-1].is(article) && r.adjacent(k-1, k)
}

// hasAfter reports whether a sentence has a mark of some roles behind one.
func (r *reading) hasAfter(s *sentence, k int, roles role) bool {
	for k++; k < s.last; k++ {
		if r.marks[k].is(roles) {
			return true
		}
	}
	return false
}

// isOrder reports whether a verb without an auxiliary may be an order, or a noun: "run",
// "set", and all of Arabic and Chinese.
func (r *reading) isOrder(m *mark) bool {
	return r.language.framed || r.language.english && m.is(ask)
}

// namesThing reports whether a thing is named, or quoted, before a mark.
func (r *reading) namesThing(s *sentence, k int) bool {
	for i := s.first; i < k; i++ {
		if m := &r.marks[i]; m.is(object) || m.is(ask) && i > s.first && r.marks[i-1].is(article) && r.adjacent(i-1, i) {
			return true
		}
	}
	before := r.text[s.start:r.marks[k].start]
	return bytes.IndexByte(before, quoted) >= 0 || r.repeats(before) > 0
}

// leads reports whether a sentence is no more than a thing, at its beginning, and the one
// verb behind it: "Pix de R$ 150,00 enviado para a Júlia."
func (r *reading) leads(s *sentence, k int) bool {
	begun := false
	for i := s.first; i < s.last; i++ {
		m := &r.marks[i]
		switch {
		case i > k && m.is(frame|passive|participle|done|doing|negation|refusal|failure) && !m.is(object|common):
			return false
		case i >= k:
		case m.is(object):
			begun = true
		case !m.is(common | article | adverb):
			return false
		}
	}
	return begun || r.repeats(r.text[s.start:r.marks[k].start]) > 0
}
