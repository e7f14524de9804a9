package limit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/internal/redistest"
)

// largeLimits draws limits of which a batch may hold some, mostly. Hardly anything runs out of the rates: see TestBatchesRate.
func largeLimits(t *rapid.T) []limit.Limit {
	var out []limit.Limit
	sizes := []int64{1000, 5000}
	if rapid.Bool().Draw(t, "tight") { // a single limit like that is enough for no batch
		sizes = []int64{40, 1000, 5000, 5000}
	}
	for _, scope := range []limit.Scope{key, team} {
		for kind := limit.Requests; kind <= limit.Quota; kind++ {
			if rapid.IntRange(0, 2).Draw(t, "has") == 0 {
				continue
			}
			l := limit.Limit{Scope: scope, Kind: kind, Max: rapid.SampledFrom(sizes).Draw(t, "max")}
			switch {
			case kind.IsRate():
				l.Per = 31 * 24 * time.Hour
			case kind.IsBudget():
				l.Window = rapid.SampledFrom([]limit.Window{limit.Day, limit.Total}).Draw(t, "window")
			}
			out = append(out, l)
		}
	}
	return out
}

// TestBatches holds that a gateway which asks the Redis for some requests at once does what the plain model does, to the last unit:
// what it admits and refuses, and what it says of each limit.
func TestBatches(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var ahead atomic.Int64 // requests that a batch let pass, and that were compared
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		limiter := limit.NewTended(limit.NewShared(client(t, server), c.now).Patient())
		m := &model{limits: largeLimits(t), now: c.now()}
		s := set(t, m.limits...)
		leases := map[*leased]*limit.Lease{}
		amount := rapid.Int64Range(0, 20)
		ctx := context.Background()
		draw := func(t *rapid.T) *leased {
			running := slices.DeleteFunc(slices.Clone(m.leases), func(l *leased) bool { return l.over })
			if len(running) == 0 {
				t.Skip("no lease")
			}
			return rapid.SampledFrom(running).Draw(t, "lease")
		}
		n, stale := 0, ""
		changes := func(l *leased, how func() error) { // of what others give back an open batch hears a moment later
			if !limit.InOpen(leases[l]) {
				limiter.GiveBack(s)
				defer limiter.Tend()
			}
			if err := how(); err != nil {
				t.Fatal(err)
			}
		}
		acquire := func(t *rapid.T) {
			n++
			id, hold, used := fmt.Sprint("r", n), amount.Draw(t, "hold"), amount.Draw(t, "used")
			lease, v, err := limiter.Acquire(ctx, s, id, holds(hold, used))
			if err != nil {
				t.Fatal(err)
			}
			want := m.acquire(id, hold, used)
			if got := v.Refusal == nil; got != want || (lease != nil) != want {
				t.Fatalf("acquire %d: got admitted %v, want %v; states %+v", max(hold, used), got, want, v.States)
			}
			if limiter.Closing() {
				stale = limiter.Open(s)
			} else if open := limiter.Open(s); open == "" || open != stale {
				m.compare(t, v.States)
				if limit.InOpen(lease) {
					ahead.Add(1)
				}
			}
			if want {
				leases[m.leases[len(m.leases)-1]] = lease
			}
		}
		extend := func(t *rapid.T, l *leased, hold, used int64, force bool) {
			var v limit.Verdict
			changes(l, func() (err error) {
				v, err = limiter.Extend(ctx, leases[l], holds(hold, used), force)
				return err
			})
			if got, want := v.Refusal == nil, m.extend(l, hold, used, force); got != want {
				t.Fatalf("extend to %d: got room %v, want %v; states %+v", max(hold, used), got, want, v.States)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": acquire,
			"some": func(t *rapid.T) {
				for range rapid.IntRange(3, 12).Draw(t, "times") {
					acquire(t)
				}
			},
			"extend": func(t *rapid.T) {
				extend(t, draw(t), amount.Draw(t, "hold"), amount.Draw(t, "used"), rapid.Bool().Draw(t, "force"))
			},
			"settle": func(t *rapid.T) {
				for range rapid.IntRange(1, 8).Draw(t, "times") {
					l, cost := draw(t), amount.Draw(t, "cost")
					for range 2 {
						changes(l, func() error { return limiter.Settle(ctx, leases[l], limit.Amount{Tokens: cost, Nano: cost}) })
					}
					m.settle(l, cost)
				}
			},
			"release": func(t *rapid.T) {
				l := draw(t)
				changes(l, func() error { return limiter.Release(ctx, leases[l]) })
				m.release(l)
			},
			"tend": func(*rapid.T) { limiter.Tend() },
			"wait": func(t *rapid.T) {
				c.move(rapid.SampledFrom([]time.Duration{time.Microsecond, time.Millisecond, 33 * time.Millisecond, 150 * time.Millisecond, 333 * time.Millisecond, 9 * time.Second,
					25 * time.Second}).Draw(t, "time"))
				m.now = c.now()
				limiter.Tend() // which would have been done meanwhile
				for _, l := range m.leases {
					if !l.over && m.now.Sub(l.renewed) > limit.Renew {
						extend(t, l, l.hold, l.used, true)
					}
				}
			},
		})
	})
	t.Logf("%d requests were admitted by batches", ahead.Load())
	if ahead.Load() < 20 {
		t.Errorf("got %d requests by batches, want 20 or more", ahead.Load())
	}
}

