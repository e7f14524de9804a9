package guard

import (
	"bytes"
	"unicode/utf8"
)

// mark is a word of a text that means something in the text's language.
type mark struct {
	start, end int
	meaning
}

// sentence is a part of a text. first and last are its marks: marks[first:last].
type sentence struct {
	start, end  int
	first, last int
	// closed is what ends it: one of . ? ! : or a line's end.
	closed byte
	// ticked says that a picture stands at its beginning or its end which says "done".
	ticked bool
}

// reading is what was read of a text.
type reading struct {
	plain
	language  *language // nil if the text has no word that is known
	marks     []mark
	sentences []sentence
}

// Bounds of what is kept of a text. No answer that means anything comes near.
const (
	maxHits     = 1 << 14
	maxSentence = 700 // bytes; what is longer is cut
)

// hit is a pattern that was found.
type hit struct {
	start, end int32
	pattern    int32 // 0: one of the words of this request's tools
	local      meaning
}

// read finds the words of a text. local are words in the names of tools.
func (l *lexicons) read(text string, local map[string]meaning) *reading {
	r := &reading{plain: makePlain(text)}
	scores := make([]int, len(l.languages))
	hits := l.scan(r.text, local, scores)
	best := 0
	for i, score := range scores {
		if score > scores[best] {
			best = i
		}
	}
	if scores[best] > 0 {
		r.language = &l.languages[best]
	}
	r.choose(l, hits, best)
	r.split()
	return r
}

// scan finds the patterns of all languages, and counts how much of the text each knows.
func (l *lexicons) scan(text []byte, local map[string]meaning, scores []int) []hit {
	hits := make([]hit, 0, len(text)/4+8)
	inWord := false
	for i := 0; i < len(text) && len(hits) < maxHits; {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		word := isWord(r)
		if word && (!inWord || isUnspaced(r)) {
			if end := nameEnd(text, i); end > 0 {
				hits = append(hits, hit{start: int32(i), end: int32(end), local: nameMeaning(text[i:end])})
				i, inWord = end, false
				continue
			}
			hits = l.word(hits, text, i, local, scores)
		}
		// In Arabic, "and" is written together with the word behind it.
		inWord = word && (r != 'و' || inWord)
		i += size
	}
	return hits
}

// word finds the patterns that begin at a place.
func (l *lexicons) word(hits []hit, text []byte, i int, local map[string]meaning, scores []int) []hit {
	if len(local) > 0 {
		end := wordEnd(text, i)
		if m, ok := local[string(text[i:end])]; ok {
			hits = append(hits, hit{start: int32(i), end: int32(end), local: m})
		}
	}
	l.words.match(text, i, func(end int, pattern int32) {
		hits = append(hits, hit{start: int32(i), end: int32(end), pattern: pattern})
		for _, m := range l.meanings[pattern] {
			scores[m.language] += end - i
		}
	})
	return hits
}

// nameEnd returns the end of a file's name, an address or a link that begins at a place,
// or 0. Words in them mean nothing.
func nameEnd(text []byte, i int) int {
	limit := min(len(text), i+200)
	end, special := i, false
	for end < limit && text[end] > ' ' && text[end] != ',' && text[end] != ')' && text[end] != ';' && text[end] < utf8.RuneSelf {
		special = special || text[end] == '.' || text[end] == '/' || text[end] == '@'
		end++
	}
	if !special {
		return 0
	}
	for end > i && (text[end-1] == '.' || text[end-1] == '!' || text[end-1] == '?' || text[end-1] == ':') {
		end--
	}
	name := text[i:end]
	if at := bytes.IndexByte(name, '@'); at > 0 && at < len(name)-1 || bytes.Contains(name, []byte("://")) || isFileName(string(name)) {
		return end
	}
	return 0
}

func nameMeaning(name []byte) meaning {
	if isFileName(string(name)) {
		return meaning{roles: object, things: fileThing}
	}
	return meaning{}
}

// choose keeps the hits of a language. Of those that begin at one place the longest
// counts, and none begins inside another.
func (r *reading) choose(l *lexicons, hits []hit, language int) {
	r.marks = make([]mark, 0, len(hits)/2)
	covered := int32(0)
	for _, h := range hits {
		m := h.local
		if h.pattern != 0 {
			if m = find(l.meanings[h.pattern], language); m.roles == 0 {
				continue
			}
		}
		n := len(r.marks)
		switch {
		case n > 0 && r.marks[n-1].start == int(h.start):
			if last := &r.marks[n-1]; last.end == int(h.end) {
				last.roles |= m.roles
				last.actions |= m.actions
				last.things = last.things.or(m.things)
			} else if int(h.end) > last.end {
				*last = mark{int(h.start), int(h.end), m}
				covered = h.end
			}
		case h.start >= covered:
			r.marks = append(r.marks, mark{int(h.start), int(h.end), m})
			covered = h.end
		}
	}
}

func find(list []meaning, language int) meaning {
	for _, m := range list {
		if m.language == language {
			return m
		}
	}
	return meaning{}
}

// split cuts the text into sentences.
func (r *reading) split() {
	start, next := 0, 0
	for i := 0; i < len(r.text); {
		closed, size := r.boundary(i, start)
		if size == 0 {
			i++
			continue
		}
		next = r.addSentence(start, i, next, closed)
		i += size
		start = i
	}
	r.addSentence(start, len(r.text), next, 0)
}

// boundary returns what closes a sentence at a place and its length, or 0.
func (r *reading) boundary(i, start int) (closed byte, size int) {
	switch c := r.text[i]; c {
	case '\n', '!', '?':
		return c, 1
	case tick:
		return tick, 1
	case '.':
		if i+1 < len(r.text) && r.text[i+1] > ' ' && r.text[i+1] != ')' {
			return 0, 0
		}
		if i > 0 && '0' <= r.text[i-1] && r.text[i-1] <= '9' && r.language != nil && !r.language.english {
			return 0, 0 // an ordinal: "am 3. Mai"
		}
		return c, 1
	case 0xe3, 0xd8, 0xe0, 0xe2, 0xdb:
		switch char, n := utf8.DecodeRune(r.text[i:]); char {
		case '。', '।', '۔', '…':
			return '.', n
		case '؟':
			return '?', n
		}
	}
	if i-start > maxSentence && r.text[i] == ' ' {
		return '.', 1
	}
	return 0, 0
}

// addSentence adds a sentence, unless it is empty, and returns the mark behind it.
func (r *reading) addSentence(start, end, first int, closed byte) int {
	for start < end && (r.text[start] == ' ' || r.text[start] == '.') {
		start++
	}
	for end > start && r.text[end-1] == ' ' {
		end--
	}
	last := first
	for last < len(r.marks) && r.marks[last].start < end {
		last++
	}
	if start == end {
		if n := len(r.sentences); n > 0 && closed == '?' {
			r.sentences[n-1].closed = closed
		}
		return last
	}
	if closed == '\n' && r.text[end-1] == ':' {
		closed = ':'
	}
	ticked := closed == tick || start > 0 && bytes.LastIndexByte(r.text[max(0, start-2):start], tick) >= 0
	r.sentences = append(r.sentences, sentence{start, end, first, last, closed, ticked})
	return last
}

// isClauseEnd reports whether a byte separates the parts of a sentence.
func isClauseEnd(c byte) bool {
	switch c {
	case ',', ';', ':', '(', ')', '[', ']', '\n', '.', '!', '?', tick:
		return true
	}
	return false
}

// about returns what a text is about.
func (r *reading) about() (t things) {
	for i := range r.marks {
		t = t.or(r.marks[i].things)
	}
	return t
}
