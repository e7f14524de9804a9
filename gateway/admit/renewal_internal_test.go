package admit

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/limit"
)

// distant is a limiter that answers once enough wait for it.
type distant struct {
	limit.Limiter
	wait sync.WaitGroup
	once sync.Once
	met  chan struct{} // nobody waits any more
	late bool          // one has waited in vain
}

func (d *distant) Extend(context.Context, *limit.Lease, limit.Holds, bool) (limit.Verdict, error) {
	d.wait.Done()
	select {
	case <-d.met:
	case <-time.After(30 * time.Second):
		d.once.Do(func() { d.late = true; close(d.met) })
	}
	return limit.Verdict{}, nil
}

// TestRenewTogether holds that the leases of requests that run are renewed some at a time: one after the other, thousands at a Redis that is far
// away would take longer than a lease lives.
func TestRenewTogether(t *testing.T) {
	t.Parallel()
	const enough = 8
	d := &distant{met: make(chan struct{})}
	d.wait.Add(enough)
	go func() {
		d.wait.Wait()
		d.once.Do(func() { close(d.met) })
	}()
	s := &State{limiter: d}
	g := New(Options{State: s})
	for range enough {
		s.add(&account{gate: g, hold: hold{state: s, ctx: t.Context(), lease: &limit.Lease{}}})
	}
	if s.renew(); d.late {
		t.Errorf("got a lease that was renewed before %d were asked for", enough)
	}
}
