package guard

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Acts are told as states as well: "Biscuit's booster now sits on Tuesday", "Melk en
// eieren staan op je lijstje". No verb says what was done, so that such a sentence counts
// only as the answer to a request, if it repeats what the request is about.

const (
	// maxOwnWords bounds the words of a message that are looked for in the answer.
	maxOwnWords = 24
	// ownWord is the length in letters from which a word may have endings. One of ownPiece
	// letters counts as a whole, and so do as many characters of a script without spaces.
	ownWord, ownPiece = 4, 2
)

// ownWords returns the beginnings of the words of a text that the lexicon does not know,
// of the names of things, and the figures.
func (r *reading) ownWords() [][]byte {
	words := make([][]byte, 0, min(maxOwnWords, len(r.text)/8+1))
	marks := r.marks
	for i := 0; i < len(r.text) && len(words) < maxOwnWords; {
		for len(marks) > 0 && marks[0].end <= i {
			marks = marks[1:]
		}
		if len(marks) > 0 && marks[0].start <= i && !marks[0].is(object) {
			i = marks[0].end
			continue
		}
		c, size := utf8.DecodeRune(r.text[i:])
		switch {
		case !isWord(c):
			i += size
			continue
		case isUnspaced(c):
			_, next := utf8.DecodeRune(r.text[i+size:])
			if piece := r.text[i : i+size+next]; isPiece(piece) {
				words = append(words, piece)
			}
			i += size
			continue
		}
		end := max(wordEnd(r.text, i), i+size)
		if word := r.text[i:end]; utf8.RuneCount(word) >= ownPiece || isDigit(word[0]) {
			words = append(words, beginning(word))
		}
		i = end
	}
	return words
}

// isPiece reports whether two characters of a script without spaces may be a word:
// particles and endings are written in hiragana.
func isPiece(piece []byte) bool {
	n := 0
	for _, c := range string(piece) {
		if !isUnspaced(c) || 'ぁ' <= c && c <= 'ゟ' {
			return false
		}
		n++
	}
	return n == ownPiece
}

// beginning leaves out what may be an ending: half of a word at most.
func beginning(word []byte) []byte {
	if isDigit(word[0]) || utf8.RuneCount(word) <= ownWord {
		return word
	}
	keep := max(ownWord, (utf8.RuneCount(word)+1)/2)
	at := 0
	for range keep {
		_, size := utf8.DecodeRune(word[at:])
		at += size
	}
	return word[:at]
}

// listen reads the words of the messages that a text answers.
func (r *reading) listen() {
	for _, said := range r.answers {
		r.told = append(r.told, said.ownWords()...)
	}
	r.answers = nil
}

// repeats counts the words of the user's message that a part of the answer has.
func (r *reading) repeats(part []byte) (n int) {
	r.listen()
	for i, word := range r.told {
		if r.repeatsWord(part, word) && !slices.ContainsFunc(r.told[:i], func(w []byte) bool { return bytes.Equal(w, word) }) {
			n++
		}
	}
	return n
}

func (r *reading) repeatsWord(part, word []byte) bool {
	if len(word) < ownWord && isWordByte(word[0]) {
		return containsWord(part, word)
	}
	return bytes.Contains(part, word)
}

// answersPlain reports whether a message without a verb that is known, such as "and Lena",
// seems to be a request: the answer repeats what it is about.
func (j *judgement) answersPlain() bool {
	if !j.wish.plain {
		return false
	}
	if !j.counted {
		j.repeated, j.counted = j.text.repeats(j.text.text), true
	}
	return j.repeated >= min(2, max(1, len(j.text.told)-1))
}

// states weighs sentences that tell how something is now, where the user has asked for
// what makes it so.
func (j *judgement) states() {
	if len(j.turn) > 0 { // a result told it
		return
	}
	if slices.ContainsFunc(j.signals, func(s Signal) bool { return s.Name == SignalClaimTool && s.Weight >= owedWeight }) {
		return
	}
	w := j.wish
	if w.holdsBack() || w.composes || w.reported != 0 || w.actions&(changes|anything) == 0 && !j.answersPlain() {
		return
	}
	if j.text.hasAny(refusal|failure|guide) || j.asksBack() || j.toldBefore {
		return
	}
	for i := range j.text.sentences {
		word, ok := j.stateOf(&j.text.sentences[i])
		if !ok {
			continue
		}
		c := claim{word: word, sentence: i, firm: true, state: true, general: true}
		j.claim(&c, j.owed())
		return
	}
}

// asksBack reports whether the answer asks the user something, but for what closes it and
// offers of something else.
func (j *judgement) asksBack() bool {
	for i := range j.text.sentences {
		if j.asksAt(&j.text.sentences[i]) {
			return true
		}
	}
	return false
}

func (j *judgement) asksAt(s *sentence) bool {
	r := j.text
	switch {
	case s.has(closing), s.closed != '?' && !s.has(question):
		return false
	case s.closed != '?' && s.has(hypothetical): // "If you'd like, I can draft it as well."
		return false
	}
	about := r.aboutSentence(s)
	if about.none() || about.meets(j.wish.things) {
		return true
	}
	for k := s.first; k < s.last; k++ {
		if m := &r.marks[k]; m.is(ask|doing) && m.actions&changes != 0 {
			return false
		}
	}
	return true
}

// aboutSentence returns what a sentence is about.
func (r *reading) aboutSentence(s *sentence) (t things) {
	for k := s.first; k < s.last; k++ {
		t = t.or(r.marks[k].things)
	}
	return t
}

// stateOf returns the word by which a sentence tells a state that the user has asked for.
func (j *judgement) stateOf(s *sentence) (word string, ok bool) {
	r := j.text
	if s.closed == '?' || s.closed == ':' || s.has(hypothetical|question|hedge|waiting|veto) || r.isInstruction(s) {
		return "", false
	}
	if _, announced := r.promiseOf(s); announced {
		return "", false
	}
	repeated := r.repeats(r.text[s.start:s.end])
	if repeated == 0 {
		return "", false
	}
	most := repeated > 1 && repeated >= len(r.told)-1
	for k := s.first; k < s.last; k++ {
		m := &r.marks[k]
		if (m.is(stated) || most && m.is(passive)) && r.isOpen(s, k) {
			return r.word(m), true
		}
	}
	return "", false
}

// isInstruction reports whether a sentence begins with what the user is to do.
func (r *reading) isInstruction(s *sentence) bool {
	return s.first < s.last && r.marks[s.first].start == s.start && r.marks[s.first].is(ask) && !r.marks[s.first].is(object|participle|stated)
}
