package toolresult

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed words.txt
var wordsFile string

//go:embed phrases.txt
var phrasesFile string

// class is what a word does, a set of bits.
type class uint32

// The classes of words.txt, see saysFailure.
const (
	failure class = 1 << iota
	opening
	harmless
	negation
	no
	present
	absent
	success
	count
	counted
	label
	zero
	falsy
	list
	joint
	without

	end // of the text
)

// lexicon returns the classes of the words that have any.
var lexicon = sync.OnceValue(func() map[string]class {
	names := map[string]class{
		"failure": failure, "opening": opening, "harmless": harmless, "negation": negation, "no": no,
		"present": present, "absent": absent, "success": success, "count": count, "counted": counted,
		"label": label, "zero": zero, "false": falsy, "list": list, "joint": joint, "without": without,
	}
	words := map[string]class{}
	for _, line := range lines(wordsFile) {
		name, list, _ := strings.Cut(line, ":")
		for word := range strings.FieldsSeq(list) {
			words[word] |= names[name]
		}
	}
	return words
})

// phrases returns those of phrases.txt.
var phrases = sync.OnceValue(func() []string { return lines(phrasesFile) })

// lines returns those that say something.
func lines(file string) (all []string) {
	for line := range strings.Lines(file) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			all = append(all, line)
		}
	}
	return all
}

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
		if char == '\'' && before != gap {
			kind = kindOf(rest[size:])
		}
		switch {
		case kind == gap && len(word) > 0,
			kind == capital && before == small,
			kind == capital && before == capital && kindOf(rest[size:]) == small:
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

// kindOf is that of the character that begins a text.
func kindOf(text []byte) letterKind {
	if len(text) == 0 {
		return gap
	}
	_, kind, _ := letter(text)
	return kind
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
