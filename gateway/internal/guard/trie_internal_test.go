package guard

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTrie compares what is found with what a search through all words finds.
func TestTrie(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString([]string{"a", "b", "ab", " ", "ü", "删", "z"}[random.IntN(7)])
		}
		return b.String()
	}
	type word struct {
		text string
		open bool
	}
	built, words := newTrieBuilder(0), []word{{}}
	for range 3000 {
		w := word{strings.TrimSpace(text(1 + random.IntN(6))), random.IntN(3) == 0}
		if w.text == "" {
			continue
		}
		if pattern := built.add(w.text, w.open); *pattern == 0 {
			*pattern = int32(len(words))
			words = append(words, w)
		}
	}
	trie := built.trie()
	for range 500 {
		s := []byte(text(12))
		type found struct {
			end     int
			pattern int32
		}
		var got, want []found
		for _, h := range trie.match(nil, s, 0, 0) {
			got = append(got, found{int(h.end), h.pattern})
		}
		for pattern, w := range words[1:] {
			end := len(w.text)
			if !strings.HasPrefix(string(s), w.text) || !w.open && !endsWord(s, end) {
				continue
			}
			if w.open {
				stem := end
				if end = wordEnd(s, stem); utf8.RuneCount(s[stem:end]) > maxEnding {
					continue
				}
			}
			want = append(want, found{end, int32(pattern + 1)})
		}
		order := func(a, b found) int { return int(a.pattern - b.pattern) }
		slices.SortFunc(got, order)
		slices.SortFunc(want, order)
		if !slices.Equal(got, want) {
			t.Fatalf("%q: got %v, want %v", s, got, want)
		}
	}
}
