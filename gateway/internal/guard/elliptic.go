package guard

import (
	"bytes"
	"slices"
)

// isElliptic reports whether a participle claims without an auxiliary: at the beginning
// of a sentence, behind its subject in a short one, or alone in a clause.
func (s claimFinder) isElliptic(k int) bool {
	m := &s.marks[k]
	if s.isOrder(m) {
		return false
	}
	lead := k
	for lead > 0 && s.adjacent(lead-1, lead) && s.marks[lead-1].is(adverb) {
		lead--
	}
	if s.isNoun(lead) || m.is(object) && hasParticiple(s.marks[k+1:]) { // "Pedido 7781 cancelado."
		return false
	}
	return s.standsAlone(lead, k)
}

// standsAlone reports whether a participle, with the adverbs from the mark at lead on, claims by its
// place.
func (s claimFinder) standsAlone(lead, k int) bool {
	from := s.start + len(bytes.TrimRight(s.text[s.start:s.marks[lead].start], " "))
	if from == s.start {
		return true
	}
	before := s.text[from-1]
	if isClauseEnd(before) {
		return s.closesSoon(s.marks[k].end) || s.ticked && before != ':'
	}
	if s.wordCount() > maxElliptic {
		return false
	}
	return before == quoted || before == fileName || s.endsClause(k) && s.namesThing(k) || s.leads(k)
}

func hasParticiple(marks []mark) bool {
	return slices.ContainsFunc(marks, func(m mark) bool { return m.is(participle) })
}

// isOrder reports whether a verb without an auxiliary may be an order, or a noun: "run",
// "set", and all of Arabic and Chinese.
func (s claimFinder) isOrder(m *mark) bool {
	return s.language.framed || s.language.english && m.is(ask)
}

// namesThing reports whether a thing is named, or quoted, before a mark.
func (s claimFinder) namesThing(k int) bool {
	for i := range k {
		if m := &s.marks[i]; m.is(object) || m.is(ask) && i > 0 && s.marks[i-1].is(article) && s.adjacent(i-1, i) {
			return true
		}
	}
	before := s.text[s.start:s.marks[k].start]
	return bytes.IndexByte(before, quoted) >= 0 || s.echo.repeats(before) > 0
}

// leads reports whether a sentence is no more than a thing, at its beginning, and the one
// verb behind it: "Pix de R$ 150,00 enviado para a Júlia."
func (s claimFinder) leads(k int) bool {
	begun := false
	for i := range s.marks {
		m := &s.marks[i]
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
	return begun || s.echo.repeats(s.text[s.start:s.marks[k].start]) > 0
}
