package reference

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
	"golang.org/x/text/unicode/norm"
)

// wording is what a folded text is made of. Two texts may have nearly all letters in
// common and mean two things: "Do delete me" and "Do not delete me", "Call Alina" and
// "Call Alice". So texts that are alike by their letters must be so by their words too.
type wording struct {
	words []word
	// signs are the letters of scripts that put no blanks between words.
	signs []rune
	// mixed says that a word has letters of several scripts, as a look-alike has that is
	// to be taken for another one: "mіlk" with a Cyrillic letter.
	mixed bool
}

type word struct {
	text string
	base string // without accents
}

// leastSigns is the least likeness of texts without blanks. There is nothing else to
// tell them apart by.
const leastSigns = 0.75

// numeralSigns are the digits of Chinese and Japanese.
const numeralSigns = "〇零一二三四五六七八九十百千万萬億亿两兩"

// spaceless are the scripts that put no blanks between words.
func spaceless(r rune) bool {
	return r > unicode.MaxLatin1 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan) ||
		r == 'ー' || r == 'ｰ')
}

// read takes a folded text apart. Symbols are words of their own, "C++" is not "C#",
// and punctuation is nothing.
func (w *wording) read(folded string) {
	w.words, w.signs, w.mixed = w.words[:0], w.signs[:0], false
	start := 0
	for i, r := range folded {
		next := i + utf8.RuneLen(r)
		switch {
		case inWord(r) && !spaceless(r) || start < i && contracts(folded[i-1:]):
			continue
		case spaceless(r):
			w.signs = append(w.signs, r)
		case unicode.IsSymbol(r) || strings.ContainsRune("#%&@*", r):
			w.add(folded[start:i])
			w.add(string(r))
			start = next
			continue
		}
		w.add(folded[start:i])
		start = next
	}
	w.add(folded[min(start, len(folded)):])
}

// inWord says whether a word can have a rune in it, be it seen or not.
func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || r > unicode.MaxASCII && unicode.In(r, unicode.M, unicode.Cf)
}

// contracts says whether a text starts as "don't" ends.
func contracts(text string) bool {
	return strings.HasPrefix(text, "n't") || strings.HasPrefix(text, "n’t")
}

// add adds a word, without characters that are not seen.
func (w *wording) add(text string) {
	base := text
	if !ascii(text) {
		text = strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
				return -1
			}
			return r
		}, text)
		base = plainLetters(text)
		w.mixed = w.mixed || mixesScripts(text)
	}
	if text != "" {
		w.words = append(w.words, word{text, base})
	}
}

// plainLetters leaves the accents of Latin, Greek and Cyrillic letters out.
func plainLetters(s string) string {
	return norm.NFC.String(strings.Map(func(r rune) rune {
		switch {
		case r >= 0x300 && r <= 0x36f:
			return -1
		case r == 'ł':
			return 'l'
		case r == 'ı':
			return 'i'
		case r == 'ø':
			return 'o'
		case r == 'đ':
			return 'd'
		}
		return r
	}, norm.NFD.String(s)))
}

// mixesScripts says whether there are letters of several scripts in a word.
func mixesScripts(text string) bool {
	const latin, greek, cyrillic, other = 1, 2, 4, 8
	scripts := 0
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r):
		case unicode.Is(unicode.Latin, r):
			scripts |= latin
		case unicode.Is(unicode.Greek, r):
			scripts |= greek
		case unicode.Is(unicode.Cyrillic, r):
			scripts |= cyrillic
		default:
			scripts |= other
		}
	}
	return scripts&(scripts-1) != 0
}

// like says whether the words of two texts may mean the same.
func (w *wording) like(o *wording) bool {
	switch {
	case w.mixed || o.mixed || len(w.words)+len(w.signs) == 0 || len(o.words)+len(o.signs) == 0:
		return false
	case len(w.words) < len(o.words):
		return o.covers(w)
	}
	return w.covers(o)
}

// covers says whether the words of a text are all in this one, in their order, the same
// or nearly so. What else this one has is missing there, which no negation may be.
func (w *wording) covers(o *wording) bool {
	found := 0
	for i := range w.words {
		if found < len(o.words) && w.words[i].near(&o.words[found]) {
			found++
		} else if len(w.words)-i <= len(o.words)-found || w.words[i].negates() {
			return false
		}
	}
	return found == len(o.words)
}

const (
	// leastNear is how many letters both of two words need to be taken for the same though
	// they differ. Of short ones, most that differ in a letter are other words. One that has
	// lost a letter within may have one less: "rad" for "read".
	leastNear = 4
	// leastStem is how many letters two forms of a word share at least, and leastShare is
	// how much of the longer one that is.
	leastStem  = 5
	leastShare = 0.6
)

// near says whether one word may be a slip for the other, or another form of it: with
// one letter more, less, or changed, or two that changed places, but with the same
// first letter; or with another ending, as "grocery" and "groceries". Digits are no slip.
func (w *word) near(o *word) bool {
	if w.text == o.text || w.base == o.base && (w.text == w.base || o.text == o.base) { // the accents may be left out
		return true
	}
	if min(len(w.base), len(o.base)) < leastNear-1 || w.base[0] != o.base[0] { // most words, soon
		return false
	}
	a, b := []rune(w.base), []rune(o.base)
	if min(len(a), len(b)) < leastNear && !lostOne(a, b) || a[0] != b[0] || !spelled(w.base) || !spelled(o.base) || w.negates() != o.negates() {
		return false
	}
	same := shared(a, b)
	return same >= leastStem && float64(same) >= leastShare*float64(max(len(a), len(b))) || oneSlip(a[same:], b[same:])
}

