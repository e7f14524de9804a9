package limit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/limit"
)

// TestMoved holds that what a key has used of its own limits still counts once it belongs to another team, or its team has another name, and
// that the order in which a limit's models are written makes it no other one.
func TestMoved(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, make maker) {
		limiter := make(t, newClock())
		of := func(group, models string) *limit.Set {
			some := limit.Scope{Of: "key_model", Name: "alice", Models: models}
			s, err := limit.NewSet(group, []limit.Limit{{Scope: key, Kind: limit.Money, Max: 1000, Window: limit.Month}, {Scope: some, Kind: limit.Quota, Max: 1000, Window: limit.Total},
				{Scope: key, Kind: limit.Tokens, Max: 1000, Per: 24 * time.Hour}, {Scope: key, Kind: limit.Concurrency, Max: 2}})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		if l, v, err := limiter.Acquire(t.Context(), of("red", "gpt-*,o1"), "runs", holds(100, 0)); err != nil || l == nil {
			t.Fatalf("got %+v, error %v", v.Refusal, err)
		}
		_, v, err := limiter.Acquire(t.Context(), of("blue", "o1,gpt-*"), "next", holds(10, 0))
		if st := v.States; err != nil || st[0].Used != 110 || st[1].Used != 110 || st[2].Used != 110 || st[3].Used != 2 {
			t.Errorf("got %+v, error %v, want 110 used by 2", st, err)
		}
	})
}

// TestLoweredWhileRunning has a budget lowered below what a running request holds: this goes on within the limit that it began with, and counts, and
// nobody else passes.
func TestLoweredWhileRunning(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, make maker) {
		limiter := make(t, newClock())
		budget := func(most int64) *limit.Set {
			return set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: most, Window: limit.Month, Cut: true})
		}
		high, low := budget(100), budget(40)
		runs, _, err := limiter.Acquire(t.Context(), high, "runs", holds(50, 5))
		if err != nil || runs == nil {
			t.Fatal(runs, err)
		}
		refused := func(when string, used int64) {
			t.Helper()
			l, v, err := limiter.Acquire(t.Context(), low, fmt.Sprint(fresh.Add(1)), holds(1, 0))
			if err != nil || l != nil || v.Refusal == nil || v.Refusal.Used != used || v.Refusal.Remaining != 0 {
				t.Errorf("%s: got %+v, error %v, want %d used and nothing left of 40", when, v.Refusal, err, used)
			}
		}
		refused("it runs", 50)
		if v, err := limiter.Extend(t.Context(), runs, holds(90, 60), false); err != nil || v.Refusal != nil {
			t.Errorf("got %+v, error %v, want room in the 100 that it began with", v.Refusal, err)
		}
		if v, err := limiter.Extend(t.Context(), runs, holds(101, 60), false); err != nil || v.Refusal == nil || !v.Cut {
			t.Errorf("got %+v, error %v, want that it is cut beyond these", v.Refusal, err)
		}
		refused("it has grown", 90)
		if err := limiter.Settle(t.Context(), runs, limit.Amount{Nano: 80}); err != nil {
			t.Fatal(err)
		}
		refused("it has ended", 80)
	})
}
