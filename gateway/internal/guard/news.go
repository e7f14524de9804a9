package guard

import (
	"bytes"
	"unicode/utf8"
)

const (
	// maxTold is how much of a conversation is searched for words, in bytes. A longer one
	// may hold anything.
	maxTold = 16 << 10
	// newWord is the length of such a word, and newStem that of the part that is looked
	// for, in letters: the rest may be an ending.
	newWord, newStem = 5, 4
	// maxNewWords bounds the words that are looked for.
	maxNewWords = 40
)

// isNews reports whether an answer has a word that is in no lexicon and nowhere in the
// conversation, whose JSON is told.
func (r *reading) isNews(told []byte) bool {
	if len(told) > maxTold {
		return false
	}
	told = bytes.ToLower(told)
	tries := 0
	marks := r.marks
	for i := 0; i < len(r.text) && tries < maxNewWords; {
		for len(marks) > 0 && marks[0].end <= i {
			marks = marks[1:]
		}
		if len(marks) > 0 && marks[0].start <= i {
			i = marks[0].end
			continue
		}
		c, size := utf8.DecodeRune(r.text[i:])
		if !isWord(c) {
			i += size
			continue
		}
		end := max(wordEnd(r.text, i), i+size)
		if word := r.text[i:end]; utf8.RuneCount(word) >= newWord {
			tries++
			if !bytes.Contains(told, stem(word)) {
				return true
			}
		}
		i = end
	}
	return false
}

// stem returns the first letters of a word.
func stem(word []byte) []byte {
	at := 0
	for range newStem {
		_, size := utf8.DecodeRune(word[at:])
		at += size
	}
	return word[:at]
}
