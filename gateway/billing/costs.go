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
	sums map[[2]string]*int64
	// last is where the last row was added: the next one is mostly of the same team and model.
	lastKey [2]string
	last    *int64
}

func newCosts() *costs { return &costs{sums: map[[2]string]*int64{}} }

func (c *costs) add(r *Row) {
	if r.Nano == 0 {
		return
	}
	key := [2]string{r.Team, r.Served}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || c.lastKey != key {
		c.lastKey, c.last = key, c.sum(key)
	}
	*c.last = AddNano(*c.last, r.Nano)
}

// sum is where rows of a team and model are added. The caller has the lock.
func (c *costs) sum(key [2]string) *int64 {
	if c.sums[key] == nil && len(c.sums) >= maxCosts {
		key = [2]string{OtherCosts, OtherCosts}
	}
	n := c.sums[key]
	if n == nil {
		n = new(int64)
		c.sums[key] = n
	}
	return n
}

func (c *costs) list() []Cost {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Cost, 0, len(c.sums))
	for k, n := range c.sums {
		out = append(out, Cost{k[0], k[1], *n})
	}
	slices.SortFunc(out, func(a, b Cost) int { return cmp.Or(cmp.Compare(a.Team, b.Team), cmp.Compare(a.Model, b.Model)) })
	return out
}
