package limit_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/internal/redistest"
)

// lasting starts a Redis that loses nothing it has answered to when it is killed. With "everysec", its default, it may answer up to two
// seconds before it writes, while the disk is slow.
func lasting(t *testing.T) *redistest.Server {
	t.Helper()
	return redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
}

// gatewayOf makes a limiter that stands the absence of a Redis.
func gatewayOf(t *testing.T, s *redistest.Server) *limit.Away {
	t.Helper()
	return gatewayThatLogs(t, s, nil)
}

func gatewayThatLogs(t *testing.T, s *redistest.Server, log *slog.Logger) *limit.Away {
	t.Helper()
	c, err := redis.Open(redis.Options{URL: s.URL(), KeyPrefix: s.KeyPrefix()})
	if err != nil {
		t.Fatal(err)
	}
	a := limit.NewAway(limit.NewShared(c, nil).Patient(), true, log)
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
	s := lasting(t)
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
	spent(t, s, share, 400) // and nothing is held ahead: of that requests would be let pass beside the share
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
	admitted := int64(20 + 20 + 30 + 5)
	until(t, "the other gateway", func() bool {
		n, v := admit(t, a, share, 1)
		admitted += int64(n)
		return !v.Away
	})
	n, _ = admit(t, b, share, 1)
	admitted += int64(n)
	spent(t, s, share, 10*admitted)
}

// spent waits until a Redis has it that so much of the first limit of a set is spent: what gateways have used of what they hold ahead
// they tell it a moment later.
func spent(t *testing.T, s *redistest.Server, of *limit.Set, want int64) {
	t.Helper()
	c, err := redis.Open(redis.Options{URL: s.URL(), KeyPrefix: s.KeyPrefix()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	reader, last := limit.NewShared(c, nil).Patient(), int64(0)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		l, v, err := reader.Acquire(t.Context(), of, fmt.Sprint(fresh.Add(1)), limit.Holds{})
		if err != nil {
			t.Fatal(err)
		}
		if err := reader.Release(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if last = v.States[0].Used; last == want && v.States[0].Held == 0 {
			return
		}
	}
	t.Errorf("got %d spent, want %d", last, want)
}

// TestAwayBurst holds that a gateway's share of a small burst is not a burst of all that the limit has.
func TestAwayBurst(t *testing.T) {
	t.Parallel()
	s := lasting(t)
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
	s := lasting(t)
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

// command sends a Redis a command that a client of this package has no use for.
func command(t *testing.T, s *redistest.Server, line string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "redis://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "%s\r\n", line); err != nil {
		t.Fatal(err)
	}
	if answer, err := bufio.NewReader(conn).ReadString('\n'); err != nil || answer != "+OK\r\n" {
		t.Fatalf("%s: got %q, error %v", line, answer, err)
	}
}

// returns counts how often a gateway's log says that the Redis is back.
type returns struct {
	slog.Handler
	n atomic.Int64
}

func (r *returns) Enabled(context.Context, slog.Level) bool { return true }

func (r *returns) Handle(_ context.Context, record slog.Record) error {
	if strings.Contains(record.Message, "is back") {
		r.n.Add(1)
	}
	return nil
}

// TestAwayComesAndGoes has a Redis that says it is there, and then takes no request's limits, again and again: the gateway has its share
// of what was left once, and not anew each time.
func TestAwayComesAndGoes(t *testing.T) {
	t.Parallel()
	s := lasting(t)
	log := &returns{Handler: slog.DiscardHandler}
	a := gatewayThatLogs(t, s, slog.New(log))
	limits := set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: 1000, Window: limit.Total, Away: limit.LocalShare},
		limit.Limit{Scope: key, Kind: limit.Requests, Max: 1000, Per: 24 * time.Hour}, limit.Limit{Scope: key, Kind: limit.Concurrency, Max: 10})
	if n, _ := admit(t, a, limits, 20); n != 20 { // 200 of 1000
		t.Fatalf("got %d admitted, want 20", n)
	}
	command(t, s, "ACL SETUSER default resetkeys ~*:gateways")
	until(t, "four returns", func() bool { admit(t, a, limits, 20); return log.n.Load() >= 4 })
	command(t, s, "ACL SETUSER default allkeys")
	until(t, "the journal", func() bool { st := a.AwayStats(); return st.Up && st.Journal == 0 })
	_, v := admit(t, a, limits, 1)
	if used := v.States[0].Used; v.Away || used != 1000 {
		t.Errorf("got %d spent of 1000, want all: %+v", used, v)
	}
	if st := v.States[1]; st.Used < 99 || st.Used > 101 {
		t.Errorf("got %+v, want 100 requests", st)
	}
}

