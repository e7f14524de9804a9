package prefix

import "math"

const (
	// overlap is the weight of the uncached share against the load: a target that has the
	// whole prompt may have a load of 4 above that of one which has nothing.
	overlap = 4
	// slack is by how much the load of the rendezvous target may be above the
	// least. With less, gateways that do not know of each other disagree more often.
	slack = 3
)

// Candidate is a target that may get the request, with what is known of it now.
type Candidate struct {
	Target string
	// Running is the number of requests that the target answers now.
	Running int
	// Weight is the share of requests that the target should get, relative to the others.
	// 0 and less is 1. It is at least 1e-6 and at most 1e6.
	Weight float64
}

// Reason says why a target was chosen.
type Reason string

// The reasons.
const (
	Single  Reason = "single"  // there is no other
	Cached  Reason = "cached"  // it has the most of the prompt
	Relief  Reason = "relief"  // another has more of the prompt, and is too busy
	Hashed  Reason = "hashed"  // nobody knows the prompt: the rendezvous hash sends it there
	Spilled Reason = "spilled" // the target of the rendezvous hash is too busy, or was given too many lately
	Load    Reason = "load"    // nothing of the prompt is its own; it has the least to do
	// Fallback is not one of Choose: the target that it gave has failed, and the caller
	// asked another.
	Fallback Reason = "fallback"
)

// Decision is what Choose gives.
type Decision struct {
	Target   string // "" where there was no candidate
	Reason   Reason
	Blocks   int    // whole blocks of the prompt
	Hot      int    // leading ones that many prompts have
	Expected int    // leading ones that the target should have in its cache
	Costs    []Cost // of each candidate, in the order given
}

// Cost is the price of a candidate: 4 × share of the prompt that is not cached + Load. Where nobody knows the prompt all of it counts as not cached, even if some have
// a part that everybody sends: the others will soon have it.
type Cost struct {
	Target string
	Cached int     // leading blocks that it has
	Load   float64 // what it has to do, relative to the other candidates: 1 is fair
	Total  float64
}

// Choose returns the candidate that answers the prompt at the least cost. It is called
// once for each attempt. It counts the prompt among the recent ones; it does not assume
// that the target will have it.
//
// Two indexes with the same keys agree about prompts that neither knows, as long as loads
// do not differ much and the same blocks are hot for both.
func (x *Index) Choose(c Chain, candidates []Candidate) Decision {
	d := Decision{Blocks: len(c)}
	if len(candidates) == 0 {
		return d
	}
	d.Hot = x.hot.see(c, len(candidates))
	most, all := x.weigh(&d, c, candidates)
	known := most > d.Hot
	for i := range d.Costs {
		cost := &d.Costs[i]
		cost.Total = overlap + cost.Load
		if known {
			cost.Total -= overlap * float64(cost.Cached) / float64(len(c))
		}
	}
	chosen, first := x.pick(&d, c, all, known)
	cost := d.Costs[chosen]
	d.Target, d.Expected = cost.Target, cost.Cached
	switch {
	case len(candidates) == 1:
		d.Reason = Single
	case known && cost.Cached == most:
		d.Reason = Cached
	case known:
		d.Reason = Relief
	case d.Hot == len(c):
		d.Reason = Load
	case chosen == first:
		d.Reason = Hashed
	default:
		d.Reason = Spilled
	}
	if t := x.target(d.Target); t != nil {
		t.chosen(d.Expected > 0, x.turn.Load())
	}
	return d
}

// weigh fills in the costs but for their total, and returns the longest match and what
// the candidates have to do.
func (x *Index) weigh(d *Decision, c Chain, candidates []Candidate) (most int, all *loads) {
	turn, now := x.turn.Add(1), x.now()
	targets := *x.targets.Load()
	d.Costs = make([]Cost, len(candidates))
	all = &loads{of: make([]load, len(candidates))}
	for i, o := range candidates {
		cost := Cost{Target: o.Target}
		recent := 0.0
		if t := targets[o.Target]; t != nil {
			cost.Cached, recent = t.look(c, now, turn)
		}
		most = max(most, cost.Cached)
		d.Costs[i] = cost
		all.add(i, o, recent)
	}
	all.relative(d.Costs)
	return most, all
}

// pick returns the cheapest candidate. Of several, and for an unknown prompt of those that
// are nearly as cheap, it is the one with the highest rendezvous score, and rather one that
// is not ahead of its share. first is the one with the highest score of all.
func (x *Index) pick(d *Decision, c Chain, all *loads, known bool) (best, first int) {
	limit := math.Inf(1)
	for _, cost := range d.Costs {
		limit = min(limit, cost.Total)
	}
	limit += 1e-9 // equal sums may differ in their last bits
	var block uint64
	if d.Hot == len(c) { // nothing of its own: whoever is cheapest, in turns
		block = x.turn.Load()
	} else {
		block = c[d.Hot]
		if !known {
			limit += slack
		}
	}
	firstScore, bestScore, bestAhead := math.Inf(-1), math.Inf(-1), true
	for i, own := range all.of {
		score := rendezvous(block, d.Costs[i].Target, own.weight)
		if score > firstScore {
			first, firstScore = i, score
		}
		if d.Costs[i].Total > limit {
			continue
		}
		ahead := !known && all.ahead(i)
		if score > bestScore && ahead == bestAhead || bestAhead && !ahead {
			best, bestScore, bestAhead = i, score, ahead
		}
	}
	return best, first
}
