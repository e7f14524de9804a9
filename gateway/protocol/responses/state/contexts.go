package state

import (
	"sync"

	"github.com/callgate/callgate/gateway"
)

// contexts are how many tokens models take: what the configuration says, and what upstreams have said when
// they refused more. The second is known to the tenant that was refused alone: two of them may mean
// different models by a name.
type contexts struct {
	mu    sync.Mutex
	limit map[[2]string]int
	known func(model string) int
}

// SetContexts changes what is known of the context of models, in tokens; 0 for one that is not known, and nil if none
// is. It is for requests from now on. A nil Service has none.
func (s *Service) SetContexts(known func(model string) int) {
	if s == nil {
		return
	}
	s.contexts.mu.Lock()
	defer s.contexts.mu.Unlock()
	s.contexts.known = known
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
	learned, known := c.limit[[2]string{tenant, model}], c.known
	c.mu.Unlock()
	least := learned
	if known != nil {
		if n := known(model); n > 0 && (n < least || least == 0) {
			least = n
		}
	}
	return int(int64(least) * 4 / 5)
}
