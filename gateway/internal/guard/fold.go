package guard

import (
	"unicode"
	"unicode/utf8"
)

// dropped stands for a rune that folding leaves out.
const dropped = -1

// fold returns the form of a rune that words are compared in: lower case, one form of
// apostrophe, of space and of the letters that people write in two ways.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	switch {
	case 'а' <= r && r <= 'я', '一' <= r && r <= '\u9fef', '가' <= r && r <= '힣': // most of what is read
		return r
	case '\u064b' <= r && r <= '\u0652': // Arabic vowel signs
		return dropped
	case '！' <= r && r <= '～': // full width
		return fold(r - '！' + '!')
	}
	return foldSign(r)
}

// foldSign folds the runes that have another form than their lower case.
func foldSign(r rune) rune {
	switch r {
	case '’', '‘', 'ʼ', '′':
		return '\''
	case 'ı', 'İ':
		return 'i'
	case 'ё', 'Ё':
		return 'е'
	case 'أ', 'إ', 'آ', 'ٱ':
		return 'ا'
	case 'ى':
		return 'ي'
	case '\u0640', '\u200b', '\u200c', '\u200d', '\ufe0f', '\ufeff', '\u00ad', '\u2060':
		return dropped
	case '\u00a0', '\u202f', '\u2009', '\u3000':
		return ' '
	case '—', '–', '、', '،', '؛':
		return ','
	}
	return unicode.ToLower(r)
}

func foldString(s string) []byte {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		if r = fold(r); r != dropped {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

// wordBytes are the bytes of ASCII that words are made of.
var wordBytes = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
	}
	return t
}()

// isWord reports whether a rune is part of a word.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return wordBytes[r]
	}
	return isOftenWord(r) || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
}

// isOftenWord reports whether a rune is of one of the ranges that are parts of words from
// their beginning to their end, of the languages of the lexicons. It saves a search.
func isOftenWord(r rune) bool {
	switch {
	case r < 'А':
		return 'à' <= r && r <= 'ö' || 'ø' <= r && r <= 'ſ'
	case r < 'अ':
		return r <= 'џ' || 'ء' <= r && r <= '\u0652'
	case r < 'ぁ':
		return r <= '\u094d'
	}
	return r <= 'ゖ' || 'ァ' <= r && r <= 'ヺ' || '一' <= r && r <= '\u9fef' || '가' <= r && r <= '힣'
}

// isUnspaced reports whether a rune is of a script that puts no spaces between words, or
// whose endings are many: Chinese, Japanese, Korean, Thai.
func isUnspaced(r rune) bool {
	return r >= '\u0e00' && (r <= '\u0e7f' || '\u3040' <= r && r <= '\u30ff' || '\u3400' <= r && r <= '\u9fff' || '\uac00' <= r && r <= '\ud7a3')
}

// isEmoji reports whether a rune is a picture; pictures separate sentences.
func isEmoji(r rune) bool {
	return '\U0001f300' <= r && r <= '\U0001faff' || '\u2600' <= r && r <= '\u27bf' || r == '\u2b50' || r == '\u2b55'
}

// isTick reports whether a rune is a picture that says that something is done.
func isTick(r rune) bool {
	switch r {
	case '✅', '✔', '☑', '✓', '🗑', '🎉', '👍', '🚀', '💸', '📧', '📅', '🆗', '👌':
		return true
	}
	return false
}
