package toolresult

import (
	"unicode"
	"unicode/utf8"
)

// longestWord is more than the bytes of any word that is sought. What is longer is
// cut.
const longestWord = 40

// wordReader reads the words of a text, in small letters. They end at what is no
// letter, digit or apostrophe within, and where capital letters begin: isError,
// HTTPStatus. A value that holds nothing is a word too: "[]", and "null" for an empty
// text or object.
type wordReader struct {
	text []byte
	at   int
	word [longestWord]byte
}

// next returns the next word, or nil at the end. It is valid until the next call.
func (r *wordReader) next() []byte {
	word := r.word[:0]
	before := gap
	for r.at < len(r.text) {
		rest := r.text[r.at:]
		if n := smallLetters(rest); n > 0 { // most of a text, by far
			word = append(word, rest[:min(n, longestWord-len(word))]...)
			before = small
			r.at += n
			continue
		}
		char, kind, size := letter(rest)
		if char == '\'' && before != gap && len(rest) > size {
			_, kind, _ = letter(rest[size:])
		}
		switch {
		case kind == gap && len(word) > 0,
			kind == capital && before == small,
			kind == capital && before == capital && smallFollows(rest[size:]):
			return word
		case kind == gap:
			if empty := emptyValue(rest); empty != "" {
				r.at += 2
				return append(word, empty...)
			}
		case len(word) <= longestWord-utf8.UTFMax:
			word = utf8.AppendRune(word, char)
		}
		before = kind
		r.at += size
	}
	if len(word) > 0 {
		return word
	}
	return nil
}

// letterKind is what a character is in a word.
type letterKind uint8

const (
	gap letterKind = iota
	small
	capital
)

// letter returns the character that begins a text, as a small letter, and its size.
func letter(text []byte) (char rune, kind letterKind, size int) {
	switch b := text[0]; {
	case 'a' <= b && b <= 'z', '0' <= b && b <= '9':
		return rune(b), small, 1
	case 'A' <= b && b <= 'Z':
		return rune(b) + 'a' - 'A', capital, 1
	case b < utf8.RuneSelf:
		return rune(b), gap, 1
	}
	char, size = utf8.DecodeRune(text)
	switch {
	case char == '’':
		return '\'', gap, size
	case unicode.IsUpper(char):
		return unicode.ToLower(char), capital, size
	case unicode.IsLetter(char), unicode.IsMark(char), unicode.IsDigit(char):
		return char, small, size
	}
	return char, gap, size
}

// smallLetters counts those of ASCII that begin a text.
func smallLetters(text []byte) int {
	for i, b := range text {
		if b < 'a' || b > 'z' {
			return i
		}
	}
	return len(text)
}

func smallFollows(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	_, kind, _ := letter(text)
	return kind == small
}

func emptyValue(text []byte) string {
	if len(text) < 2 {
		return ""
	}
	switch [2]byte{text[0], text[1]} {
	case [2]byte{'[', ']'}:
		return "[]"
	case [2]byte{'"', '"'}, [2]byte{'\'', '\''}, [2]byte{'{', '}'}:
		return "null"
	}
	return ""
}
