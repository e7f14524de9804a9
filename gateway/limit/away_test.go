package limit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/internal/redistest"
)

// gatewayOf makes a limiter that stands the absence of a Redis.
func gatewayOf(t *testing.T, s *redistest.Server) *limit.Away {
	t.Helper()
	c, err := redis.Open(redis.Options{URL: s.URL(), KeyPrefix: s.KeyPrefix()})
	if err != nil {
		t.Fatal(err)
	}
	a := limit.NewAway(limit.NewShared(c, nil).Patient(), true, nil)
	t.Cleanup(func() {
		a.Close()
		c.Close()
	})
	return a
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// admit asks n times, and settles each with 10 of money.
func admit(t *testing.T, a limit.Limiter, s *limit.Set, n int) (admitted int, last limit.Verdict) {
	t.Helper()
	for range n {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		l, v, err := a.Acquire(ctx, s, fmt.Sprint(fresh.Add(1)), holds(10, 0))
		if err != nil {
			t.Fatal(err)
		}
		if last = v; l != nil {
			admitted++
			for range 2 {
				if err := a.Settle(ctx, l, limit.Amount{Tokens: 10, Nano: 10}); err != nil {
					t.Fatal(err)
				}
			}
		}
		cancel()
	}
	return admitted, last
}

// TestAwayPolicies holds that while the Redis is away each gateway has its share of what was left, that limits that are closed let
// nothing pass and those that are open all, and that what was used meanwhile is added once when it is back.
func TestAwayPolicies(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	a, b := gatewayOf(t, s), gatewayOf(t, s)
	budget := func(p limit.Policy) *limit.Set {
		return set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: 1000, Window: limit.Total, Away: p}, limit.Limit{Scope: key, Kind: limit.Requests, Max: 1_000_000, Per: time.Hour, Away: p})
	}
	share, closed, open := budget(limit.ByKind), budget(limit.Closed), budget(limit.Open)
	for _, one := range []limit.Limiter{a, b} {
		admit(t, one, set(t, limit.Limit{Scope: team, Kind: limit.Concurrency, Max: 1}), 1)
	}
	until(t, "two gateways", func() bool { return a.AwayStats().Replicas == 2 && b.AwayStats().Replicas == 2 })
	if n, _ := admit(t, a, share, 20); n != 20 { // 200 of 1000
		t.Fatalf("got %d admitted, want 20", n)
	}
	if n, _ := admit(t, b, share, 20); n != 20 { // 400
		t.Fatalf("got %d admitted, want 20", n)
	}
	s.Stop()
	n, v := admit(t, b, share, 100)
	if n != 30 || !v.Away || v.Refusal == nil { // half of the 600 that are left
		t.Errorf("got %d admitted, verdict %+v, want 30: this gateway's half", n, v)
	}
	if n, v := admit(t, b, closed, 5); n != 0 || !v.Away || v.Refusal == nil {
		t.Errorf("got %d admitted by what is closed, verdict %+v", n, v)
	}
	if n, _ := admit(t, b, open, 5); n != 5 {
		t.Errorf("got %d admitted by what is open, want 5", n)
	}
	if stats := b.AwayStats(); stats.Up || stats.Journal < 35 || stats.Journal > 36 { // one may have to be released
		t.Errorf("got %+v, want 35 to settle", stats)
	}
	s.Restart()
	until(t, "the journal", func() bool { st := b.AwayStats(); return st.Up && st.Journal == 0 })
	until(t, "the other gateway", func() bool { _, v := admit(t, a, share, 1); return !v.Away })
	_, v = admit(t, b, share, 1)
	used := v.States[0].Used
	if n := used - 750; n <= 0 || n%10 != 0 || n > 500 { // 400, and 350 meanwhile, and what was asked since
		t.Errorf("got %d spent, want 750 and a little more", used)
	}
}

// TestAwayBurst holds that a gateway's share of a small burst is not a burst of all that the limit has.
func TestAwayBurst(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	a, b := gatewayOf(t, s), gatewayOf(t, s)
	for _, one := range []limit.Limiter{a, b} {
		admit(t, one, set(t, limit.Limit{Scope: team, Kind: limit.Concurrency, Max: 1}), 1)
	}
	until(t, "two gateways", func() bool { return a.AwayStats().Replicas == 2 && b.AwayStats().Replicas == 2 })
	s.Stop()
	for _, one := range []limit.Limiter{a, b} {
		if n, _ := admit(t, one, set(t, limit.Limit{Scope: key, Kind: limit.Requests, Max: 24, Burst: 1, Per: 24 * time.Hour}), 10); n != 1 {
			t.Errorf("got %d admitted at once while the Redis is away, want the 1 of the burst", n)
		}
	}
}

// TestAwayRunning holds that a request that runs as the Redis goes away is finished, and settled by what it has used, once.
func TestAwayRunning(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	a := gatewayOf(t, s)
	limits := set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: 1000, Window: limit.Total}, limit.Limit{Scope: key, Kind: limit.Concurrency, Max: 2})
	l, _, err := a.Acquire(t.Context(), limits, "runs", holds(100, 5))
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	s.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if v, err := a.Extend(ctx, l, holds(400, 300), false); err != nil || v.Refusal != nil {
		t.Errorf("got %+v, error %v, want that it goes on", v, err)
	}
	if err := a.Settle(ctx, l, limit.Amount{Nano: 350}); err != nil {
		t.Error(err)
	}
	s.Restart()
	until(t, "the journal", func() bool { st := a.AwayStats(); return st.Up && st.Journal == 0 })
	_, v, err := a.Acquire(t.Context(), limits, "next", holds(10, 0))
	if err != nil || v.States[0].Used != 360 || v.States[0].Held != 10 || v.States[1].Used != 1 {
		t.Errorf("got %+v, error %v, want 350 spent, 10 held, 1 running", v.States, err)
	}
}
