package limit_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/internal/redistest"
)

func TestMain(m *testing.M) {
	redis.LogTo(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}

// clock is one that a test moves.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2099, 11, 23, 10, 0, 0, 0, time.UTC).UnixMicro())
	return c
}

func (c *clock) now() time.Time       { return time.UnixMicro(c.at.Load()) }
func (c *clock) move(d time.Duration) { c.at.Add(d.Microseconds()) }

// maker makes limiters that know nothing yet.
type maker func(t cleaner, c *clock) limit.Limiter

type cleaner interface {
	Fatal(...any)
	Cleanup(func())
}

var fresh atomic.Int64

// both runs a test with both limiters: they are to do the same.
func both(t *testing.T, test func(t *testing.T, make maker)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, func(_ cleaner, c *clock) limit.Limiter { return limit.NewMemory(c.now) })
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		test(t, func(t cleaner, c *clock) limit.Limiter { return limit.NewShared(client(t, s), c.now).Patient() })
	})
}

// all runs a test with Batches too: these do the same as long as nobody looks at what is free in them.
func all(t *testing.T, test func(t *testing.T, make maker)) {
	t.Helper()
	both(t, test)
	t.Run("batches", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		test(t, func(t cleaner, c *clock) limit.Limiter {
			b := limit.NewBatches(limit.NewShared(client(t, s), c.now).Patient(), true)
			t.Cleanup(func() { b.Close() })
			return b
		})
	})
}

