package guard

import (
	"slices"
	"unicode/utf8"
)

// trie finds words and phrases that begin at a place of a text. It is built once and
// then only read.
type trie struct{ nodes []node }

type node struct {
	labels []byte
	next   []int32
	// exact and open are the patterns that end here, or 0: one that must end with a word,
	// and one with any ending.
	exact, open int32
}

func newTrie() *trie { return &trie{nodes: make([]node, 1, 1<<16)} }

// add puts a word in and returns the place of its pattern's number.
func (t *trie) add(word string, open bool) *int32 {
	at := 0
	for i := range len(word) {
		n := &t.nodes[at]
		place, found := slices.BinarySearch(n.labels, word[i])
		if !found {
			n.labels = slices.Insert(n.labels, place, word[i])
			n.next = slices.Insert(n.next, place, int32(len(t.nodes)))
			t.nodes = append(t.nodes, node{})
		}
		at = int(t.nodes[at].next[place])
	}
	if open {
		return &t.nodes[at].open
	}
	return &t.nodes[at].exact
}

// match calls f for every pattern that begins at a place of text, the shortest first.
func (t *trie) match(text []byte, start int, f func(end int, pattern int32)) {
	at := 0
	for i := start; i < len(text); i++ {
		n := &t.nodes[at]
		next := int32(0)
		for k, label := range n.labels {
			if label == text[i] {
				next = n.next[k]
				break
			}
		}
		if next == 0 {
			return
		}
		at = int(next)
		n = &t.nodes[at]
		if n.open != 0 {
			f(wordEnd(text, i+1), n.open)
		}
		if n.exact != 0 && endsWord(text, i+1) {
			f(i+1, n.exact)
		}
	}
}

// endsWord reports whether a word may end before i: one does not go on there, or it is
// of a script without spaces.
func endsWord(text []byte, i int) bool {
	if i >= len(text) {
		return true
	}
	last, _ := utf8.DecodeLastRune(text[:i])
	if !isWord(last) || isUnspaced(last) {
		return true
	}
	next, _ := utf8.DecodeRune(text[i:])
	return !isWord(next) || isUnspaced(next)
}

// maxEnding bounds the rest of a word behind a pattern with an open end.
const maxEnding = 64

func wordEnd(text []byte, i int) int {
	for limit := i + maxEnding; i < len(text) && i < limit; {
		r, size := utf8.DecodeRune(text[i:])
		if !isWord(r) || isUnspaced(r) {
			return i
		}
		i += size
	}
	return i
}
