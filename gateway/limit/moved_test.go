package limit_test

import (
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