// client makes a client of a server, with keys that nobody else has.
func client(t cleaner, s *redistest.Server) *redis.Client {
	c, err := redis.Open(redis.Options{URL: s.URL(), KeyPrefix: fmt.Sprintf("%s-%d", s.KeyPrefix(), fresh.Add(1))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func set(t interface{ Fatal(...any) }, limits ...limit.Limit) *limit.Set {
	s, err := limit.NewSet("team", limits)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	key  = limit.Scope{Of: "key", Name: "alice"}
	team = limit.Scope{Of: "team", Name: "red"}
)

func holds(hold, used int64) limit.Holds {
	return limit.Holds{Hold: limit.Amount{Tokens: hold, Nano: hold}, Used: limit.Amount{Tokens: used, Nano: used}}
}

// model is what limits mean, as plainly as it can be said: everything that ever happened is kept, and
// gone through again for each question.
type model struct {
	limits []limit.Limit
	leases []*leased
	takes  []take
	now    time.Time
}

type leased struct {
	id         string
	window     map[limit.Window]string
	hold, used int64
	renewed    time.Time
	over       bool
	cost       int64
	tokens     int64 // that rates have taken
}

// take is what a rate was given at a time: tokens, or one request.
type take struct {
	at       time.Time
	requests int64
	tokens   int64
}

func (l *leased) lives(now time.Time) bool { return !l.over && now.Before(l.renewed.Add(limit.Life)) }

// held is what a lease holds now of a budget.
func (l *leased) held(now time.Time) int64 {
	if l.lives(now) {
		return l.hold
	}
	return 0
}

// has is what is used, and how much of that is held.
func (m *model) has(i int) (used, held int64) {
	l := &m.limits[i]
	switch l.Kind {
	case limit.Concurrency:
		for _, one := range m.leases {
			if one.lives(m.now) {
				used++
			}
		}
		return used, used
	case limit.Requests, limit.Tokens:
		return m.level(l), 0
	}
	for _, one := range m.leases {
		switch {
		case one.window[l.Window] != windowOf(l.Window, m.now):
		case one.over:
			used += one.cost
		case one.lives(m.now):
			used, held = used+one.hold, held+one.hold
		default:
			used += one.used
		}
	}
	return used, held
}

// level is what is in the bucket of a rate, rounded up.
func (m *model) level(l *limit.Limit) int64 {
	level, last := new(big.Rat), time.Time{}
	drain := func(at time.Time) {
		if last.IsZero() {
			last = at
		}
		gone := big.NewRat(l.Max*at.Sub(last).Microseconds(), l.Per.Microseconds())
		if level.Sub(level, gone); level.Sign() < 0 {
			level.SetInt64(0)
		}
		last = at
	}
	for _, t := range m.takes {
		drain(t.at)
		n := t.requests
		if l.Kind == limit.Tokens {
			n = t.tokens
		}
		if level.Add(level, new(big.Rat).SetInt64(n)); level.Sign() < 0 {
			level.SetInt64(0)
		}
	}
	drain(m.now)
	up := new(big.Int).Add(level.Num(), new(big.Int).Sub(level.Denom(), big.NewInt(1)))
	return up.Div(up, level.Denom()).Int64()
}

func windowOf(w limit.Window, at time.Time) string {
	at = at.UTC()
	switch w {
	case limit.Day:
		return at.Format(time.DateOnly)
	case limit.Month:
		return at.Format("2006-01")
	case limit.Week:
		y, n := at.ISOWeek()
		return fmt.Sprint(y, n)
	}
	return "total"
}

func (m *model) fits(i int, want int64) bool {
	l := &m.limits[i]
	used, _ := m.has(i)
	if l.Max == 0 && l.Kind != limit.Tokens {
		return false
	}
	return want <= 0 && l.Kind.IsBudget() || used+want <= l.Max
}

func (m *model) room(want int64) bool {
	for i, l := range m.limits {
		n := want
		if l.Kind == limit.Requests || l.Kind == limit.Concurrency {
			n = 1
		}
		if !m.fits(i, n) {
			return false
		}
	}
	return true
}

func (m *model) acquire(id string, hold, used int64) bool {
	hold = max(hold, used)
	if !m.room(hold) {
		return false
	}
	l := &leased{id: id, hold: hold, used: used, renewed: m.now, tokens: hold, window: map[limit.Window]string{}}
	for _, w := range []limit.Window{limit.Day, limit.Week, limit.Month, limit.Total} {
		l.window[w] = windowOf(w, m.now)
	}
	m.leases = append(m.leases, l)
	m.takes = append(m.takes, take{m.now, 1, hold})
	return true
}

func (m *model) extend(l *leased, hold, used int64, force bool) bool {
	hold = max(hold, used)
	fits := true
	for i, one := range m.limits {
		if !one.Kind.IsBudget() {
			continue
		}
		more := hold - l.held(m.now)
		spent := int64(0)
		for _, other := range m.leases {
			if other.window[one.Window] == l.window[one.Window] {
				switch {
				case other.over:
					spent += other.cost
				case other.lives(m.now):
					spent += other.hold
				default:
					spent += other.used
				}
			}
		}
		if one.Max == 0 || more > 0 && spent+more > one.Max {
			fits = false
		}
		_ = i
	}
	if fits || force {
		m.takes = append(m.takes, take{m.now, 0, hold - l.tokens})
		l.hold, l.tokens = hold, hold
	} else {
		l.hold = max(l.held(m.now), used)
	}
	l.used, l.renewed = used, m.now
	return fits
}

func (m *model) settle(l *leased, cost int64) {
	if l.over {
		return
	}
	m.takes = append(m.takes, take{m.now, 0, cost - l.tokens})
	l.over, l.cost = true, cost
}

func (m *model) release(l *leased) {
	if l.over {
		return
	}
	m.takes = append(m.takes, take{m.now, -1, -l.tokens})
	l.over = true
}

// someLimits draws limits of any kind.
func someLimits(t *rapid.T) []limit.Limit {
	var out []limit.Limit
	for _, scope := range []limit.Scope{key, team, {Of: "model", Name: "gpt"}} {
		for kind := limit.Requests; kind <= limit.Quota; kind++ {
			if rapid.IntRange(0, 2).Draw(t, "has") > 0 {
				continue
			}
			l := limit.Limit{Scope: scope, Kind: kind}
			switch {
			case kind.IsRate():
				l.Per = rapid.SampledFrom([]time.Duration{time.Second, 7 * time.Second, time.Minute, time.Hour}).Draw(t, "per")
				l.Max = rapid.SampledFrom([]int64{1, 3, 7, 60, 100_000, 99_991}).Draw(t, "max")
			case kind.IsBudget():
				l.Window = rapid.SampledFrom([]limit.Window{limit.Day, limit.Week, limit.Month, limit.Total}).Draw(t, "window")
				l.Max = rapid.SampledFrom([]int64{0, 1, 10, 1000, 100_000, limit.MaxAmount}).Draw(t, "max")
			default:
				l.Max = rapid.Int64Range(0, 5).Draw(t, "max")
			}
			out = append(out, l)
		}
	}
	return out
}

// TestModel holds that both limiters do what the plain model does, whatever happens: leases that nobody renews, clocks that jump
// ahead, windows that end, settling late and twice.
func TestModel(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, make maker) {
		rapid.Check(t, func(t *rapid.T) {
			c := newClock()
			limiter := make(t, c)
			m := &model{limits: someLimits(t), now: c.now()}
			s := set(t, m.limits...)
			leases := map[*leased]*limit.Lease{}
			amount := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, 2000), rapid.Int64Range(0, 200_000))
			ctx := context.Background()
			draw := func(t *rapid.T) *leased {
				young := slices.DeleteFunc(slices.Clone(m.leases), func(l *leased) bool { return m.now.Sub(l.renewed) > 24*time.Hour }) // no request runs for days
				if len(young) == 0 {
					t.Skip("no lease")
				}
				return rapid.SampledFrom(young).Draw(t, "lease")
			}
			n := 0
			t.Repeat(map[string]func(*rapid.T){
				"acquire": func(t *rapid.T) {
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
					m.compare(t, v.States)
					if want {
						leases[m.leases[len(m.leases)-1]] = lease
					}
				},
				"extend": func(t *rapid.T) {
					l := draw(t)
					hold, used, force := amount.Draw(t, "hold"), amount.Draw(t, "used"), rapid.Bool().Draw(t, "force")
					v, err := limiter.Extend(ctx, leases[l], holds(hold, used), force)
					if (err != nil) != l.over {
						t.Fatalf("extend: got error %v of a lease that is over: %v", err, l.over)
					}
					if l.over {
						return
					}
					if got, want := v.Refusal == nil, m.extend(l, hold, used, force); got != want {
						t.Fatalf("extend to %d: got room %v, want %v; states %+v", max(hold, used), got, want, v.States)
					}
				},
				"settle": func(t *rapid.T) {
					l, cost := draw(t), amount.Draw(t, "cost")
					if err := limiter.Settle(ctx, leases[l], limit.Amount{Tokens: cost, Nano: cost}); err != nil {
						t.Fatal(err)
					}
					m.settle(l, cost)
				},
				"release": func(t *rapid.T) {
					l := draw(t)
					if err := limiter.Release(ctx, leases[l]); err != nil {
						t.Fatal(err)
					}
					m.release(l)
				},
				"wait": func(t *rapid.T) {
					c.move(rapid.SampledFrom([]time.Duration{time.Microsecond, time.Millisecond, 333 * time.Millisecond, time.Second, 19 * time.Second, limit.Life,
						2 * time.Minute, 15 * time.Minute, time.Hour, 14 * time.Hour, 40 * time.Hour, 9 * 24 * time.Hour}).Draw(t, "time"))
					m.now = c.now()
				},
			})
		})
	})
}

