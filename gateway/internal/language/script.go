package language

import (
	"iter"
	"strings"
	"unicode"
)

// script is a writing system.
type script int

// The scripts that several languages share.
const (
	noScript script = iota
	latin
	cyrillic
	arabic
	devanagari
	firstAlone // those of alone follow, in their order
)

// alone are the scripts that one language has to itself, or nearly: what is written in
// Chinese characters without a kana is taken for Chinese.
var alone = []struct {
	code  string
	table *unicode.RangeTable
}{
	{"zh", unicode.Han}, {"th", unicode.Thai}, {"ko", unicode.Hangul}, {"ja", unicode.Hiragana}, {"ja", unicode.Katakana},
	{"el", unicode.Greek}, {"he", unicode.Hebrew}, {"ka", unicode.Georgian}, {"hy", unicode.Armenian}, {"ta", unicode.Tamil},
	{"te", unicode.Telugu}, {"kn", unicode.Kannada}, {"ml", unicode.Malayalam}, {"gu", unicode.Gujarati}, {"pa", unicode.Gurmukhi},
	{"si", unicode.Sinhala}, {"km", unicode.Khmer}, {"lo", unicode.Lao}, {"my", unicode.Myanmar},
}

const (
	han      = firstAlone
	hiragana = firstAlone + 3
	katakana = firstAlone + 4
	scripts  = int(firstAlone) + 19
)

// language is the only one that is written in a script, or "".
func (s script) language() string {
	if s < firstAlone {
		return ""
	}
	return alone[s-firstAlone].code
}

// scriptOf is the script of a letter.
func scriptOf(r rune) script {
	switch {
	case unicode.Is(unicode.Latin, r):
		return latin
	case unicode.Is(unicode.Cyrillic, r):
		return cyrillic
	case unicode.Is(unicode.Arabic, r):
		return arabic
	case unicode.Is(unicode.Devanagari, r):
		return devanagari
	}
	for i, s := range alone {
		if unicode.Is(s.table, r) {
			return firstAlone + script(i)
		}
	}
	return noScript
}

// dominant is the script that most of a text is written in. Words of code and names are
// Latin in every language, so a letter of another script weighs two Latin ones, and a
// Chinese character, which stands for a syllable or a word, three.
func dominant(text string) script {
	var weight [scripts]int
	for _, r := range text {
		if r < unicode.MaxASCII && !unicode.IsLetter(r) {
			continue
		}
		switch s := scriptOf(r); s {
		case latin:
			weight[s]++
		case han:
			weight[s] += 3
		default:
			weight[s] += 2
		}
	}
	weight[noScript] = 0
	best := noScript
	for i, w := range weight {
		if w > weight[best] {
			best = script(i)
		}
	}
	if kana := weight[hiragana] + weight[katakana]; best == han && 8*kana > weight[han] {
		return hiragana
	}
	return best
}

// words are those of a text, in small letters. What has a sign of code in it is none: an
// address, an option, a call.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for chunk := range strings.FieldsSeq(text) {
			inner := strings.Trim(chunk, `.,;:!?()[]"'…«»„“”‘’¿¡*`)
			if strings.HasPrefix(inner, "-") || strings.ContainsAny(inner, "/=_{}<>`$@#\\|;()[]*&^%~+:.0123456789") {
				continue
			}
			for word := range strings.FieldsFuncSeq(inner, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) }) {
				if !yield(strings.ToLower(word)) {
					return
				}
			}
		}
	}
}
