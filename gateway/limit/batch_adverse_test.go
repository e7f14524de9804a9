package limit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/internal/redistest"
)

// ahead has requests of a set, which hold so much each, come until one is part of a batch, and returns that one; the others are over.
func ahead(t *testing.T, b *limit.Batches, s *limit.Set, hold int64) *limit.Lease {
	t.Helper()
	for range 20 {
		l, v, err := b.Acquire(t.Context(), s, fmt.Sprint("r", fresh.Add(1)), holds(hold, 0))
		if err != nil || l == nil {
			t.Fatalf("got %+v, error %v", v.Refusal, err)
		}
		if limit.InOpen(l) {
			return l
		}
		if err := b.Settle(t.Context(), l, limit.Amount{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("got no request in a batch")
	return nil
}

// TestBatchesAskTwice has the budget of a key near its end, while another key of the team holds a lot ahead: what is refused to a request
// of a batch stays refused, though the other gives back what it does not need, and the Redis is told of all batches for that.
func TestBatchesAskTwice(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{true, false} {
		limiter := limit.NewTended(limit.NewShared(client(t, redistest.Start(t)), newClock().now).Patient())
		s := set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: 1000, Window: limit.Total})
		other := set(t, limit.Limit{Scope: limit.Scope{Of: "key", Name: "bob"}, Kind: limit.Money, Max: 1_000_000, Window: limit.Total})
		runs := ahead(t, limiter, s, 10)
		if !open {
			limiter.GiveBack(s)
		}
		most, v, err := limiter.Acquire(t.Context(), s, "most", holds(880, 0))
		if err != nil || most == nil {
			t.Fatalf("got %+v, error %v", v.Refusal, err)
		}
		for range 3 {
			ahead(t, limiter, other, 10)
			if v, err := limiter.Extend(t.Context(), runs, holds(500, 20), false); err != nil || v.Refusal == nil {
				t.Errorf("open %v: got %v and room for 1380 of 1000", open, err)
			}
		}
		if _, v, _ = limiter.Acquire(t.Context(), s, "next", holds(1000, 0)); v.States[0].Used != 900 {
			t.Errorf("open %v: got %d used, want 880 and 20", open, v.States[0].Used)
		}
	}
}

// TestBatchesUsedIsTold holds that what requests of a batch have used is told the Redis in the next round, also where the batch takes no
// more requests and holds what it is to: a gateway that is killed takes no more along.
func TestBatchesUsedIsTold(t *testing.T) {
	t.Parallel()
	c := newClock()
	shared := limit.NewShared(client(t, redistest.Start(t)), c.now).Patient()
	limiter := limit.NewTended(shared)
	s := set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: 100_000, Window: limit.Total})
	one, two := ahead(t, limiter, s, 10), ahead(t, limiter, s, 10)
	limiter.GiveBack(s)
	if _, err := limiter.Extend(t.Context(), one, holds(10, 7), false); err != nil {
		t.Fatal(err)
	}
	if err := limiter.Settle(t.Context(), two, limit.Amount{Nano: 10}); err != nil {
		t.Fatal(err)
	}
	limiter.Tend() // the last that is heard of this gateway
	c.move(2 * limit.Life)
	_, v, err := shared.Acquire(t.Context(), s, "later", holds(1, 0))
	if err != nil || v.States[0].Used != 18 {
		t.Errorf("got %+v, error %v, want 17 used and 1", v.States, err)
	}
}

// TestBatchesClockBack holds that a batch is renewed though the clock was put back.
func TestBatchesClockBack(t *testing.T) {
	t.Parallel()
	c := newClock()
	shared := limit.NewShared(client(t, redistest.Start(t)), c.now).Patient()
	limiter := limit.NewTended(shared)
	s := set(t, limit.Limit{Scope: key, Kind: limit.Concurrency, Max: 1000}, limit.Limit{Scope: key, Kind: limit.Money, Max: 10_000, Window: limit.Total})
	ahead(t, limiter, s, 10)
	limiter.GiveBack(s)
	c.move(-time.Hour)
	for i := range 10 {
		limiter.Tend()
		l, v, err := shared.Acquire(t.Context(), s, fmt.Sprint("next", i), holds(1, 0))
		if err != nil || v.States[0].Used != 2 || v.States[1].Held != 11 {
			t.Fatalf("round %d: got %+v, error %v, want 2 that run and 11 held", i, v.States, err)
		}
		if err := shared.Settle(t.Context(), l, limit.Amount{}); err != nil {
			t.Fatal(err)
		}
		c.move(limit.Life / 2)
	}
}

// TestManyAtATime holds that a batch is made for thousands of requests at a time.
func TestManyAtATime(t *testing.T) {
	t.Parallel()
	limiter := limit.NewTended(limit.NewShared(client(t, redistest.Start(t)), newClock().now).Patient())
	s := set(t, limit.Limit{Scope: key, Kind: limit.Concurrency, Max: 1_000_000})
	var leases []*limit.Lease
	for i := range 9000 {
		l, v, err := limiter.Acquire(t.Context(), s, fmt.Sprint("r", i), limit.Holds{})
		if err != nil || l == nil {
			t.Fatalf("request %d: got %+v, error %v", i, v.Refusal, err)
		}
		leases = append(leases, l)
	}
	for _, l := range leases {
		if err := limiter.Settle(t.Context(), l, limit.Amount{}); err != nil {
			t.Fatal(err)
		}
	}
	limiter.GiveBack(s)
	limiter.Tend()
	if _, v, err := limiter.Acquire(t.Context(), s, "last", limit.Holds{}); err != nil || v.States[0].Used != 1 {
		t.Errorf("got %+v, error %v, want 1 that runs", v.States, err)
	}
}
