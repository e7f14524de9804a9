package billing

import (
	"cmp"
	"slices"
	"sync"
)

// maxCosts bounds the teams and models that metrics tell apart, and OtherCosts is what the others are counted as.
const (
	maxCosts   = 200
	OtherCosts = "other"
)

// Cost is what the answers of one of the upstreams' models have cost a team.
type Cost struct {
	Team, Model string
	Nano        int64
}

// costs sum up what a process has recorded.
type costs struct {
	mu   sync.Mutex
	sums map[[2]string]int64
}

func newCosts() *costs { return &costs{sums: map[[2]string]int64{}} }

func (c *costs) add(r *Row) {
	if r.Nano == 0 {
		return
	}
	key := [2]string{r.Team, r.Served}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.sums[key]; !ok && len(c.sums) >= maxCosts {
		key = [2]string{OtherCosts, OtherCosts}
	}
	c.sums[key] += r.Nano
}

func (c *costs) list() []Cost {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Cost, 0, len(c.sums))
	for k, n := range c.sums {
		out = append(out, Cost{k[0], k[1], n})
	}
	slices.SortFunc(out, func(a, b Cost) int { return cmp.Or(cmp.Compare(a.Team, b.Team), cmp.Compare(a.Model, b.Model)) })
	return out
}
