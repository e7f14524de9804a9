package limit_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/internal/logtest"
	"github.com/callgate/callgate/internal/redistest"
)

// lined makes a limiter whose Redis is behind a line.
func lined(t *testing.T, s *redistest.Server, c *clock) (*limit.Shared, *line) {
	t.Helper()
	l := newLine(t, s.URL())
	client, err := redis.Open(redis.Options{URL: "redis://" + l.in.Addr().String(), KeyPrefix: s.KeyPrefix()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return limit.NewShared(client, c.now).Patient(), l
}

// arrive has what was delayed come late.
func arrive(t *testing.T, l *line) {
	t.Helper()
	l.mu.Lock()
	none := len(l.late) == 0
	l.mu.Unlock()
	if none {
		t.Fatal("nothing was delayed")
	}
	if err := l.arrive(); err != nil {
		t.Fatal(err)
	}
}

// TestLateExtension holds that an extension which the gateway has given up, and which the Redis does behind a later one, changes nothing.
func TestLateExtension(t *testing.T) {
	t.Parallel()
	c := newClock()
	limiter, l := lined(t, redistest.Start(t), c)
	s := set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: 1000, Window: limit.Total}, limit.Limit{Scope: key, Kind: limit.Tokens, Max: 10_000, Per: 24 * time.Hour})
	lease, _, err := limiter.Acquire(t.Context(), s, "runs", holds(10, 1))
	if err != nil || lease == nil {
		t.Fatal(lease, err)
	}
	l.lose.Store(delay)
	if _, err := limiter.Extend(t.Context(), lease, holds(100, 10), false); err == nil {
		t.Fatal("got no error, want that nobody knows")
	}
	if v, err := limiter.Extend(t.Context(), lease, holds(900, 100), false); err != nil || v.Refusal != nil {
		t.Fatalf("got %+v, error %v", v.Refusal, err)
	}
	arrive(t, l)
	other, v, err := limiter.Acquire(t.Context(), s, "other", holds(500, 0))
	if err != nil || other != nil {
		t.Errorf("got room for 500 beside 900 of 1000, error %v: %+v", err, v.States)
	}
	if st := v.States; st[0].Used != 900 || st[1].Used != 900 {
		t.Errorf("got %+v, want 900 held and taken", st)
	}
	c.move(2 * limit.Life)
	if _, v, err := limiter.Acquire(t.Context(), s, "last", holds(1, 0)); err != nil || v.States[0].Used != 101 {
		t.Errorf("got %+v, error %v, want the 100 that were used, and 1", v.States, err)
	}
}

// TestLateEnd holds that an extension which the Redis does behind the end of its lease changes nothing.
func TestLateEnd(t *testing.T) {
	t.Parallel()
	for _, release := range []bool{false, true} {
		c := newClock()
		limiter, l := lined(t, redistest.Start(t), c)
		s := set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: 1000, Window: limit.Total}, limit.Limit{Scope: key, Kind: limit.Concurrency, Max: 2},
			limit.Limit{Scope: key, Kind: limit.Tokens, Max: 1000, Per: 24 * time.Hour})
		lease, _, err := limiter.Acquire(t.Context(), s, "runs", holds(10, 1))
		if err != nil || lease == nil {
			t.Fatal(lease, err)
		}
		l.lose.Store(delay)
		if _, err := limiter.Extend(t.Context(), lease, holds(100, 10), true); err == nil {
			t.Fatal("got no error, want that nobody knows")
		}
		want := int64(1)
		if release {
			err = limiter.Release(t.Context(), lease)
		} else {
			err, want = limiter.Settle(t.Context(), lease, limit.Amount{Nano: 5, Tokens: 5}), 6
		}
		if err != nil {
			t.Fatal(err)
		}
		arrive(t, l)
		_, v, err := limiter.Acquire(t.Context(), s, "next", holds(1, 0))
		if st := v.States; err != nil || st[0].Used != want || st[1].Used != 1 || st[2].Used != want {
			t.Errorf("release %v: got %+v, error %v, want %d", release, v.States, err, want)
		}
	}
}