func (m *model) compare(t *rapid.T, states []limit.State) {
	for i, st := range states {
		used, held := m.has(i)
		if k := m.limits[i].Kind; st.Used != used || k.IsBudget() && st.Held != held {
			t.Fatalf("%s of %s: got %d used, %d of them held, want %d and %d", m.limits[i].Of(), m.limits[i].Scope, st.Used, st.Held, used, held)
		}
		if want := max(m.limits[i].Max-used, 0); st.Remaining != want {
			t.Fatalf("%s of %s: got %d remaining, want %d", m.limits[i].Of(), m.limits[i].Scope, st.Remaining, want)
		}
	}
}

// TestAllOrNothing holds that a request which one limit refuses takes nothing of the others.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	all(t, func(t *testing.T, make maker) {
		limiter := make(t, newClock())
		s := set(t, limit.Limit{Scope: key, Kind: limit.Requests, Max: 60, Per: time.Minute}, limit.Limit{Scope: key, Kind: limit.Tokens, Max: 1000, Per: time.Minute},
			limit.Limit{Scope: key, Kind: limit.Concurrency, Max: 10}, limit.Limit{Scope: team, Kind: limit.Money, Max: 100, Window: limit.Month})
		for i := range 5 {
			_, v, err := limiter.Acquire(t.Context(), s, fmt.Sprint(i), holds(101, 0))
			if err != nil || v.Refusal == nil || v.Refusal.Limit.Kind != limit.Money {
				t.Fatalf("got the verdict %+v, error %v, want that there is no money", v, err)
			}
			for _, st := range v.States {
				if st.Used != 0 {
					t.Errorf("got %d of %s used, want none", st.Used, st.Limit.Of())
				}
			}
		}
	})
}

