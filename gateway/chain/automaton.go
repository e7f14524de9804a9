package chain

import (
	"bytes"
	"slices"
)

// automaton finds the first of many literals in text that comes in pieces
// (Aho and Corasick 1975), in one pass and without looking back. The depth of its
// state is the length of the longest end of the text that could still become a
// literal: just what a scanner must hold back.
type automaton struct {
	first   []byte       // bytes that begin a literal
	begins  [256]uint8   // the same as a table: 1 for one of them
	pairs   [1024]uint64 // the first two bytes of the literals, as bits
	class   [256]uint8   // which column of next a byte uses; 0 for bytes in no literal
	classes int
	next    []uint16 // state*classes + class → state
	depth   []uint16 // how many bytes of a literal the state has matched
	longest []uint16 // length of the longest literal that ends in the state, 0 if none
	leaf    []bool   // no literal goes on from the state
}

// newAutomaton builds the automaton for the literals, which are not empty and
// valid UTF-8 (so that their bytes fit the classes: UTF-8 never uses 13 of the
// 256). All of them together are at most some thousand bytes.
func newAutomaton(literals []string) *automaton {
	a := &automaton{classes: 1}
	for _, l := range literals {
		if bytes.IndexByte(a.first, l[0]) < 0 {
			a.first, a.begins[l[0]] = append(a.first, l[0]), 1
		}
		for second := range 256 {
			if len(l) == 1 || byte(second) == l[1] {
				pair := int(l[0])<<8 | second
				a.pairs[pair/64] |= 1 << (pair % 64)
			}
		}
		for i := range len(l) {
			if a.class[l[i]] == 0 {
				a.class[l[i]] = uint8(a.classes)
				a.classes++
			}
		}
	}
	states := prefixes(literals)
	a.next = make([]uint16, 0, states*a.classes)
	a.depth, a.longest, a.leaf = make([]uint16, 0, states), make([]uint16, 0, states), make([]bool, 0, states)
	a.addState(0)
	for _, l := range literals {
		a.insert(l)
	}
	a.link()
	return a
}

// prefixes is how many different beginnings literals have, with the empty one: each is a state.
func prefixes(literals []string) (n int) {
	n = 1
	before := ""
	for _, l := range slices.Sorted(slices.Values(literals)) {
		shared := 0
		for shared < min(len(l), len(before)) && l[shared] == before[shared] {
			shared++
		}
		n, before = n+len(l)-shared, l
	}
	return n
}

func (a *automaton) addState(depth int) uint16 {
	a.next = a.next[:len(a.next)+a.classes]
	a.depth = append(a.depth, uint16(depth))
	a.longest = append(a.longest, 0)
	a.leaf = append(a.leaf, true)
	return uint16(len(a.depth) - 1)
}

func (a *automaton) insert(literal string) {
	state := uint16(0)
	for i := range len(literal) {
		edge := int(state)*a.classes + int(a.class[literal[i]])
		if a.next[edge] == 0 {
			a.leaf[state] = false
			a.next[edge] = a.addState(i + 1)
		}
		state = a.next[edge]
	}
	a.longest[state] = uint16(len(literal))
}

// link turns the tree of literals into an automaton, breadth first: where a state
// has no edge for a byte it takes the edge of the longest proper end of what it
// has matched.
func (a *automaton) link() {
	fail := make([]uint16, len(a.depth))
	var queue []uint16
	for c := range a.classes {
		if s := a.next[c]; s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if a.longest[s] == 0 {
			a.longest[s] = a.longest[fail[s]]
		}
		for c := range a.classes {
			edge, back := int(s)*a.classes+c, int(fail[s])*a.classes+c
			if t := a.next[edge]; t != 0 {
				fail[t] = a.next[back]
				queue = append(queue, t)
			} else {
				a.next[edge] = a.next[back]
			}
		}
	}
}

// match is the place of a literal: text[start:end]. It is empty if there is none.
type match struct{ start, end int }

// scanner reads one text with an automaton.
type scanner struct {
	a     *automaton
	state uint16
	found match // a literal that a longer or an earlier one may still replace
	skip  skipper
}

