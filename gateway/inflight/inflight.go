// Package inflight bounds the memory that all requests in progress take together: their
// bodies, what is read of them, and what is kept of their answers.
//
// What is counted is what is needed at most, not what is asked of the allocator: a caller
// claims a multiple of the bytes that it holds, by the rules in [Body] and [Answer].
package inflight

import (
	"errors"
	"sync"
	"sync/atomic"
)

// What a claim may fail with.
var (
	// ErrSpent says that all requests together have taken what there is. It helps to wait.
	ErrSpent = errors.New("the memory for requests in progress is spent")
	// ErrShare says that one request alone would take more than its share. No waiting helps.
	ErrShare = errors.New("one request would take more than its share of the memory for all")
)

// What is claimed for a byte that is held. TestPeakMemory in internal/cli measures what a process
// has at once for one request, by client, upstream and form of the body: 1.5 to 3 bytes for a byte of a
// chat completion, and 2 to 4 where it is read or written in another protocol. TestRequestMemory
// counts what is allocated, garbage and all. By TestAnswerMemory the heap grows by 7 to 8 bytes for
// a byte of the worst answers, of which some is how its memory is cut.
const (
	// Body is for a byte of a request's body: the bytes, what is read of them, and the body as a chat
	// completion. What goes upstream is pieces of those.
	Body = 4
	// Anew is for a byte of a request that goes upstream in the form of another API: what of it is not
	// spelled the same there, such as arguments, and what the gateway puts into it.
	Anew = 1
	// Answer is for a byte of a whole answer: the bytes as they came, in parts and joined, what
	// is read from their text, and the answer as it goes out.
	Answer = 6
)

// The shares of a budget. A request that is larger than a small one leaves a quarter of the
// budget to those: a few huge ones cannot keep everybody else out.
const (
	largest   = 2  // a request has at most this part of the budget: a half
	small     = 64 // one with less than this part is small, and may take the last of it
	forAnyOne = 4  // all but this part is for any request
	lasting   = 8  // what outlives its request has at most this part, all of it together
)

// Budget is the memory for all requests in progress, in bytes. It is safe for concurrent use.
// A nil one has no bound.
type Budget struct {
	limit   atomic.Int64
	taken   atomic.Int64
	lasting atomic.Int64 // of what is taken
	refused atomic.Int64
}

// New makes a budget of so many bytes; 0 and less are no bound, which is nil.
func New(limit int64) *Budget {
	if limit <= 0 {
		return nil
	}
	b := &Budget{}
	b.limit.Store(limit)
	return b
}

// SetLimit changes how many bytes there are. What is taken stays taken. A nil budget has no bound
// to change, and no budget becomes one of none.
func (b *Budget) SetLimit(limit int64) {
	if b != nil && limit > 0 {
		b.limit.Store(limit)
	}
}

// Stats are what a budget is at, in bytes, and how often something was refused.
type Stats struct{ Limit, Taken, Refused int64 }

// Stats returns what the budget is at; zeros without a bound.
func (b *Budget) Stats() Stats {
	if b == nil {
		return Stats{}
	}
	return Stats{b.limit.Load(), b.taken.Load(), b.refused.Load()}
}

// Claim begins the claim of a request. It must be closed; then all it has taken is free again.
func (b *Budget) Claim() *Claim {
	if b == nil {
		return nil
	}
	return &Claim{budget: b}
}

// Lasting begins the claim of what outlives its request, such as what a connection remembers. All such
// claims together get a part of the budget: what rests must not keep requests out.
func (b *Budget) Lasting() *Claim {
	if b == nil {
		return nil
	}
	return &Claim{budget: b, lasting: true}
}

// takeLasting is take for what outlives its request.
func (b *Budget) takeLasting(n, total int64) error {
	if b.lasting.Add(n) > b.limit.Load()/lasting {
		b.lasting.Add(-n)
		return ErrSpent
	}
	err := b.take(n, total)
	if err != nil {
		b.lasting.Add(-n)
	}
	return err
}

// take takes n bytes for a request that then has total.
func (b *Budget) take(n, total int64) error {
	limit := b.limit.Load()
	switch {
	case total > limit/largest:
		return ErrShare
	case total > limit/small:
		limit -= limit / forAnyOne
	}
	for {
		taken := b.taken.Load()
		if taken+n > limit {
			return ErrSpent
		}
		if b.taken.CompareAndSwap(taken, taken+n) {
			return nil
		}
	}
}

// Claim is what a request, or an attempt of it, has of a budget. It is safe for concurrent use.
// A nil one has no bound.
type Claim struct {
	budget  *Budget
	parent  *Claim // nil: it is the request's
	lasting bool   // it outlives its request, and has no parent

	mu     sync.Mutex
	taken  int64 // those of its parts among them
	closed bool
}

// Part begins a claim within this one, which can be closed before it: an attempt's, which may
// fail and be followed by another.
func (c *Claim) Part() *Claim {
	if c == nil {
		return nil
	}
	return &Claim{budget: c.budget, parent: c}
}

// Grow takes n bytes more. The error is ErrSpent or ErrShare, and then nothing is taken. A
// closed claim takes nothing any more, without an error: who still has it is about to stop.
func (c *Claim) Grow(n int64) error {
	if c == nil || n <= 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	if c.parent != nil {
		if err := c.parent.Grow(n); err != nil {
			return err
		}
	} else if err := c.take(n); err != nil {
		c.budget.refused.Add(1)
		return err
	}
	c.taken += n
	return nil
}

// take takes n bytes of the budget. The claim is locked.
func (c *Claim) take(n int64) error {
	if c.lasting {
		return c.budget.takeLasting(n, c.taken+n)
	}
	return c.budget.take(n, c.taken+n)
}

// Shrink gives n bytes back, and no more than were taken.
func (c *Claim) Shrink(n int64) {
	if c == nil || n <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.give(min(n, c.taken))
}

// Close gives back all that was taken. It may be called more than once.
func (c *Claim) Close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.give(c.taken)
}

// give gives n bytes back. The claim is locked.
func (c *Claim) give(n int64) {
	c.taken -= n
	if c.parent != nil {
		c.parent.Shrink(n)
		return
	}
	c.budget.taken.Add(-n)
	if c.lasting {
		c.budget.lasting.Add(-n)
	}
}

// Move gives all that is taken to a claim of its own, which outlives this one; who calls it
// closes it. It is called before there are parts.
func (c *Claim) Move() *Claim {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	own := &Claim{budget: c.budget, parent: c.parent, lasting: c.lasting, taken: c.taken}
	c.taken = 0
	return own
}
