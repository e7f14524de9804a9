package limit

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// follow tends batches while there are some.
func (b *Batches) follow() {
	defer close(b.ended)
	for {
		select {
		case <-b.stop:
			return
		case <-b.wake:
		}
		for b.tend() {
			select {
			case <-b.stop:
				return
			case <-b.wake:
			case <-time.After(tending):
			}
		}
	}
}

// rouse has batches tended now.
func (b *Batches) rouse() {
	select {
	case b.wake <- struct{}{}:
	default: // they will be
	}
}

// surplus reports whether a batch that takes no more requests holds what it does not need.
func (o *batch) surplus() bool {
	free, s := o.free(), o.pool.set
	return free.Tokens > 0 || free.Nano > 0 || o.requests > 0 && s.Has(Requests) || o.slots > o.running && s.Has(Concurrency)
}

// isDue reports whether the Redis is to be told of a batch that takes no more requests: also if the clock was put back.
func (o *batch) isDue(now int64) bool {
	age := now - o.told
	return o.running == 0 || o.surplus() || o.lacks() || o.said != o.wasUsed() || age < 0 || age > Renew.Microseconds()
}

// tend shuts batches whose time is over, says what others have used, and of those that take no more requests gives back what they
// do not need, renews them, and settles those whose requests have ended. It reports whether some are left.
func (b *Batches) tend() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 4*b.shared.patience)
	defer cancel()
	now := b.shared.now()
	var list, open []*batch
	b.mu.Lock()
	for _, p := range b.pools {
		switch o := p.open; {
		case o == nil:
		case !o.takes(now, Amount{}):
			b.shut(p)
		case o.said != o.wasUsed():
			open = append(open, o)
		}
	}
	for _, o := range b.closing {
		if o.isDue(now) {
			list = append(list, o)
		}
	}
	b.mu.Unlock()
	for _, some := range [][]*batch{list, open} { // those that are open learn what the others have given back
		var group errgroup.Group
		group.SetLimit(together)
		for _, o := range some {
			group.Go(func() error { b.tell(ctx, o); return nil })
		}
		_ = group.Wait() // there is no error
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.closing[:0]
	for _, o := range b.closing {
		if !o.gone {
			left = append(left, o)
		}
	}
	clear(b.closing[len(left):])
	b.closing = left
	b.awake = len(left) > 0
	for _, p := range b.pools {
		b.awake = b.awake || p.open != nil
	}
	return b.awake
}

// tell tells the Redis what a batch needs yet, or has used.
func (b *Batches) tell(ctx context.Context, o *batch) {
	b.mu.Lock()
	open := o.open
	b.mu.Unlock()
	if open { // it may be shut meanwhile, and is told of again then
		_, _ = b.grow(ctx, o, nil, true)
		return
	}
	o.telling.Lock()
	defer o.telling.Unlock()
	now := b.shared.now()
	b.mu.Lock()
	back, ended := o.requests, o.running == 0
	o.requests = 0
	o.lease.floors = make([]int64, len(o.floors))
	for i := range o.floors {
		if o.pool.set.limits[i].Kind.IsRate() {
			o.lease.floors[i] = o.floor(i, now)
		}
	}
	w := o.wants(o.needs(), o.running)
	if !ended {
		o.held, o.slots = w.Hold, w.slots // also if the Redis does not answer: it is not given back twice
	}
	used := o.spent
	b.mu.Unlock()
	if ended {
		o.lease.back += back
		err := b.shared.Settle(ctx, o.lease, used)
		b.mu.Lock()
		defer b.mu.Unlock()
		o.gone = err == nil // else it is told later
		return
	}
	_, found, err := b.shared.extend(ctx, o.lease, w, back, true)
	b.mu.Lock()
	defer b.mu.Unlock()
	o.note(found, w.Used, err)
}
