package guard

import "slices"

// reading is what was read of a text. It is not changed any more.
type reading struct {
	plain
	language *language // English if the text has no word that is known
	known    bool      // it has one
	// alsoComposes says that it asks for a text in the language that was expected, and is
	// in another: "traduce: I have sent it".
	alsoComposes bool
	marks        []mark
	roles        role      // of all marks in sentences
	both         []meaning // of words that have two
	sentences    []sentence
}

// maxHits bounds what is kept of a text. No answer that means anything comes near.
const maxHits = 1 << 14

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
	likely := -1
	for i := range l.languages {
		if expected == &l.languages[i] {
			scores[i], likely = expectedScore, i
		}
	}
	best, hits := l.recognize(r, local, scores)
	if expected != nil && likely != best {
		r.choose(l, hits, likely)
		r.alsoComposes = r.howMany(composing) > 0
	}
	l.finish(r, hits, best)
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
	best, hits := l.recognize(r, local, scores)
	l.finish(r, hits, best)
	return r
}

// recognize finds words of all languages, and the language that has most of them.
func (l *lexicons) recognize(r *reading, local *localWords, scores []int) (best int, found *hits) {
	found = l.scan(r.text, local)
	l.score(found.list, scores)
	best = l.english
	for i, score := range scores {
		if score > scores[best] {
			best = i
		}
	}
	r.language, r.known = &l.languages[best], scores[best] > 0
	return best, found
}

// finish keeps the hits of a language, and cuts the text into sentences.
func (l *lexicons) finish(r *reading, found *hits, language int) {
	r.choose(l, found, language)
	l.done(found)
	r.split()
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

// about returns what a text is about.
func (r *reading) about() (t things) {
	for i := range r.marks {
		t = t.or(r.marks[i].things)
	}
	return t
}

func (r *reading) howMany(roles role) (n int) {
	for i := range r.marks {
		n += count(r.marks[i].is(roles))
	}
	return n
}

// hasAny reports whether a sentence of a text has a mark of some roles.
func (r *reading) hasAny(roles role) bool { return r.roles&roles != 0 }

// isQuestion reports whether a text has a sentence with a question mark.
func (r *reading) isQuestion() bool {
	return slices.ContainsFunc(r.sentences, func(s sentence) bool { return s.closed == '?' })
}

// asked returns the sentence that asks the user something at the end, or -1.
func (r *reading) asked() int {
	last := len(r.sentences) - 1
	for last > 0 && r.sentences[last].closed != '?' && r.sentences[last].has(closing) {
		last--
	}
	if last < 0 || r.sentences[last].closed != '?' && !r.sentences[last].has(question) {
		return -1
	}
	return last
}

// lastAsked returns the last sentence that asks, wherever it is, but for what closes a text, or -1.
func (r *reading) lastAsked() int {
	for i := len(r.sentences) - 1; i >= 0; i-- {
		s := &r.sentences[i]
		if !s.has(closing) && (s.closed == '?' || s.asksByWord()) {
			return i
		}
	}
	return -1
}
