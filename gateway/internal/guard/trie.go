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
//
// It is an array of nodes: the one behind node n for byte c stands at n.base+c, if the
// node there belongs to n. That is one look into memory for each byte, and the lexicons
// of all languages are in one array. The patterns that end at a node stand in another
// one, at the same place, since few nodes have some.
type trie struct {
	nodes []node
	ends  []patterns
}

// node is one of a trie. parent is the node that it belongs to, with 1 added, so that 0
// is a place without a node. base is shifted by a bit, which says that patterns end here.
type node struct{ base, parent int32 }

// patterns are those that end at a node, or 0: one that ends with the word, and one with
// any ending.
type patterns struct{ exact, open int32 }

// bytesOfNode is how many values a byte has.
const bytesOfNode = 256

// trie returns what was built, in a form that is fast to read.
func (t *trieBuilder) trie() *trie {
	p := placer{of: t, free: bytesOfNode, forked: 1}
	p.grow(0)
	p.put(0, -1, &t.nodes[0])
	waiting := []placed{{}}
	for len(waiting) > 0 {
		next := waiting[len(waiting)-1]
		waiting = p.place(next, waiting[:len(waiting)-1])
	}
	return &trie{nodes: slices.Clip(p.nodes), ends: slices.Clip(p.ends)}
}

// placed is a node that was built, and its place.
type placed struct{ built, at int32 }

// placer gives nodes their places.
type placer struct {
	of *trieBuilder
	trie
	// free is a place before which there is no room, and forked the base of the last node
	// with several behind it. The next of those is put behind it, which leaves room that
	// those with one fill: to look for the first room that fits would take too long.
	free, forked int32
}

// put puts a node in its place.
func (p *placer) put(at, parent int32, built *buildNode) {
	p.nodes[at] = node{parent: parent}
	p.ends[at] = patterns{built.exact, built.open}
	if built.exact != 0 || built.open != 0 {
		p.nodes[at].base = 1
	}
}

// place finds room for what is behind a node, and adds it to the list of those that wait.
func (p *placer) place(n placed, waiting []placed) []placed {
	built := &p.of.nodes[n.built]
	if len(built.labels) == 0 {
		return waiting
	}
	for p.nodes[p.free].parent != 0 {
		p.free++
		p.grow(p.free)
	}
	base := p.free - int32(built.labels[0])
	if len(built.labels) > 1 {
		base = max(base, p.forked)
	}
	for !p.fits(base, built.labels) {
		base++
	}
	if len(built.labels) > 1 {
		p.forked = base
	}
	p.nodes[n.at].base |= base << 1
	for i, label := range built.labels {
		at := base + int32(label)
		p.put(at, n.at+1, &p.of.nodes[built.next[i]])
		waiting = append(waiting, placed{built.next[i], at})
	}
	return waiting
}

// fits reports whether there is room for all labels behind a base.
func (p *placer) fits(base int32, labels []byte) bool {
	p.grow(base)
	for _, label := range labels {
		if p.nodes[base+int32(label)].parent != 0 {
			return false
		}
	}
	return true
}

// grow makes room behind a place for any byte, so that reading needs no bound.
func (p *placer) grow(place int32) {
	if missing := int(place) + 2*bytesOfNode - len(p.nodes); missing > 0 {
		p.nodes = append(p.nodes, make([]node, missing)...)
		p.ends = append(p.ends, make([]patterns, missing)...)
	}
}

// match calls f for every pattern that begins at a place of text, the shortest first.
func (t *trie) match(text []byte, start int, f func(end int, pattern int32)) {
	at, base := int32(0), t.nodes[0].base>>1
	for i := start; i < len(text); {
		next := base + int32(text[i])
		n := t.nodes[next]
		if n.parent != at+1 {
			return
		}
		at, base = next, n.base>>1
		i++
		if n.base&1 != 0 {
			t.ending(text, i, t.ends[at], f)
		}
		if base == 0 {
			return
		}
	}
}

// ending calls f for the patterns that end before a place of text, if they may end there.
func (t *trie) ending(text []byte, at int, found patterns, f func(end int, pattern int32)) {
	if found.open != 0 {
		if end := wordEnd(text, at); end-at <= maxEnding || utf8.RuneCount(text[at:end]) <= maxEnding {
			f(end, found.open)
		}
	}
	if found.exact != 0 && endsWord(text, at) {
		f(at, found.exact)
	}
}

// endsWord reports whether a word may end before i: one does not go on there, or it is
// of a script without spaces.
func endsWord(text []byte, i int) bool {
	if i >= len(text) {
		return true
	}
	if last, next := text[i-1], text[i]; last < utf8.RuneSelf && next < utf8.RuneSelf {
		return !wordBytes[last] || !wordBytes[next]
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
