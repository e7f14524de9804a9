package route_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/internal/route"
)

// naive is a pattern as a regular expression.
func naive(pattern string) *regexp.Regexp {
	return regexp.MustCompile(`(?s)^` + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`) + `$`)
}

func TestGlobProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab/*é]{0,8}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab/*é]{0,12}`).Draw(t, "text")
		if got, want := route.NewGlob(pattern).Match(text), naive(pattern).MatchString(text); got != want {
			t.Errorf("%q on %q: got %v, want %v", pattern, text, got, want)
		}
	})
}

func FuzzGlob(f *testing.F) {
	f.Add("gpt-*-mini*", "gpt-4o-mini-2024")
	f.Add("*", "")
	f.Add("**a", "ba")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 100 || !isASCII(pattern+text) { // regexp reads runes, and a broken one as another
			route.NewGlob(pattern).Match(text)
			return
		}
		if got, want := route.NewGlob(pattern).Match(text), naive(pattern).MatchString(text); got != want {
			t.Errorf("%q on %q: got %v, want %v", pattern, text, got, want)
		}
	})
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f })
}

// TestMeetsProperty compares with all texts of a few letters. A star of so short a pattern needs no more of them.
func TestMeetsProperty(t *testing.T) {
	t.Parallel()
	texts := []string{""}
	for from, length := 0, 0; length < 6; length++ {
		end := len(texts)
		for _, text := range texts[from:end] {
			texts = append(texts, text+"a", text+"b")
		}
		from = end
	}
	rapid.Check(t, func(t *rapid.T) {
		a := route.NewGlob(rapid.StringMatching(`[ab*]{0,3}`).Draw(t, "a"))
		b := route.NewGlob(rapid.StringMatching(`[ab*]{0,3}`).Draw(t, "b"))
		want := slices.ContainsFunc(texts, func(text string) bool { return a.Match(text) && b.Match(text) })
		if got := a.Meets(b); got != want || b.Meets(a) != want {
			t.Errorf("%s and %s: got %v, want %v", a, b, got, want)
		}
	})
}
