package guard

import (
	"slices"
	"unicode/utf8"
)

// trieBuilder collects words and phrases.
type trieBuilder struct{ nodes []buildNode }

type buildNode struct {
	labels      []byte
	next        []int32
	exact, open int32
}

func newTrieBuilder() *trieBuilder { return &trieBuilder{nodes: make([]buildNode, 1)} }

// add puts a word in and returns the place of its pattern's number. An open word may have
// any ending.
func (t *trieBuilder) add(word string, open bool) *int32 {
	at := 0
	for i := range len(word) {
		n := &t.nodes[at]
		place, found := slices.BinarySearch(n.labels, word[i])
		if !found {
			n.labels = slices.Insert(n.labels, place, word[i])
			n.next = slices.Insert(n.next, place, int32(len(t.nodes)))
			t.nodes = append(t.nodes, buildNode{})
		}
		at = int(t.nodes[at].next[place])
	}
	if open {
		return &t.nodes[at].open
	}
	return &t.nodes[at].exact
}

// trie finds words and phrases that begin at a place of a text. It is only read.
type trie struct {
	root   [256]int32 // the nodes of first bytes
	nodes  []node
	labels []byte
	next   []int32
	wide   [][256]int32
}

// node has the labels[first:last] of its trie, or the table wide[first] if it has many,
// which last tells by being below 0. exact and open are the patterns that end here, or 0:
// one that ends with the word, and one with any ending.
type node struct{ first, last, exact, open int32 }

// manyLabels is how many make a node wide.
const manyLabels = 5

// trie returns what was built, in a form that is fast to read.
func (t *trieBuilder) trie() *trie {
	f := &trie{nodes: make([]node, len(t.nodes))}
	for i, n := range t.nodes {
		if len(n.labels) > manyLabels {
			var table [256]int32
			for k, label := range n.labels {
				table[label] = n.next[k]
			}
			f.nodes[i] = node{int32(len(f.wide)), -1, n.exact, n.open}
			f.wide = append(f.wide, table)
			continue
		}
		first := int32(len(f.labels))
		f.labels = append(f.labels, n.labels...)
		f.next = append(f.next, n.next...)
		f.nodes[i] = node{first, int32(len(f.labels)), n.exact, n.open}
	}
	for i, label := range t.nodes[0].labels {
		f.root[label] = t.nodes[0].next[i]
	}
	return f
}

// match calls f for every pattern that begins at a place of text, the shortest first.
func (t *trie) match(text []byte, start int, f func(end int, pattern int32)) {
	at := t.root[text[start]]
	for i := start + 1; at != 0; i++ {
		n := &t.nodes[at]
		if n.open != 0 {
			if end := wordEnd(text, i); utf8.RuneCount(text[i:end]) <= maxEnding {
				f(end, n.open)
			}
		}
		if n.exact != 0 && endsWord(text, i) {
			f(i, n.exact)
		}
		if i == len(text) {
			return
		}
		at = t.child(n, text[i])
	}
}

// child returns the node behind another for a byte, or 0.
func (t *trie) child(n *node, c byte) int32 {
	if n.last < 0 {
		return t.wide[n.first][c]
	}
	for k := n.first; k < n.last; k++ {
		if t.labels[k] == c {
			return t.next[k]
		}
	}
	return 0
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

const (
	// maxEnding is how many letters an open end stands for: an ending, but not the second
	// half of a compound.
	maxEnding = 7
	maxWord   = 64
)

func wordEnd(text []byte, i int) int {
	for limit := i + maxWord; i < len(text) && i < limit; {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		if !isWord(r) || isUnspaced(r) {
			return i
		}
		i += size
	}
	return i
}
