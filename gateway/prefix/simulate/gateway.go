package simulate

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway/prefix"
)

// gateway is one of the gateways: the real index, and what a gateway counts itself.
type gateway struct {
	policy     Policy
	index      *prefix.Index
	peer       Peer
	candidates []prefix.Candidate // all targets; Running is what this gateway has there
	chance     *rand.Rand
	turn       int
}

func newGateway(o Options, names []string, seed uint64, clock func() time.Time) *gateway {
	g := &gateway{policy: o.Policy, chance: rand.New(rand.NewPCG(o.Seed, seed))} //nolint:gosec // a simulation wants the same chances each time
	idle := o.Idle
	if idle == 0 {
		idle = -1
	}
	options := prefix.Options{Share: o.Gateways > 1 && o.Sync > 0, Now: clock}
	for _, name := range names {
		options.Targets = append(options.Targets, prefix.Target{Name: name, Entries: o.Entries, Idle: idle})
		g.candidates = append(g.candidates, prefix.Candidate{Target: name})
	}
	g.index = prefix.New(options)
	if options.Share && o.Join != nil {
		g.peer = o.Join(g.index)
	}
	return g
}

// choose returns the number of a target of those that are alive, and how many blocks the
// gateway expects to be cached there.
func (g *gateway) choose(c prefix.Chain, alive func(target int) bool) (target, expected int) {
	var numbers []int
	for i := range g.candidates {
		if alive(i) {
			numbers = append(numbers, i)
		}
	}
	switch g.policy {
	case Random:
		target = numbers[g.chance.IntN(len(numbers))]
	case RoundRobin:
		target = numbers[g.turn%len(numbers)]
		g.turn++
	case Longest:
		target = g.longest(c, numbers)
	case Cost:
		return g.cheapest(c, numbers)
	}
	return target, g.index.Match(g.candidates[target].Target, c)
}

func (g *gateway) cheapest(c prefix.Chain, numbers []int) (target, expected int) {
	candidates := make([]prefix.Candidate, 0, len(numbers))
	for _, i := range numbers {
		candidates = append(candidates, g.candidates[i])
	}
	d := g.index.Choose(c, candidates)
	at := slices.IndexFunc(g.candidates, func(o prefix.Candidate) bool { return o.Target == d.Target })
	return at, d.Expected
}

func (g *gateway) longest(c prefix.Chain, numbers []int) (target int) {
	most := -1
	for _, i := range numbers {
		if n := g.index.Match(g.candidates[i].Target, c); n > most {
			target, most = i, n
		}
	}
	return target
}
