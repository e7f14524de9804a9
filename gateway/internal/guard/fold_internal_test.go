package guard

import (
	"testing"
	"unicode"
)

// TestRanges compares the ranges that are known by heart with the tables of Unicode.
func TestRanges(t *testing.T) {
	t.Parallel()
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		letter := unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
		if isOftenWord(r) && !letter {
			t.Errorf("got %U as part of a word, want none", r)
		}
		if got := fold(r); isOftenWord(r) && got != dropped && got != foldSign(r) {
			t.Errorf("%U: got %U folded, want %U", r, got, foldSign(r))
		}
	}
}