// TestTurns holds that the limits of a minute come back piece by piece, and what is said of that.
func TestTurns(t *testing.T) {
	t.Parallel()
	all(t, func(t *testing.T, make maker) {
		c := newClock()
		limiter := make(t, c)
		s := set(t, limit.Limit{Scope: key, Kind: limit.Requests, Max: 7, Per: time.Minute})
		admit := func(want bool) limit.Verdict {
			t.Helper()
			l, v, err := limiter.Acquire(t.Context(), s, fmt.Sprint(fresh.Add(1)), holds(1, 0))
			if err != nil || (l != nil) != want {
				t.Fatalf("got a lease: %v, error %v, want one: %v", l != nil, err, want)
			}
			return v
		}
		for i := range 7 {
			if v := admit(true); v.States[0].Remaining != int64(6-i) {
				t.Errorf("got %d remaining, want %d", v.States[0].Remaining, 6-i)
			}
		}
		wait := admit(false).Refusal.Wait
		if want := time.Minute / 7; wait < want || wait > want+time.Microsecond {
			t.Errorf("got %v to wait, want %v", wait, want)
		}
		c.move(wait - time.Microsecond)
		admit(false)
		c.move(time.Microsecond)
		admit(true)
		admit(false)
		c.move(time.Minute)
		for range 7 {
			admit(true)
		}
		admit(false)
	})
}

// TestClockBack holds that a clock that is put back holds nobody back for long, and lets nobody have more than once.
func TestClockBack(t *testing.T) {
	t.Parallel()
	all(t, func(t *testing.T, make maker) {
		c := newClock()
		limiter := make(t, c)
		s := set(t, limit.Limit{Scope: key, Kind: limit.Requests, Max: 6, Per: time.Minute}, limit.Limit{Scope: key, Kind: limit.Concurrency, Max: 6},
			limit.Limit{Scope: team, Kind: limit.Money, Max: 60, Window: limit.Total})
		admitted := func() (n int) {
			for range 20 {
				if l, _, err := limiter.Acquire(t.Context(), s, fmt.Sprint(fresh.Add(1)), holds(10, 1)); err != nil {
					t.Fatal(err)
				} else if l != nil {
					n++
				}
			}
			return n
		}
		if n := admitted(); n != 6 {
			t.Fatalf("got %d admitted, want 6", n)
		}
		c.move(-5 * time.Hour)
		if n := admitted(); n != 0 {
			t.Errorf("got %d admitted after the clock was put back, want none: all runs yet", n)
		}
		c.move(limit.Life)
		if n := admitted(); n != 5 { // 6 ended with 1 spent each, so 54 are left
			t.Errorf("got %d admitted a minute later, want 5", n)
		}
	})
}

