package guard

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// hit is a pattern that was found.
type hit struct {
	start, end int32
	pattern    int32 // if it is below 0, ^pattern is the place of a word of its own
}

// trieBuilder collects words and phrases.
type trieBuilder struct{ nodes []buildNode }

// buildNode is a node, with the first of those behind it and the next of those beside it, which
// stand in the order of their labels; 0 is none.
type buildNode struct {
	exact, open int32
	first, next int32
	label       byte
}

// someNodes is about what the lexicons of all languages need.
const someNodes = 1 << 17

// newTrieBuilder makes one, with room for so many nodes at first.
func newTrieBuilder(room int) *trieBuilder {
	return &trieBuilder{nodes: make([]buildNode, 1, max(room, 1))}
}

// add puts a word in and returns the place of its pattern's number. An open word may have
// any ending. One with a byte that no text has here is not found.
func (t *trieBuilder) add(word string, open bool) *int32 {
	if strings.IndexByte(word, endsExact) >= 0 || strings.IndexByte(word, endsOpen) >= 0 {
		return new(int32)
	}
	at := int32(0)
	for i := range len(word) {
		at = t.behind(at, word[i])
	}
	if open {
		return &t.nodes[at].open
	}
	return &t.nodes[at].exact
}

// behind is the node behind another one for a label, which it makes if there is none.
func (t *trieBuilder) behind(at int32, label byte) int32 {
	before, next := int32(0), t.nodes[at].first
	for next != 0 && t.nodes[next].label < label {
		before, next = next, t.nodes[next].next
	}
	if next != 0 && t.nodes[next].label == label {
		return next
	}
	made := int32(len(t.nodes))
	t.nodes = append(t.nodes, buildNode{label: label, next: next})
	if before == 0 {
		t.nodes[at].first = made
	} else {
		t.nodes[before].next = made
	}
	return made
}

// renumber gives the patterns other numbers, those of a list.
func (t *trieBuilder) renumber(numbers []int32) {
	for i := range t.nodes {
		n := &t.nodes[i]
		n.exact, n.open = numbers[n.exact], numbers[n.open]
	}
}

// trie finds words and phrases that begin at a place of a text. It is only read.
//
// It is an array of nodes: the one behind node n for byte c stands at n's base+c, if the
// node there has c as its label. No two nodes have the same base, so that the label says
// whose it is. That is one look into four bytes for each byte of the text, and the lexicons
// of all languages are in one array, which fits a cache.
type trie struct{ nodes []node }

// node is the label of a node, whether patterns end with it, and its base. In the places of
// endsExact and endsOpen stand the numbers of those patterns instead of bases. 0 is a place
// without a node.
type node uint32

const (
	hasExact  node = 1 << 8
	hasOpen   node = 1 << 9
	baseShift      = 10
	maxNodes       = 1 << (32 - baseShift)
)

// The labels of patterns that end with a word, and of those with any ending. They are no
// bytes of words.
const (
	endsExact = 0
	endsOpen  = 1
)

// bytesOfNode is how many values a byte has.
const bytesOfNode = 256

// trie returns what was built, in a form that is fast to read.
func (t *trieBuilder) trie() *trie {
	p := placer{of: t, free: bytesOfNode, forked: 1}
	p.grow(0)
	waiting := []placed{{}}
	for len(waiting) > 0 {
		next := waiting[len(waiting)-1]
		waiting = p.place(next, waiting[:len(waiting)-1])
	}
	if len(p.nodes) > maxNodes {
		panic("the lexicons have more words than a node's base can number")
	}
	return &trie{nodes: slices.Clone(p.nodes)}
}

// placed is a node that was built, and its place.
type placed struct{ built, at int32 }

// placer gives nodes their places.
type placer struct {
	of *trieBuilder
	trie
	used   []bool // as bases, by place
	labels []byte // behind the node that is placed
	// free is a place before which there is no room, and forked the base of the last node
	// with several behind it. The next of those is put behind it, which leaves room that
	// those with one fill: to look for the first room that fits would take too long.
	free, forked int32
}

