package guard

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// echo holds an answer against the user's own words: those that the lexicon does not know, the names of
// things, and figures.
type echo struct {
	said []*reading // the messages; nil once their words are known
	// words are the beginnings of their words: "bisc" and "boos" of "move Biscuit's booster".
	words   [][]byte
	answers answered
}

// answered is whether an answer seems to be one to a request that has no verb.
type answered struct{ known, yes bool }

const (
	// maxOwnWords bounds the words of a message that are looked for in the answer.
	maxOwnWords = 24
	// ownWord is the length in letters from which a word may have endings. One of ownPiece
	// letters counts as a whole, and so do as many characters of a script without spaces.
	ownWord, ownPiece = 4, 2
)

// ownWords returns the beginnings of the words of a text that the lexicon does not know,
// of the names of things, and the figures.
func ownWords(r *reading) [][]byte {
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

// listen takes the words of the messages.
func (e *echo) listen() {
	for _, said := range e.said {
		e.words = append(e.words, ownWords(said)...)
	}
	e.said = nil
}

// repeats counts the words of the user that a part of the answer has.
func (e *echo) repeats(part []byte) (n int) {
	e.listen()
	for i, word := range e.words {
		if repeatsWord(part, word) && !slices.ContainsFunc(e.words[:i], func(w []byte) bool { return bytes.Equal(w, word) }) {
			n++
		}
	}
	return n
}

func repeatsWord(part, word []byte) bool {
	if len(word) < ownWord && isWordByte(word[0]) {
		return containsWord(part, word)
	}
	return bytes.Contains(part, word)
}

// answersPlain reports whether a message without a verb that is known, such as "and Lena",
// seems to be a request: the answer repeats what it is about.
func (e *echo) answersPlain(m *message, answer []byte) bool {
	if m.plain && !e.answers.known {
		n := e.repeats(answer)
		e.answers = answered{true, n >= min(2, max(1, len(e.words)-1))}
	}
	return m.plain && e.answers.yes
}
