package quality

import (
	"math"
	"slices"
	"time"
)

// counts are turns by their result.
type counts [results]uint32

func (c *counts) n() (n uint32) {
	for _, k := range c {
		n += k
	}
	return n
}

// score is the mean score, 0 of none.
func (c *counts) score() float64 {
	sum, n := 0.0, 0.0
	for r, k := range c {
		sum += Result(r).Score() * float64(k)
		n += float64(k)
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

func (c *counts) add(o *counts) {
	for r, k := range o {
		c[r] = min(c[r]+k, maxCount)
	}
}

func (c *counts) subtract(o *counts) {
	for r, k := range o {
		c[r] -= min(c[r], k)
	}
}

// Numbers of tools with a meaning of their own. Others begin at firstTool.
const (
	wholeTurn uint16 = iota // the turn's result
	aim                     // of the turn
	firstTool
)

// cell is what was counted of a tool in one bucket of time.
type cell struct {
	slot uint32 // of bucketTime
	tool uint16
	counts
}

// window is the latest turns of a target: cells in the order of their time, of whole buckets. The
// oldest bucket goes when there are enough turns without it.
type window struct {
	cells []cell
	turns uint32
}

func slotOf(t time.Time) uint32 { return uint32(max(0, t.Unix()) / int64(bucketTime/time.Second)) }

// add counts what was counted in a bucket, which may lie before others.
func (w *window) add(slot uint32, tool uint16, c *counts) {
	if tool == wholeTurn {
		w.turns += c.n()
	}
	i := len(w.cells)
	for i > 0 && w.cells[i-1].slot > slot {
		i--
	}
	for j := i - 1; j >= 0 && w.cells[j].slot == slot; j-- {
		if w.cells[j].tool == tool {
			w.cells[j].add(c)
			return
		}
	}
	w.cells = slices.Insert(w.cells, i, cell{slot: slot, tool: tool, counts: *c})
}

// trim drops buckets that are not needed, and those before oldest.
func (w *window) trim(oldest uint32) {
	for len(w.cells) > 0 {
		first, end, turns := w.cells[0].slot, 0, uint32(0)
		for end < len(w.cells) && w.cells[end].slot == first {
			if w.cells[end].tool == wholeTurn {
				turns += w.cells[end].n()
			}
			end++
		}
		if first >= oldest && w.turns-turns < windowTurns && len(w.cells) <= maxCells {
			return
		}
		w.turns -= turns
		w.cells = slices.Delete(w.cells, 0, end)
	}
}

// forget drops what was counted of a tool.
func (w *window) forget(tool uint16) {
	w.cells = slices.DeleteFunc(w.cells, func(c cell) bool { return c.tool == tool })
}

// sums are the counts of all buckets, by tool.
type sums map[uint16]*counts

// allCalls is the number of all tools together that are not to blame, where that was reckoned.
const allCalls = math.MaxUint16

// total reckons allCalls.
func (s sums) total(skip func(tool uint16) bool) {
	var all counts
	for tool, c := range s {
		if tool >= firstTool && tool != allCalls && !skip(tool) {
			all.add(c)
		}
	}
	s[allCalls] = &all
}

func (w *window) sums() sums {
	out := sums{}
	for i := range w.cells {
		c := &w.cells[i]
		sum := out[c.tool]
		if sum == nil {
			sum = &counts{}
			out[c.tool] = sum
		}
		sum.add(&c.counts)
	}
	return out
}

func (s sums) n(tool uint16) float64 {
	if c := s[tool]; c != nil {
		return float64(c.n())
	}
	return 0
}
