package simulate

import (
	"cmp"
	"slices"

	"github.com/callgate/callgate/gateway/prefix"
)

// Result is the outcome of a run.
type Result struct {
	Policy   Policy
	Requests int // all of them were answered
	Resent   int // those whose target died on the way
	Blocks   int // of all requests' inputs
	Hits     int // that were in the cache of the target which answered
	// Expected is what gateways believed of Hits when they chose. The last block of an input
	// is mostly not whole, and gateways do not count it.
	Expected int
	// Uncached is the mean number of a request's tokens that were not cached, which is what
	// the time to the first token grows with.
	Uncached float64
	// Served holds the requests that each target answered, Work the tokens that it had to
	// read.
	Served []int
	Work   []int64
	// Entries is the largest number of blocks that an index had for a target at the end.
	Entries int
}

// HitRate is the share of blocks that were cached, from 0 to 1.
func (r Result) HitRate() float64 { return ratio(float64(r.Hits), float64(r.Blocks)) }

// Imbalance is the largest number of requests that a target answered over the mean. 1 is
// even, and the number of targets is all to one.
func (r Result) Imbalance() float64 { return imbalance(r.Served) }

func imbalance[T int | int64](shares []T) float64 {
	var sum, most T
	for _, n := range shares {
		sum += n
		most = max(most, n)
	}
	return ratio(float64(most)*float64(len(shares)), float64(sum))
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// sums is what a run counts on its way.
type sums struct {
	requests, resent       int
	blocks, hits, expected int
	served                 []int
	work                   []int64
}

func (s *sums) add(c *call, uncached int) {
	s.requests++
	s.blocks += len(c.blocks)
	s.hits += c.hit
	s.expected += c.expected
	s.served[c.target]++
	s.work[c.target] += int64(uncached)
}

func (r *run) result() Result {
	s := r.sums
	var work int64
	for _, n := range s.work {
		work += n
	}
	out := Result{
		Policy: r.Policy, Requests: s.requests, Resent: s.resent,
		Blocks: s.blocks, Hits: s.hits, Expected: s.expected,
		Uncached: ratio(float64(work), float64(s.requests)), Served: s.served, Work: s.work,
	}
	for _, g := range r.gateways {
		fullest := slices.MaxFunc(g.index.Snapshot().Targets, func(a, b prefix.TargetSnapshot) int {
			return cmp.Compare(a.Entries, b.Entries)
		})
		out.Entries = max(out.Entries, fullest.Entries)
	}
	return out
}
