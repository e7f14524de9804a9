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
	roles       role // of all its marks
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
	// answers are the messages of the user that it answers, and told the beginnings of the
	// words of their own, once they are needed: "bisc" and "boos" of "move Biscuit's booster".
	answers   []*reading
	told      [][]byte
	marks     []mark
	roles     role      // of all marks in sentences
	both      []meaning // of words that have two
	sentences []sentence
}

// Bounds of what is kept of a text. No answer that means anything comes near.
const (
	maxHits     = 1 << 14
	maxSentence = 700 // bytes; what is longer is cut
	// sentenceLength is that of a short one, in bytes.
	sentenceLength = 60
)

// Weights that tell a text's language: small words tell it better than others, which
// languages borrow, and the language of the answer is most likely the user's.
const (
	commonScore   = 4
	expectedScore = 12
)

// read finds the words of a text. local are words in the names of tools. expected is the
// language that is assumed in doubt, or nil.
func (l *lexicons) read(text string, local *localWords, expected *language) *reading {
	r := l.newReading()
	r.plain = makePlain(r.plain, text)
	scores := make([]int, maxLanguages)[:len(l.languages)]
	for i := range l.languages {
		if expected == &l.languages[i] {
			scores[i] = expectedScore
		}
	}
	best, hits := r.scan(l, local, scores)
	if expected != nil && expected != r.language {
		r.choose(l, hits, slices.IndexFunc(l.languages, func(g language) bool { return g.code == expected.code }))
		r.alsoComposes = r.howMany(composing) > 0
	}
	r.choose(l, hits, best)
	l.done(hits)
	r.split()
	return r
}

// readAnswer reads an answer to a message: a short one says little of its language.
func (l *lexicons) readAnswer(text string, local *localWords, to string) *reading {
	r := l.newReading()
	r.plain = makePlain(r.plain, text)
	scores := make([]int, maxLanguages)[:len(l.languages)]
	if to != "" {
		asked := l.newReading()
		asked.plain = makePlain(asked.plain, to)
		hits := l.scan(asked.text, nil)
		l.score(hits.list, scores)
		l.done(hits)
		l.free(asked)
	}
	best, hits := r.scan(l, local, scores)
	r.choose(l, hits, best)
	l.done(hits)
	r.split()
	return r
}

// scan finds words of all languages, and the language that has most of them.
func (r *reading) scan(l *lexicons, local *localWords, scores []int) (best int, found *hits) {
	hits := l.scan(r.text, local)
	l.score(hits.list, scores)
	best = l.english
	for i, score := range scores {
		if score > scores[best] {
			best = i
		}
	}
	r.language, r.known = &l.languages[best], scores[best] > 0
	return best, hits
}

// choose keeps the hits of a language. Of those that begin at one place the longest
// counts, and none begins inside another.
func (r *reading) choose(l *lexicons, hits *hits, language int) {
	r.marks = slices.Grow(r.marks[:0], len(hits.list)/2+1)
	covered := int32(0)
	for _, h := range hits.list {
		var m *meaning
		switch {
		case h.pattern < 0:
			m = &hits.own[^h.pattern]
		case l.spoken[h.pattern].languages&(1<<language) == 0:
			continue
		default:
			m = find(l.lists[h.pattern], language)
		}
		n := len(r.marks)
		switch {
		case n > 0 && r.marks[n-1].start == int(h.start):
			if last := &r.marks[n-1]; last.end == int(h.end) {
				r.both = append(r.both, last.and(m))
				last.meaning = &r.both[len(r.both)-1]
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
	r.sentences = slices.Grow(r.sentences[:0], len(r.text)/sentenceLength+2)
	start, next := 0, 0
	for i := 0; ; {
		for limit := min(len(r.text), start+maxSentence+1); i < limit && !mayClose[r.text[i]]; {
			i++
		}
		if i == len(r.text) {
			break
		}
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

// mayClose are the bytes that a sentence may be closed by, or by what they begin.
var mayClose = [256]bool{
	'\n': true, '!': true, '?': true, tick: true, '.': true, 0xe3: true, 0xd8: true, 0xe0: true, 0xe2: true, 0xdb: true,
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

// maxAbbreviation is the length in bytes of the longest abbreviation that ends with a point within a sentence.
const maxAbbreviation = 6

// isAbbreviation reports whether the point at i ends one.
func (r *reading) isAbbreviation(i, start int) bool {
	from := i
	for from > start && i-from <= maxAbbreviation && r.text[from-1] > ' ' && !isClauseEnd(r.text[from-1]) {
		from--
	}
	switch string(r.text[from:i]) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "vs", "approx",
		"nr", "hr", "ca", "bzw", "inkl", "str", "evtl",
		"m", "mme", "sr", "sra", "srta", "dra", "sig", "dott", "avv",
		"p", "ul", "godz", "им", "ул", "г", "вул", "mevr", "dhr",
		"z", "b", "e", "g", "i", "fa", "art", "s", "d":
		return true
	}
	return false
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
	var roles role
	for last < len(r.marks) && r.marks[last].start < end {
		roles |= r.marks[last].roles
		last++
	}
	r.roles |= roles
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
	r.sentences = append(r.sentences, sentence{start, end, first, last, roles, closed, ticked})
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
