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
	hotAtLeast   = 16      // requests that a block must have been in to be hot
)

// sketch counts in how many of the latest requests a leading block was, to tell what
// everybody sends from what a conversation sends. It is a count-min sketch whose counts
// are halved from time to time: it may count too much, never too little.
type sketch struct {
	mu    sync.Mutex
	total int
	cells [2][sketchWidth]uint16
}

// see counts the blocks of a request and returns how many of the leading ones are hot: in
// more than 1/2n of the latest requests, where n targets are to choose from. Such a prefix,
// hashed, would bring its target half of a fair share and more on top of its own.
func (s *sketch) see(c Chain, n int) (hot int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total++
	if s.total >= sketchWindow {
		s.halve()
	}
	limit := max(hotAtLeast, s.total/(2*max(1, n)))
	for i, hash := range c[:min(len(c), hotDepth)] {
		if s.count(hash) > limit && hot == i {
			hot++
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
}