// scan reads text[from:] and returns the leftmost literal, the longest of those
// that begin there. Offsets count in text; earlier calls read text[:from]. Where
// there is none yet, ok is false and the last held bytes of text may be the
// beginning of one. At the final call nothing more can come.
func (s *scanner) scan(text []byte, from int, final bool) (m match, ok bool) {
	a := s.a
	for i := from; i < len(text); i++ {
		if s.state == 0 {
			if i = s.skip.to(a, text, i); i == len(text) {
				break
			}
		}
		s.state = a.next[int(s.state)*a.classes+int(a.class[text[i]])]
		if n := int(a.longest[s.state]); n > 0 {
			if start := i + 1 - n; s.found.end == 0 || start <= s.found.start {
				s.found = match{start, i + 1}
			}
		}
		if s.found.end > 0 && s.settled(i+1) {
			return s.take(), true
		}
	}
	if final && s.found.end > 0 {
		return s.take(), true
	}
	return match{}, false
}

// skipper jumps over text that begins no literal. Few bytes begin one, so looking
// for each of them with the machine's fast search beats reading byte by byte; where
// each comes next is remembered, from one literal to the next too, so that a text
// full of one of them stays linear.
type skipper struct {
	next [8]int // no such byte comes before; it is there, or the text was searched up to there
}

// to returns the place of the first byte of text[i:] that begins a literal, or
// len(text). In a short text the search costs more than it saves.
func (s *skipper) to(a *automaton, text []byte, i int) int {
	const short = 64
	if len(text) <= short || len(a.first) > len(s.next) {
		return a.beginning(text, i)
	}
	nearest := len(text)
	for k, b := range a.first {
		at := max(s.next[k], i)
		if at < len(text) && text[at] != b {
			n := bytes.IndexByte(text[at:], b)
			if n < 0 {
				n = len(text) - at
			}
			at += n
		}
		s.next[k] = at
		nearest = min(nearest, at)
	}
	return nearest
}

// beginning is to, byte by byte.
func (a *automaton) beginning(text []byte, i int) int {
	const some = 8 // bytes at a time, of which mostly none begins anything
	for ; i+some < len(text); i += some {
		b := text[i : i+some+1]
		if a.begins[b[0]]|a.begins[b[1]]|a.begins[b[2]]|a.begins[b[3]]|a.begins[b[4]]|a.begins[b[5]]|a.begins[b[6]]|a.begins[b[7]] == 0 {
			continue
		}
		for k := range some {
			if a.begins[b[k]] != 0 && a.begin(b[k], b[k+1]) {
				return i + k
			}
		}
	}
	rest := text[i:]
	for k, b := range rest {
		if a.begins[b] != 0 && (k+1 == len(rest) || a.begin(b, rest[k+1])) {
			return i + k
		}
	}
	return len(text)
}

// begin reports whether a literal may begin with the two bytes.
func (a *automaton) begin(first, second byte) bool {
	pair := int(first)<<8 | int(second)
	return a.pairs[pair/64]&(1<<(pair%64)) != 0
}

// settled reports whether no literal that is still being read, up to end, could
// replace the one that was found.
func (s *scanner) settled(end int) bool {
	start := end - int(s.a.depth[s.state])
	return start > s.found.start || start == s.found.start && s.a.leaf[s.state]
}

func (s *scanner) take() match {
	m := s.found
	s.state, s.found = 0, match{}
	return m
}

// held is how many bytes at the end of the text may still become a literal, given
// the length of the text.
func (s *scanner) held(length int) int {
	held := int(s.a.depth[s.state])
	if s.found.end > 0 {
		held = max(held, length-s.found.start)
	}
	return held
}

// drop tells the scanner that the first n bytes of the text are gone.
func (s *scanner) drop(n int) {
	for k := range s.skip.next {
		s.skip.next[k] = max(0, s.skip.next[k]-n)
	}
	if s.found.end > 0 {
		s.found.start -= n
		s.found.end -= n
	}
}
