package state

import (
	"sync"

	"github.com/callgate/callgate/gateway"
)

// contexts are how many tokens models take, by what upstreams have said when they refused more. They
// are known to the tenant that was refused alone: two of them may mean different models by a name.
type contexts struct {
	mu    sync.Mutex
	limit map[[2]string]int
}

// maxContexts is how many are kept.
const maxContexts = 1024

// learn notes the limit that an upstream has named.
func (c *contexts) learn(tenant, model string, o *gateway.Overflow) {
	if o == nil || o.Limit == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limit == nil {
		c.limit = map[[2]string]int{}
	}
	for key := range c.limit {
		if len(c.limit) < maxContexts {
			break
		}
		delete(c.limit, key) // whichever: it is learnt again
	}
	c.limit[[2]string{tenant, model}] = o.Limit
}

// room is how many tokens of earlier items a model takes before they are summarized, 80 % of its
// context; 0 if that is not known.
func (c *contexts) room(tenant, model string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limit[[2]string{tenant, model}] / 5 * 4
}
