package limit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/redis"
)

// TestAwayFaults has gateways whose lines to the Redis lose and delay requests while these run: in the end nothing is held, and what is spent is
// what was used, whatever arrives when.
func TestAwayFaults(t *testing.T) {
	t.Parallel()
	s := lasting(t)
	limits := set(t, limit.Limit{Scope: team, Kind: limit.Money, Max: limit.MaxAmount, Window: limit.Total, Away: limit.LocalShare}, limit.Limit{Scope: team, Kind: limit.Concurrency, Max: 1000},
		limit.Limit{Scope: key, Kind: limit.Quota, Max: limit.MaxAmount, Window: limit.Total, Away: limit.Open})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var spent int64
	var gateways []*limit.Away
	var lines []*line
	for range 2 {
		l := newLine(t, s.URL())
		c, err := redis.Open(redis.Options{URL: "redis://" + l.in.Addr().String(), KeyPrefix: s.KeyPrefix()})
		if err != nil {
			t.Fatal(err)
		}
		a := limit.NewAway(limit.NewShared(c, nil).Patient(), rand.IntN(2) == 0, nil)
		t.Cleanup(func() { a.Close(); c.Close() })
		gateways, lines = append(gateways, a), append(lines, l)
		for range 4 {
			wg.Go(func() {
				for range 150 {
					ctx := context.Background()
					switch rand.IntN(12) {
					case 0:
						l.lose.Store(loseRequest)
					case 1:
						l.lose.Store(loseAnswer)
					case 2:
						l.lose.Store(delay)
					case 3:
						if err := l.arrive(); err != nil {
							t.Error(err)
						}
					}
					lease, v, err := a.Acquire(ctx, limits, fmt.Sprintf("%d-%d", fresh.Add(1), rand.Int64()), holds(10, 1))
					if err != nil || v.Refusal != nil {
						continue
					}
					for range rand.IntN(4) {
						if _, err := a.Extend(ctx, lease, holds(10+rand.Int64N(50), 1+rand.Int64N(9)), rand.IntN(2) == 0); err != nil {
							t.Error(err)
						}
						time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
					}
					cost := rand.Int64N(60)
					if rand.IntN(5) == 0 {
						cost, err = 0, a.Release(ctx, lease)
					} else {
						err = a.Settle(ctx, lease, limit.Amount{Nano: cost, Tokens: cost})
					}
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					spent += cost
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	for i, a := range gateways {
		lines[i].lose.Store(loseNothing)
		until(t, "the journal", func() bool { st := a.AwayStats(); return st.Up && st.Journal == 0 })
		if err := lines[i].arrive(); err != nil {
			t.Fatal(err)
		}
	}
	c, err := redis.Open(redis.Options{URL: s.URL(), KeyPrefix: s.KeyPrefix()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	shared := limit.NewShared(c, nil).Patient()
	until(t, "all that was used, and nothing held", func() bool {
		l, v, err := shared.Acquire(t.Context(), limits, fmt.Sprint("last", fresh.Add(1)), holds(0, 0))
		if err != nil || l == nil {
			t.Fatal(v.Refusal, err)
		}
		_ = shared.Release(t.Context(), l)
		st := v.States
		return st[0].Held == 0 && st[1].Used == 1 && st[2].Held == 0 && st[0].Used == spent && st[2].Used == spent
	})
}
