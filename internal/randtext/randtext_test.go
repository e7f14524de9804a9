package randtext_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/randtext"
)

// TestAppend holds that ids have their length, all letters and no others, and that none comes twice.
func TestAppend(t *testing.T) {
	t.Parallel()
	const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
	for n := range 30 {
		if got := string(randtext.Append([]byte("id_"), alphabet, n)); len(got) != len("id_")+n || !strings.HasPrefix(got, "id_") {
			t.Errorf("got %q, want id_ and %d letters", got, n)
		}
	}
	seen, used := map[string]bool{}, map[rune]bool{}
	for range 1000 {
		id := string(randtext.Append(nil, alphabet, 24))
		if seen[id] || strings.Trim(id, alphabet) != "" {
			t.Errorf("got %q again, or with other letters", id)
		}
		seen[id] = true
		for _, letter := range id {
			used[letter] = true
		}
	}
	if len(used) != len(alphabet) {
		t.Errorf("got %d letters in 1,000 ids, want all %d", len(used), len(alphabet))
	}
}
