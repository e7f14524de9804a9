package prefix

import (
	"math"
	"sync"
)

// Bounds of the sketch.
const (
	sketchWidth  = 1 << 14 // cells in a row; two rows of 16 bits are 64 KB
	sketchWindow = 1024    // requests after which all counts are halved
	hotDepth     = 256     // leading blocks of a prompt that are counted
	hotFollowers = 3       // different blocks that must have followed one for it to be hot
	// maxFollowed bounds the blocks of a generation of followers; two of them are 80 KB.
	maxFollowed = 2048
)

// sketch tells what everybody sends from what a conversation sends. It counts in how many
// of the latest requests a leading block was, and of the blocks that are in many of them,
// how many different ones have followed. Only together they tell: a conversation that is
// all there is has its own blocks in every request, and each is followed by one other, or
// by two where an answer was made anew; a document that a few ask about has followers, and
// is best kept where it is while it is a small part of all.
//
// The counts are a count-min sketch, which may count too much and never too little; they
// are halved from time to time.
type sketch struct {
	mu    sync.Mutex
	total int
	cells [2][sketchWidth]uint16
	// now and before are the followers of this window and of the last one.
	now, before followers
}

// see counts the blocks of a request and returns how many of the leading ones are hot: up
// to the last block that is in more than 1/2n of the latest requests, where n targets are
// to choose from, and that different blocks have followed. Such a prefix, hashed, would
// bring its target half of a fair share and more on top of its own.
func (s *sketch) see(c Chain, n int) (hot int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total++
	if s.total >= sketchWindow {
		s.halve()
	}
	limit := s.total / (2 * max(1, n))
	leading := c[:min(len(c), hotDepth)]
	common := len(leading) // blocks that are in many requests
	for i, hash := range leading {
		if s.count(hash) <= limit {
			common = min(common, i)
		}
	}
	return s.branching(c, common)
}

// branching notes what follows the first blocks of a chain, n of them, and returns up to
// where different blocks have followed.
func (s *sketch) branching(c Chain, n int) (hot int) {
	if s.now == nil || len(s.now)+n >= maxFollowed {
		s.turnOver()
	}
	var behind, next uint8 // different blocks that were seen behind this one and the next
	for i, hash := range c[:n] {
		if behind = next; i == 0 {
			behind = s.now[short(hash)]
		}
		if i+1 < len(c) {
			var known bool
			if next, known = s.now[short(c[i+1])]; !known {
				s.now[short(c[i+1])] = 0
				behind = min(behind+1, hotFollowers)
				s.now[short(hash)] = behind
			}
		}
		if behind == hotFollowers || len(s.before) > 0 && s.before[short(hash)] == hotFollowers {
			hot = i + 1
		}
	}
	return hot
}

// count adds one and returns the count.
func (s *sketch) count(hash uint64) int {
	a := &s.cells[0][hash%sketchWidth]
	b := &s.cells[1][(hash>>32)%sketchWidth]
	*a += min(1, math.MaxUint16-*a)
	*b += min(1, math.MaxUint16-*b)
	return int(min(*a, *b))
}

func (s *sketch) halve() {
	s.total /= 2
	for row := range s.cells {
		for i := range s.cells[row] {
			s.cells[row][i] /= 2
		}
	}
	s.turnOver()
}

// turnOver begins a new generation of followers.
func (s *sketch) turnOver() {
	clear(s.before)
	s.now, s.before = s.before, s.now
	if s.now == nil {
		s.now = followers{}
	}
}

// followers are blocks that were seen behind others, with how many different ones were
// seen behind each, up to hotFollowers. A hash covers all that stands before its block, so
// to know a block is to know which one it was behind.
type followers map[entry]uint8
