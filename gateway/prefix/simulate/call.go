package simulate

import (
	"time"

	"github.com/callgate/callgate/gateway/prefix"
)

// call is a request on its way.
type call struct {
	*Request
	blocks   []int64
	chain    prefix.Chain
	input    int
	gateway  *gateway
	target   int
	expected int
	hit      int
	ends     time.Duration
	number   int // of calls that end at once the one that began first is the first
}

// calls is a heap of calls by their end.
type calls []*call

func (h calls) Len() int { return len(h) }
func (h calls) Less(i, j int) bool {
	return h[i].ends < h[j].ends || h[i].ends == h[j].ends && h[i].number < h[j].number
}
func (h calls) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *calls) Push(x any)   { *h = append(*h, x.(*call)) }
func (h *calls) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}