// lostOne reports whether one of two short words is the other without a letter within: the first
// and the last are the same.
func lostOne(a, b []rune) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	return len(a) == leastNear && len(b) == leastNear-1 && a[0] == b[0] && a[len(a)-1] == b[len(b)-1] && oneSlip(a[shared(a, b):], b[shared(a, b):])
}

// shared returns how many letters two words have in common at their beginning.
func shared(a, b []rune) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// spelled says whether a word can have slips in it. A code or a Roman number, "XVII",
// is another one with each letter that differs.
func spelled(base string) bool {
	return strings.Trim(base, "ivxlcdm") != "" && !strings.ContainsFunc(base, unicode.IsNumber)
}

// oneSlip says whether two texts, which differ from the first letter on, do so in at
// most one letter, or in two that changed places.
func oneSlip(a, b []rune) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	switch len(a) - len(b) {
	case 0:
		return len(a) == 0 || slices.Equal(a[1:], b[1:]) || len(a) > 1 && a[0] == b[1] && a[1] == b[0] && slices.Equal(a[2:], b[2:])
	case 1:
		return slices.Equal(a[1:], b)
	}
	return false
}

// likeSigns says whether the parts of two texts that are written without blanks may
// mean the same, of which ratio says how alike they are as a whole: they must be alike by
// themselves too, with the same numbers, and both negated or neither.
func (w *wording) likeSigns(o *wording, ratio float64) bool {
	if len(w.signs)+len(o.signs) == 0 {
		return true
	}
	numeral := func(r rune) bool { return strings.ContainsRune(numeralSigns, r) }
	if ratio < leastSigns || !slices.Equal(only(w.signs, numeral), only(o.signs, numeral)) {
		return false
	}
	a, b := string(w.signs), string(o.signs)
	for _, sign := range negatingSigns {
		if strings.Count(a, sign) != strings.Count(b, sign) {
			return false
		}
	}
	longer := max(len(w.signs), len(o.signs))
	return float64(longer-levenshtein.ComputeDistance(a, b)) >= leastSigns*float64(longer) && slippedSigns(w.signs, o.signs)
}

// slippedSigns says whether two texts without blanks differ only by signs that one of them leaves
// out, or by one slip of a letter. A Chinese sign in the place of another is no slip but another
// word, as in the names 张伟 and 张华, or in 买 and 卖, to buy and to sell.
func slippedSigns(a, b []rune) bool {
	a, b = alikeParticles(a), alikeParticles(b)
	if len(a) < len(b) {
		a, b = b, a
	}
	if leavesOut(a, b) {
		return true
	}
	same := shared(a, b)
	han := func(list []rune) bool { return unicode.Is(unicode.Han, list[same]) }
	return !han(a) && !han(b) && oneSlip(a[same:], b[same:])
}

// alikeParticles writes the three Chinese particles that sound alike, and are often mixed up, as one.
func alikeParticles(signs []rune) []rune {
	out := slices.Clone(signs)
	for i, r := range out {
		if r == '地' || r == '得' {
			out[i] = '的'
		}
	}
	return out
}

// leavesOut says whether all signs of a text are in a longer one, in their order.
func leavesOut(longer, shorter []rune) bool {
	for _, r := range longer {
		if len(shorter) > 0 && r == shorter[0] {
			shorter = shorter[1:]
		}
	}
	return len(shorter) == 0
}

// only leaves the runes that f holds for.
func only(list []rune, f func(rune) bool) []rune {
	return slices.DeleteFunc(slices.Clone(list), func(r rune) bool { return !f(r) })
}

// negates says whether leaving a word out turns the meaning of a text round.
func (w *word) negates() bool {
	return negation(w.base) || negation(w.text) || strings.HasSuffix(w.text, "n't") || strings.HasSuffix(w.text, "n’t")
}

// negation knows the words that negate, in the languages that most users write, as
// they are and without accents. Some mean other things too, which does no harm: the
// model is asked once more.
func negation(word string) bool {
	switch word {
	case "no", "not", "nor", "none", "never", "nothing", "nobody", "without", "except", "cannot", "cant", "dont", "wont", "isnt",
		"arent", "doesnt", "didnt", "shouldnt", "mustnt", "couldnt", "wouldnt", "hasnt", "havent",
		"nicht", "nichts", "kein", "keine", "keinen", "keinem", "keiner", "keines", "nie", "niemals", "ohne", "ausser", // German
		"ne", "n", "pas", "jamais", "rien", "aucun", "aucune", "sans", "sauf", // French; n is that of n'oublie
		"nunca", "nada", "ningun", "ninguna", "sin", "nao", "nem", "sem", "non", "mai", "senza", "nessun", "nessuna", // Spanish, Portuguese, Italian
		"niet", "geen", "nooit", "zonder", "inte", "ingen", "inget", "aldrig", "utan", "ikke", "aldri", "uden", "uten", "ei", "ala", // Dutch, Scandinavian, Finnish
		"nigdy", "bez", "nu", "fara", "yok", "degil", // Polish, Czech, Romanian, Turkish
		"не", "ни", "нет", "без", "никогда", "немає", "ніколи", // Russian, Ukrainian
		"لا", "ليس", "لم", "لن", "بدون", "לא", "אין", "בלי", // Arabic, Hebrew
		"नहीं", "मत", "न", "안", "못", "khong", "dung", "chua", "jangan", "tidak", "bukan", "tanpa": // Hindi, Korean, Vietnamese, Indonesian
		return true
	}
	return false
}

// negatingSigns are those of scripts without blanks: Chinese, Japanese and Thai.
var negatingSigns = [...]string{"不", "没", "沒", "別", "别", "未", "無", "无", "勿", "莫", "ない", "なし", "ません", "ไม่", "อย่า"}
