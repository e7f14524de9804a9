package reference

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// caseless leaves of a text what all ways to write it share. White space at its ends is
// left aside, other white space is one blank, and letters are compared as Unicode's
// canonical caseless matching does (The Unicode Standard, 3.13, D145): by full case
// folding, whether they are composed or not. So "STRASSE" is "Straße". No language is
// assumed: Turkish İ and ı stay letters of their own, and only a fuzzy comparison
// finds i for them.
func caseless(s string) string {
	if ascii(s) {
		s = strings.ToLower(s)
	} else {
		s = norm.NFC.String(cases.Fold().String(norm.NFD.String(s)))
	}
	return strings.Join(strings.Fields(s), " ")
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// sameNumbers says whether two texts have the same numbers in them, in their order.
func sameNumbers(a, b string) bool {
	other := func(r rune) bool { return !unicode.IsDigit(r) }
	return slices.Equal(strings.FieldsFunc(a, other), strings.FieldsFunc(b, other))
}

// maxFuzzy is how many runes a text may have that is compared with others for likeness.
const maxFuzzy = 200

// bag counts the runes of a text of at most maxFuzzy, those that share a place in it
// together.
type bag [64]uint8

func (b *bag) fill(s string) {
	for _, r := range s {
		b[int(r)%len(b)]++
	}
}

// distance is a number of changes that making one text from the other takes at least:
// each puts in one rune, takes out one, or does both.
func (b *bag) distance(other *bag) int {
	more, less := 0, 0
	for i := range b {
		if d := int(b[i]) - int(other[i]); d > 0 {
			more += d
		} else {
			less -= d
		}
	}
	return max(more, less)
}
