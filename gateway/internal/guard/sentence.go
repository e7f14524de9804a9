package guard

import (
	"bytes"
	"slices"
)

// mark is a word of a text that means something in the text's language.
type mark struct {
	start, end int
	*meaning
}

// sentence is a part of a text, with all that is to be known of it: it is only read.
type sentence struct {
	text       []byte // all of the text: what stands around a sentence tells where it begins
	start, end int
	marks      []mark // those that begin in it
	language   *language
	roles      role // of all its marks
	// closed is what ends it: one of . ? ! : or a line's end.
	closed byte
	// ticked says that a picture stands at its beginning or its end which says "done".
	ticked bool
}

// part is the sentence's own text.
func (s *sentence) part() []byte { return s.text[s.start:s.end] }

// has reports whether a sentence has a mark of some roles.
func (s *sentence) has(roles role) bool { return s.roles&roles != 0 }

// begins reports whether a word of some roles is the first of a sentence.
func (s *sentence) begins(roles role) bool {
	return len(s.marks) > 0 && s.marks[0].start == s.start && s.marks[0].is(roles)
}

// about returns what a sentence is about.
func (s *sentence) about() (t things) {
	for k := range s.marks {
		t = t.or(s.marks[k].things)
	}
	return t
}

func (s *sentence) word(m *mark) string { return string(s.text[m.start:m.end]) }

// isPhrase reports whether a mark has several words.
func (s *sentence) isPhrase(m *mark) bool {
	return bytes.IndexByte(s.text[m.start:m.end], ' ') >= 0
}

func (s *sentence) wordCount() int { return 1 + bytes.Count(s.part(), []byte{' '}) }

// isClauseEnd reports whether a byte separates the parts of a sentence.
func isClauseEnd(c byte) bool {
	switch c {
	case ',', ';', ':', '(', ')', '[', ']', '\n', '.', '!', '?', tick:
		return true
	}
	return false
}

// opensClause reports whether nothing but spaces is between a place and the beginning of
// its clause.
func (s *sentence) opensClause(at int) bool {
	for at > 0 && s.text[at-1] == ' ' {
		at--
	}
	return at == 0 || isClauseEnd(s.text[at-1])
}

// opensSentence reports whether only adverbs and auxiliaries are before a mark: "Now I'm
// deleting".
func (s *sentence) opensSentence(k int) bool {
	for i := k - 1; i >= 0 && s.adjacent(i, i+1); i-- {
		if !s.marks[i].is(adverb | common | frame | passive | and | finished | assent) {
			return false
		}
		k = i
	}
	return s.opensClause(s.marks[k].start)
}

// adjacent reports whether there are only spaces between two marks, or a quotation.
func (s *sentence) adjacent(a, b int) bool {
	for _, c := range s.text[s.marks[a].end:s.marks[b].start] {
		if c != ' ' && c != '\'' {
			return false
		}
	}
	return true
}

// isInterjection reports whether a word stands at the beginning of a sentence by itself:
// "Gern, ich storniere es."
func (s *sentence) isInterjection(m *mark) bool {
	return m.start == s.start && m.end < s.end && s.text[m.end] == ','
}

// isNoun reports whether an article is right before a mark: "the updated plan", "my order".
func (s *sentence) isNoun(k int) bool {
	return k > 0 && s.marks[k-1].is(article) && s.adjacent(k-1, k)
}

// asks reports whether a sentence has words such as "please".
func (s *sentence) asks() bool {
	return slices.ContainsFunc(s.marks, func(m mark) bool { return m.is(ask) && m.actions&anything != 0 })
}

// asksByWord reports whether it has a word that asks, and not only as a noun: "negaram a autorização".
func (s *sentence) asksByWord() bool {
	for k := range s.marks {
		if s.marks[k].is(question) && !s.isNoun(k) {
			return true
		}
	}
	return false
}

// maxTail is how many bytes may follow what needs the end of its clause.
const maxTail = 40

// closesSoon reports whether a clause ends within the next word or two.
func (s *sentence) closesSoon(at int) bool {
	words := 0
	limit := at + maxTail
	for i := at; i < s.end; i++ {
		if i > limit {
			return false
		}
		switch c := s.text[i]; {
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
func (s *sentence) endsClause(k int) bool {
	for k+1 < len(s.marks) && s.adjacent(k, k+1) && s.marks[k+1].is(adverb) {
		k++
	}
	for i := s.marks[k].end; i < s.end; i++ {
		switch c := s.text[i]; {
		case isClauseEnd(c):
			return true
		case c != ' ' && c != quoted && c != fileName:
			return false
		}
	}
	return true
}