// TestLateBatch holds that an extension of a batch which the Redis does late takes nothing again that the batch has given back.
func TestLateBatch(t *testing.T) {
	t.Parallel()
	c := newClock()
	server := redistest.Start(t)
	shared, l := lined(t, server, c)
	limiter := limit.NewTended(shared)
	s := set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: 10_000, Window: limit.Total}, limit.Limit{Scope: key, Kind: limit.Concurrency, Max: 300})
	runs := ahead(t, limiter, s, 10)
	l.lose.Store(delay)
	if _, err := limiter.Extend(t.Context(), runs, holds(1000, 10), false); err == nil {
		t.Fatal("got no error, want that nobody knows")
	}
	limiter.GiveBack(s)
	limiter.Tend()
	arrive(t, l)
	if _, v, err := shared.Acquire(t.Context(), s, "next", holds(1, 0)); err != nil || v.States[0].Used != 11 || v.States[1].Used != 2 {
		t.Errorf("got %+v, error %v, want 10 and 1 held by 2", v.States, err)
	}
	if err := limiter.Settle(t.Context(), runs, limit.Amount{Nano: 10}); err != nil {
		t.Fatal(err)
	}
	limiter.Tend()
	if _, v, err := shared.Acquire(t.Context(), s, "last", holds(1, 0)); err != nil || v.States[0].Used != 12 || v.States[1].Used != 2 {
		t.Errorf("got %+v, error %v, want 10 spent, and 2 that run", v.States, err)
	}
}

// forget has the Redis forget which leases are over, as it does in time.
func forget(t *testing.T, s *redistest.Server) {
	t.Helper()
	client, err := redis.Open(redis.Options{URL: s.URL(), KeyPrefix: s.KeyPrefix()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	out, err := client.Run(t.Context(), redis.NewScript(`local n = 0
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do n = n + redis.call('DEL', key) end
return {tostring(n)}`), redis.Keys{client.Key("any")}, []any{"*over*"})
	if err != nil || len(out) != 1 || out[0] == "0" {
		t.Fatal(out, err)
	}
}

// TestUnsureEnd holds that an end of a lease which is told again so late that the Redis does not know any more whether it has
// heard of it is said in the log and counted, that a budget is not given back what others have used, and that one which is told again in time
// counts once and is not mentioned.
func TestUnsureEnd(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		release, late bool
		lose          int32
		spent         int64 // of 5 used at the beginning, 30 at the end, and 7 by another
		warns         string
	}{
		"settled in time":  {false, false, loseAnswer, 37, ""},
		"settled late":     {false, true, loseAnswer, 62, "what a request used may count twice"},
		"not told":         {false, true, loseRequest, 37, "what a request used may count twice"},
		"released in time": {true, false, loseAnswer, 7, ""},
		"released late":    {true, true, loseAnswer, 7, "what a request held may count as used"},
		"release not told": {true, true, loseRequest, 12, "what a request held may count as used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClock()
			server := redistest.Start(t)
			limiter, l := lined(t, server, c)
			var log logtest.Buffer
			away := limit.NewAway(limiter, false, slog.New(slog.NewTextHandler(&log, nil)))
			t.Cleanup(func() { away.Close() })
			s := set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: 1000, Window: limit.Total})
			lease, _, err := limiter.Acquire(t.Context(), s, "runs", holds(10, 5))
			if err != nil || lease == nil {
				t.Fatal(lease, err)
			}
			other, _, err := limiter.Acquire(t.Context(), s, "other", holds(7, 0))
			if err != nil {
				t.Fatal(err)
			}
			if err := limiter.Settle(t.Context(), other, limit.Amount{Nano: 7}); err != nil {
				t.Fatal(err)
			}
			end := func() error {
				if row.release {
					return limiter.Release(t.Context(), lease)
				}
				return limiter.Settle(t.Context(), lease, limit.Amount{Nano: 30})
			}
			l.lose.Store(row.lose)
			if end() == nil {
				t.Fatal("got no error, want that nobody knows")
			}
			if row.late {
				c.move(31 * time.Minute)
				if row.lose == loseAnswer {
					forget(t, server)
				}
				// Holds that are over, which the next request finds.
				if probe, _, err := limiter.Acquire(t.Context(), s, "finds", holds(0, 0)); err != nil {
					t.Fatal(err)
				} else if err := limiter.Release(t.Context(), probe); err != nil {
					t.Fatal(err)
				}
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			if err := end(); err != nil { // it is over
				t.Fatal(err)
			}
			_, v, err := limiter.Acquire(t.Context(), s, "looks", holds(0, 0))
			if err != nil || v.States[0].Used != row.spent {
				t.Errorf("got %+v, error %v, want %d spent", v.States, err, row.spent)
			}
			said, unsure := log.String(), int64(0)
			if row.warns != "" {
				unsure = 1
			}
			if got := away.AwayStats().Unsure; got != unsure {
				t.Errorf("got %d that nobody is sure of, want %d", got, unsure)
			}
			if row.warns == "" && said != "" || !strings.Contains(said, row.warns) || row.warns != "" && strings.Count(said, "\n") != 1 {
				t.Errorf("got the log %q, want %q in it, once", said, row.warns)
			}
		})
	}
}