// TestBounds holds that numbers at the edge neither run over nor lose digits.
func TestBounds(t *testing.T) {
	t.Parallel()
	all(t, func(t *testing.T, make maker) {
		c := newClock()
		limiter := make(t, c)
		const odd = limit.MaxAmount - 1
		s := set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: limit.MaxAmount, Window: limit.Month}, limit.Limit{Scope: team, Kind: limit.Tokens, Max: 1_000_000_007, Per: time.Hour},
			limit.Limit{Scope: team, Kind: limit.Quota, Max: 10, Window: limit.Day})
		money := func(hold int64) limit.Holds { return limit.Holds{Hold: limit.Amount{Nano: hold, Tokens: 1}} }
		l, v, err := limiter.Acquire(t.Context(), s, "a", money(odd))
		if err != nil || l == nil || v.States[0].Held != odd || v.States[0].Remaining != 1 {
			t.Fatalf("got %+v, error %v, want %d held and 1 remaining", v.States, err, int64(odd))
		}
		if other, _, _ := limiter.Acquire(t.Context(), s, "b", money(2)); other != nil {
			t.Error("got 2 admitted where 1 is left")
		}
		if other, _, _ := limiter.Acquire(t.Context(), s, "c", money(-5)); other == nil {
			t.Error("got an amount below 0 refused, want it taken as 0")
		}
		if err := limiter.Settle(t.Context(), l, limit.Amount{Nano: math.MaxInt64, Tokens: math.MaxInt64}); err != nil {
			t.Fatal(err)
		}
		_, v, err = limiter.Acquire(t.Context(), s, "d", money(1))
		if err != nil || v.Refusal == nil || v.States[0].Used != limit.MaxAmount || v.States[0].Remaining != 0 || v.States[2].Used < limit.MaxAmount {
			t.Errorf("got %+v, error %v, want all spent", v.States, err)
		}
	})
}

// TestLowered holds that a budget which is set below what is spent refuses, says that nothing is left, and heals when it is raised.
func TestLowered(t *testing.T) {
	t.Parallel()
	all(t, func(t *testing.T, make maker) {
		limiter := make(t, newClock())
		ask := func(budget, rate int64) *limit.State {
			s := set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: budget, Window: limit.Month}, limit.Limit{Scope: key, Kind: limit.Requests, Max: rate, Per: time.Minute})
			l, v, err := limiter.Acquire(t.Context(), s, fmt.Sprint(fresh.Add(1)), holds(50, 0))
			if err != nil {
				t.Fatal(err)
			}
			if l != nil {
				if err := limiter.Settle(t.Context(), l, limit.Amount{Nano: 50}); err != nil {
					t.Fatal(err)
				}
			}
			return v.Refusal
		}
		ask(100, 10)
		if r := ask(40, 10); r == nil || r.Remaining != 0 || r.Used != 50 {
			t.Errorf("got %+v, want 50 used of 40 and nothing remaining", r)
		}
		if r := ask(100, 10); r != nil {
			t.Errorf("got %+v, want that there is room again", r)
		}
		if r := ask(200, 2); r == nil || r.Limit.Kind != limit.Requests { // 2 of 10 are used: in a rate of 2 that is all
			t.Errorf("got %+v, want that a lower rate knows of what was used", r)
		}
	})
}

// TestBadLimits holds that what no limit can be is said.
func TestBadLimits(t *testing.T) {
	t.Parallel()
	for _, l := range []limit.Limit{
		{Kind: limit.Requests, Max: -1, Per: time.Minute}, {Kind: limit.Requests, Max: 1}, {Kind: limit.Tokens, Max: limit.MaxAmount + 1, Per: time.Minute},
		{Kind: limit.Money, Max: 1}, {Kind: limit.Money, Max: math.MaxInt64, Window: limit.Month}, {Kind: limit.Quota, Max: 1, Window: "year"}, {Kind: 17, Max: 1},
	} {
		if _, err := limit.NewSet("g", []limit.Limit{l}); err == nil {
			t.Errorf("got no error for %+v", l)
		}
	}
	same := limit.Limit{Scope: key, Kind: limit.Money, Max: 1, Window: limit.Month}
	if _, err := limit.NewSet("g", []limit.Limit{same, same}); err == nil {
		t.Error("got no error for a limit that is there twice")
	}
}

// TestNothingHeld holds that a hold of nothing that nobody renews ends as others do.
func TestNothingHeld(t *testing.T) {
	t.Parallel()
	all(t, func(t *testing.T, make maker) {
		c := newClock()
		l := make(t, c)
		s := set(t, limit.Limit{Scope: limit.Scope{Of: "key", Name: "a"}, Kind: limit.Quota, Max: 100, Window: limit.Total})
		for i := range 3 {
			if _, v, err := l.Acquire(t.Context(), s, fmt.Sprint("empty-", i), limit.Holds{}); err != nil || v.Refusal != nil {
				t.Fatalf("%d: got %+v, error %v", i, v.Refusal, err)
			}
			c.move(2 * limit.Life)
		}
	})
}