// place finds room for what is behind a node, and adds it to the list of those that wait.
func (p *placer) place(n placed, waiting []placed) []placed {
	built := &p.of.nodes[n.built]
	labels := p.labels[:0]
	if built.exact != 0 {
		labels = append(labels, endsExact)
	}
	if built.open != 0 {
		labels = append(labels, endsOpen)
	}
	for next := built.first; next != 0; next = p.of.nodes[next].next {
		labels = append(labels, p.of.nodes[next].label)
	}
	p.labels = labels
	if len(labels) == 0 { // of a trie without words
		return waiting
	}
	base := p.room(labels)
	p.nodes[n.at] |= node(base) << baseShift
	if built.exact != 0 {
		p.nodes[n.at] |= hasExact
		p.nodes[base+endsExact] = endsExact | node(built.exact)<<baseShift
	}
	if built.open != 0 {
		p.nodes[n.at] |= hasOpen
		p.nodes[base+endsOpen] = endsOpen | node(built.open)<<baseShift
	}
	for next := built.first; next != 0; next = p.of.nodes[next].next {
		label := p.of.nodes[next].label
		at := base + int32(label)
		p.nodes[at] = node(label)
		waiting = append(waiting, placed{next, at})
	}
	return waiting
}

// room is a base that no node has yet, behind which there is room for all labels.
func (p *placer) room(labels []byte) int32 {
	for p.nodes[p.free] != 0 {
		p.free++
		p.grow(p.free)
	}
	first := p.free - int32(labels[0])
	base := first
	if len(labels) > 1 {
		base = max(base, p.forked)
	}
	for !p.fits(base, labels) {
		base++
	}
	if len(labels) > 1 {
		p.forked = base
	} else if base > first+maxSearch {
		p.free++ // it fits nobody
	}
	p.used[base] = true
	return base
}

// maxSearch is how far behind the first free place room may be found before that place stays
// empty.
const maxSearch = 32

// fits reports whether there is room for all labels behind a base.
func (p *placer) fits(base int32, labels []byte) bool {
	p.grow(base)
	if p.used[base] {
		return false
	}
	for _, label := range labels {
		if p.nodes[base+int32(label)] != 0 {
			return false
		}
	}
	return true
}

// grow makes room behind a place for any byte, so that reading needs no bound.
func (p *placer) grow(place int32) {
	if missing := int(place) + 2*bytesOfNode - len(p.nodes); missing > 0 {
		p.nodes = append(p.nodes, make([]node, missing)...)
		p.used = append(p.used, make([]bool, missing)...)
	}
}

// match adds every pattern that begins at a place of text, the shortest first. The word that begins
// there has only ASCII up to its end; where that is not known, end is start.
func (t *trie) match(found []hit, text []byte, start, end int) []hit {
	base := t.nodes[0] >> baseShift
	for i := start; i < len(text); {
		c := text[i]
		n := t.nodes[base+node(c)]
		if byte(n) != c || c <= endsOpen {
			return found
		}
		base = n >> baseShift
		i++
		switch {
		case n&(hasExact|hasOpen) == 0:
		case i > end:
			found = t.ending(found, text, start, i, n)
		default:
			if n&hasOpen != 0 && end-i <= maxEnding {
				found = append(found, hit{int32(start), int32(end), t.pattern(n, endsOpen)})
			}
			if n&hasExact != 0 && i == end {
				found = append(found, hit{int32(start), int32(end), t.pattern(n, endsExact)})
			}
		}
	}
	return found
}

// pattern is the number of the one that ends with a node, which has one of that label.
func (t *trie) pattern(n node, label node) int32 {
	return int32(t.nodes[n>>baseShift+label] >> baseShift)
}

// ending adds the patterns from a start on that end before a place of text, if they may end there.
func (t *trie) ending(found []hit, text []byte, start, at int, n node) []hit {
	if n&hasOpen != 0 {
		if end := wordEnd(text, at); end-at <= maxEnding || utf8.RuneCount(text[at:end]) <= maxEnding {
			found = append(found, hit{int32(start), int32(end), t.pattern(n, endsOpen)})
		}
	}
	if n&hasExact != 0 && endsWord(text, at) {
		found = append(found, hit{int32(start), int32(at), t.pattern(n, endsExact)})
	}
	return found
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
