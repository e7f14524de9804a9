// Package spelling finds the known words that a word may be a slip of, for an error to name.
package spelling

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// compared is how many known words are looked at.
const compared = 1024

// Rule says which words are near to another.
type Rule struct {
	// Most is how many words are wanted.
	Most int
	// Longest is how many bytes a word may have that is compared. A comparison takes the
	// product of both lengths in time.
	Longest int
	// Changes is how many letters of a word somebody may put in, leave out or mistake who
	// means a known one. Both are folded.
	Changes func(word, known string) int
	// Fold leaves of a word what all ways to write it share. Nil leaves its case out.
	Fold func(word string) string
	// Parts takes every word that the other is a part of, too.
	Parts bool
}

// Near returns the words of known that word may be a slip of, the nearest first, and of
// equally near ones the first in known. An empty word has none, and of a very long list the
// first thousand are looked at.
func (r Rule) Near(word string, known []string) (near []string) {
	fold := r.Fold
	if fold == nil {
		fold = strings.ToLower
	}
	folded := fold(word)
	if folded == "" || len(word) > r.Longest {
		return nil
	}
	type candidate struct {
		word    string
		changes int
	}
	var found []candidate
	for _, k := range known[:min(len(known), compared)] {
		other := fold(k)
		limit, part := r.Changes(folded, other), r.Parts && strings.Contains(k, word)
		if d := len(other) - len(folded); len(k) > r.Longest || !part && max(d, -d) > 4*limit { // a letter has up to 4 bytes
			continue
		}
		if n := levenshtein.ComputeDistance(folded, other); part || n <= limit {
			found = append(found, candidate{k, n})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.changes, b.changes) })
	for _, c := range found {
		if len(near) < r.Most && !slices.Contains(near, c.word) {
			near = append(near, c.word)
		}
	}
	return near
}
