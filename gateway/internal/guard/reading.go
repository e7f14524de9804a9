package guard

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// mark is a word of a text that means something in the text's language.
type mark struct {
	start, end int
	*meaning
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
	language *language // English if the text has no word that is known
	known    bool      // it has one
	// alsoComposes says that it asks for a text in the language that was expected, and is
	// in another: "traduce: I have sent it".
	alsoComposes bool
	marks        []mark
	sentences    []sentence
}

// Bounds of what is kept of a text. No answer that means anything comes near.
const (
	maxHits     = 1 << 14
	maxSentence = 700 // bytes; what is longer is cut
)

// hit is a pattern that was found.
type hit struct {
	start, end int32
	pattern    int32 // if it is below 0, ^pattern is the place of a word of its own
}

// hits are all that were found, and the words that are in no lexicon: those of this
// request's tools, and names of files.
type hits struct {
	list []hit
	own  []meaning
}

func (h *hits) add(start, end int, m meaning) {
	h.list = append(h.list, hit{int32(start), int32(end), int32(^len(h.own))})
	h.own = append(h.own, m)
}

// Weights that tell a text's language: small words tell it better than others, which
// languages borrow, and the language of the answer is most likely the user's.
const (
	commonScore   = 4
	expectedScore = 12
)

// read finds the words of a text. local are words in the names of tools. expected is the
// language that is assumed in doubt, or nil.
func (l *lexicons) read(text string, local map[string]meaning, expected *language) *reading {
	r := &reading{plain: makePlain(text)}
	scores := make([]int, len(l.languages))
	for i := range l.languages {
		if expected == &l.languages[i] {
			scores[i] = expectedScore
		}
	}
	hits := l.scan(r.text, local, scores)
	best := l.english
	for i, score := range scores {
		if score > scores[best] {
			best = i
		}
	}
	r.language, r.known = &l.languages[best], scores[best] > 0
	if expected != nil && expected != r.language {
		r.choose(l, hits, slices.IndexFunc(l.languages, func(g language) bool { return g.code == expected.code }))
		r.alsoComposes = r.hasAny(composing)
	}
	r.choose(l, hits, best)
	r.split()
	return r
}

// scan finds the patterns of all languages, and counts how much of the text each knows.
func (l *lexicons) scan(text []byte, local map[string]meaning, scores []int) *hits {
	h := &hits{list: make([]hit, 0, len(text)/3+8)}
	inWord := false
	for i := 0; i < len(text) && len(h.list) < maxHits; {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		word := isWord(r)
		switch {
		case r == fileName:
			h.add(i, i+1, meaning{roles: object, things: fileThing})
		case word && (!inWord || isUnspaced(r)):
			if end := nameEnd(text, i); end > 0 {
				h.add(i, end, nameMeaning(text[i:end]))
				i, inWord = end, false
				continue
			}
			l.word(h, text, i, local, scores)
		}
		// In Arabic, "and" is written together with the word behind it.
		inWord = word && !isUnspaced(r) && (r != 'و' || inWord)
		i += size
	}
	return h
}

// word finds the patterns that begin at a place.
func (l *lexicons) word(h *hits, text []byte, i int, local map[string]meaning, scores []int) {
	if len(local) > 0 {
		end := wordEnd(text, i)
		if m, ok := local[string(text[i:end])]; ok {
			h.add(i, end, m)
		}
	}
	l.words.match(text, i, func(end int, pattern int32) {
		h.list = append(h.list, hit{int32(i), int32(end), pattern})
		list := l.meanings[pattern]
		for k := range list {
			scores[list[k].language] += end - i
			if list[k].roles&common != 0 {
				scores[list[k].language] += commonScore
			}
		}
	})
}

// nameEnd returns the end of a file's name, an address or a link that begins at a place,
// or 0. Words in them mean nothing.
func nameEnd(text []byte, i int) int {
	limit := min(len(text), i+maxFileName)
	end, special := i, false
	for end < limit && nameBytes[text[end]] != 0 {
		special = special || nameBytes[text[end]] == 2
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

// nameBytes are the bytes of such names, 1, and those that other words have not, 2.
var nameBytes = func() (t [256]byte) {
	for c := '!'; c < utf8.RuneSelf; c++ {
		switch c {
		case ',', ')', ';':
		case '.', '/', '@':
			t[c] = 2
		default:
			t[c] = 1
		}
	}
	return t
}()

func nameMeaning(name []byte) meaning {
	if isFileName(string(name)) {
		return meaning{roles: object, things: fileThing, named: true}
	}
	return meaning{named: true}
}

// choose keeps the hits of a language. Of those that begin at one place the longest
// counts, and none begins inside another.
func (r *reading) choose(l *lexicons, hits *hits, language int) {
	r.marks = make([]mark, 0, len(hits.list)/3+1)
	covered := int32(0)
	for _, h := range hits.list {
		var m *meaning
		if h.pattern < 0 {
			m = &hits.own[^h.pattern]
		} else if m = find(l.meanings[h.pattern], language); m == nil {
			continue
		}
		n := len(r.marks)
		switch {
		case n > 0 && r.marks[n-1].start == int(h.start):
			if last := &r.marks[n-1]; last.end == int(h.end) {
				last.meaning = last.and(m)
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

func find(list []meaning, language int) *meaning {
	for i := range list {
		if list[i].language == language {
			return &list[i]
		}
	}
	return nil
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
		if !r.language.english && r.isOrdinal(i) {
			return 0, 0
		}
		if r.isAbbreviation(i, start) {
			return 0, 0
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

// isOrdinal reports whether the point at i belongs to a number: "am 3. Mai".
func (r *reading) isOrdinal(i int) bool {
	from := i
	for from > 0 && isDigit(r.text[from-1]) {
		from--
	}
	return from < i && i-from <= 2 && (from == 0 || r.text[from-1] == ' ')
}

// abbreviations end with a point within a sentence.
var abbreviations = map[string]bool{
	"mr": true, "mrs": true, "ms": true, "dr": true, "prof": true, "st": true, "vs": true, "approx": true,
	"nr": true, "hr": true, "ca": true, "bzw": true, "inkl": true, "str": true, "evtl": true,
	"m": true, "mme": true, "sr": true, "sra": true, "srta": true, "dra": true, "sig": true, "dott": true, "avv": true,
	"p": true, "ul": true, "godz": true, "им": true, "ул": true, "г": true, "вул": true, "mevr": true, "dhr": true,
	"z": true, "b": true, "e": true, "g": true, "i": true, "fa": true, "art": true, "s": true, "d": true,
}

// isAbbreviation reports whether the point at i ends one.
func (r *reading) isAbbreviation(i, start int) bool {
	from := i
	for from > start && i-from < 12 && r.text[from-1] > ' ' && !isClauseEnd(r.text[from-1]) {
		from--
	}
	return abbreviations[string(r.text[from:i])]
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

func (r *reading) word(m *mark) string { return string(r.text[m.start:m.end]) }
