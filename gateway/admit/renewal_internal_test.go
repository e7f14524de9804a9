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
	enough int

	mu      sync.Mutex
	waiting int
	met     chan struct{}
}

func (d *distant) Extend(context.Context, *limit.Lease, limit.Holds, bool) (limit.Verdict, error) {
	d.mu.Lock()
	if d.waiting++; d.waiting == d.enough {
		close(d.met)
	}
	d.mu.Unlock()
	select {
	case <-d.met:
	case <-time.After(time.Second): // one after the other
	}
	d.mu.Lock()
	d.waiting--
	d.mu.Unlock()
	return limit.Verdict{}, nil
}

// TestRenewTogether holds that the leases of requests that run are renewed some at a time: one after the other, thousands at a Redis that is far
// away would take longer than a lease lives.
func TestRenewTogether(t *testing.T) {
	t.Parallel()
	d := &distant{enough: 8, met: make(chan struct{})}
	s := NewState(d, nil)
	defer s.Close()
	g := New(Options{State: s})
	for range d.enough {
		s.add(&account{gate: g, hold: hold{state: s, ctx: t.Context(), lease: &limit.Lease{}}})
	}
	s.renew()
	select {
	case <-d.met:
	default:
		t.Errorf("never were %d leases renewed at a time", d.enough)
	}
}