// TestBatchesUsedBeyond has a request use more than it held while its budget has no room for that: it is refused, and what it has
// used counts at once for all that come, also where its batch takes no more requests.
func TestBatchesUsedBeyond(t *testing.T) {
	t.Parallel()
	limiter := limit.NewTended(limit.NewShared(client(t, redistest.Start(t)), newClock().now).Patient())
	s := set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: 1000, Window: limit.Total})
	acquire := func(hold int64) *limit.Lease {
		l, _, err := limiter.Acquire(t.Context(), s, fmt.Sprint("r", fresh.Add(1)), holds(hold, 0))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	var shared *limit.Lease
	for range 10 {
		if l := acquire(10); limit.InOpen(l) {
			shared = l
		}
	}
	if shared == nil {
		t.Fatal("got no request in a batch")
	}
	limiter.GiveBack(s) // the batch is shut; 100 are held
	if acquire(895) == nil {
		t.Fatal("got refused what there is room for")
	}
	if v, err := limiter.Extend(t.Context(), shared, holds(17, 17), false); err != nil || v.Refusal == nil {
		t.Fatalf("got %v and room for 1002 of 1000", err)
	}
	if acquire(3) != nil {
		t.Error("got 3 admitted behind 1002 of 1000")
	}
}

// TestBatchesTogether holds that gateways which all hold something ahead admit as much as there is and no more, that nothing is
// lost, and that nothing is held in the end.
func TestBatchesTogether(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const budget = 200_000
	limits := set(t, limit.Limit{Scope: team, Kind: limit.Money, Max: budget, Window: limit.Total}, limit.Limit{Scope: key, Kind: limit.Concurrency, Max: 500},
		limit.Limit{Scope: key, Kind: limit.Tokens, Max: limit.MaxAmount, Per: time.Minute}, limit.Limit{Scope: key, Kind: limit.Requests, Max: 1_000_000_000, Per: time.Minute})
	shared := limit.NewShared(client(t, server), nil).Patient()
	var wg sync.WaitGroup
	var spent, admitted atomic.Int64
	var gateways []*limit.Batches
	for range 4 {
		gateway := limit.NewBatches(shared, true)
		gateways = append(gateways, gateway)
		for range 8 {
			wg.Go(func() {
				for refused := 0; refused < 100; { // in a second all gateways give back what they hold ahead
					hold := 20 + rand.Int64N(30)
					l, v, err := gateway.Acquire(t.Context(), limits, fmt.Sprint(fresh.Add(1)), holds(hold, 1))
					if err != nil {
						t.Error(err)
						return
					}
					if l == nil {
						if refused++; v.Refusal.Limit.Kind != limit.Money {
							t.Errorf("got refused by %s, want by the budget alone", v.Refusal.Limit.Of())
						}
						time.Sleep(10 * time.Millisecond)
						continue
					}
					refused = 0
					admitted.Add(1)
					if rand.IntN(8) == 0 {
						time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
						if _, err := gateway.Extend(t.Context(), l, holds(hold+20, hold), rand.IntN(2) == 0); err != nil {
							t.Error(err)
						}
					}
					cost := rand.Int64N(hold + 1)
					if err := gateway.Settle(t.Context(), l, limit.Amount{Tokens: cost, Nano: cost}); err != nil {
						t.Error(err)
					}
					spent.Add(cost)
				}
			})
		}
	}
	wg.Wait()
	for _, gateway := range gateways {
		gateway.Close()
	}
	_, v, err := shared.Acquire(t.Context(), limits, "last", holds(limit.MaxAmount, 0))
	if err != nil {
		t.Fatal(err)
	}
	st := v.States
	t.Logf("%d admitted, %d of %d spent", admitted.Load(), spent.Load(), budget)
	if st[0].Used != spent.Load() || st[0].Held != 0 || st[1].Used != 0 {
		t.Errorf("got %d spent, %d held and %d running, want %d, none and none", st[0].Used, st[0].Held, st[1].Used, spent.Load())
	}
	if n := spent.Load(); n > budget || n < budget-50 {
		t.Errorf("got %d of %d spent, want all but what is too little for a request", n, budget)
	}
}

// TestBatchesRate holds that gateways which hold ahead let a rate pass no more than what it has in the time of a batch beyond its limit,
// and not less than the limit.
func TestBatchesRate(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const most, perSecond = 10_000, 1000
	limits := set(t, limit.Limit{Scope: team, Kind: limit.Requests, Max: most, Per: most / perSecond * time.Second},
		limit.Limit{Scope: team, Kind: limit.Tokens, Max: 10 * most, Per: most / perSecond * time.Second})
	var wg sync.WaitGroup
	var admitted, tokens atomic.Int64
	began := time.Now()
	shared := limit.NewShared(client(t, server), nil).Patient()
	for range 3 {
		gateway := limit.NewBatches(shared, true)
		t.Cleanup(func() { gateway.Close() })
		for range 8 {
			wg.Go(func() {
				for refused := 0; refused < 10; {
					l, _, err := gateway.Acquire(t.Context(), limits, fmt.Sprint(fresh.Add(1)), holds(20, 0))
					if err != nil {
						t.Error(err)
						return
					}
					if l == nil {
						refused++
						time.Sleep(20 * time.Millisecond)
						continue
					}
					admitted.Add(1)
					cost := 8 + rand.Int64N(4)
					tokens.Add(cost)
					if err := gateway.Settle(t.Context(), l, limit.Amount{Tokens: cost}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	took := time.Since(began)
	might := most + int64(perSecond*took.Seconds())
	t.Logf("%d requests and %d tokens in %v, by the limits %d and %d", admitted.Load(), tokens.Load(), took, might, 10*might)
	slack := int64(perSecond * 300 / 1000) // of a batch, until the Redis is told what it does not need
	if n := admitted.Load(); n > might+3*slack || n < most*8/10 {
		t.Errorf("got %d admitted, want %d or so", n, might)
	}
	if n := tokens.Load(); n > 10*(might+3*slack) {
		t.Errorf("got %d tokens, want %d at most", n, 10*(might+3*slack))
	}
}