// TestAwayLongRate holds that what a rate has let pass in an absence that is longer than its time fills its bucket, and no more.
func TestAwayLongRate(t *testing.T) {
	t.Parallel()
	s := lasting(t)
	a := gatewayOf(t, s)
	limits := set(t, limit.Limit{Scope: key, Kind: limit.Tokens, Max: 1000, Per: time.Second}, limit.Limit{Scope: key, Kind: limit.Requests, Max: 100, Per: time.Second})
	admit(t, a, limits, 1)
	s.Stop()
	until(t, "three seconds' tokens", func() bool { admit(t, a, limits, 10); return a.AwayStats().Journal >= 300 })
	s.Restart()
	until(t, "the journal", func() bool { st := a.AwayStats(); return st.Up && st.Journal == 0 })
	_, v := admit(t, a, limits, 1)
	if st := v.States; v.Away || st[0].Used > 1000+10 || st[1].Used > 100+1 {
		t.Errorf("got %+v, want full buckets at most", v)
	}
}

// TestAwayRunsOn holds that a request that began while the Redis was away, and runs on when it is back, is held there once it is renewed.
func TestAwayRunsOn(t *testing.T) {
	t.Parallel()
	s := lasting(t)
	a := gatewayOf(t, s)
	limits := set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: 1000, Window: limit.Total}, limit.Limit{Scope: key, Kind: limit.Concurrency, Max: 5},
		limit.Limit{Scope: key, Kind: limit.Tokens, Max: 1000, Per: 24 * time.Hour})
	admit(t, a, limits, 1)
	s.Stop()
	l, v, err := a.Acquire(t.Context(), limits, "runs", holds(100, 5))
	if err != nil || l == nil || !v.Away {
		t.Fatalf("got %+v, error %v", v, err)
	}
	s.Restart()
	until(t, "the return", func() bool { return a.AwayStats().Up })
	for range 2 {
		if _, err := a.Extend(t.Context(), l, holds(200, 150), true); err != nil {
			t.Fatal(err)
		}
	}
	next, v, err := a.Acquire(t.Context(), limits, "next", holds(1, 0))
	if st := v.States; err != nil || st[0].Used != 211 || st[0].Held != 201 || st[1].Used != 2 || st[2].Used < 210 {
		t.Errorf("got %+v, error %v, want 10 spent, 201 held, 2 that run", st, err)
	}
	_ = a.Settle(t.Context(), l, limit.Amount{Nano: 170, Tokens: 170})
	_ = a.Settle(t.Context(), next, limit.Amount{Nano: 1, Tokens: 1})
	until(t, "the journal", func() bool { return a.AwayStats().Journal == 0 })
	_, v, err = a.Acquire(t.Context(), limits, "last", holds(1, 0))
	if st := v.States; err != nil || st[0].Used != 182 || st[0].Held != 1 || st[1].Used != 1 {
		t.Errorf("got %+v, error %v, want 181 spent, 1 held, 1 that runs", st, err)
	}
}

// TestAwayNotAsked holds that a request that began while the Redis was away, was held there once it was back, and that no model has seen
// then, leaves nothing there.
func TestAwayNotAsked(t *testing.T) {
	t.Parallel()
	s := lasting(t)
	a := gatewayOf(t, s)
	limits := set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: 1000, Window: limit.Total}, limit.Limit{Scope: key, Kind: limit.Concurrency, Max: 5},
		limit.Limit{Scope: key, Kind: limit.Tokens, Max: 1000, Per: 24 * time.Hour}, limit.Limit{Scope: key, Kind: limit.Requests, Max: 1000, Per: 24 * time.Hour})
	admit(t, a, limits, 1)
	s.Stop()
	l, v, err := a.Acquire(t.Context(), limits, "waits", holds(100, 5))
	if err != nil || l == nil || !v.Away {
		t.Fatalf("got %+v, error %v", v, err)
	}
	s.Restart()
	until(t, "the return", func() bool { return a.AwayStats().Up })
	if _, err := a.Extend(t.Context(), l, holds(100, 5), true); err != nil {
		t.Fatal(err)
	}
	if err := a.Release(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	until(t, "the journal", func() bool { return a.AwayStats().Journal == 0 })
	_, v, err = a.Acquire(t.Context(), limits, "next", holds(1, 0))
	if st := v.States; err != nil || st[0].Used != 11 || st[1].Used != 1 || st[2].Used > 11 || st[3].Used > 2 {
		t.Errorf("got %+v, error %v, want 10 spent, 1 held, 1 that runs", st, err)
	}
}
