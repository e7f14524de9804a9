package limit_test

import (
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/limit"
)

// TestCellsShared holds that sets which have a limit in common count it together, also once its numbers were forgotten
// in between, and made again for one of them.
func TestCellsShared(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := limit.NewMemory(c.now)
	common := []limit.Limit{
		{Scope: team, Kind: limit.Requests, Max: 100, Per: time.Minute},
		{Scope: team, Kind: limit.Concurrency, Max: 100},
		{Scope: team, Kind: limit.Money, Max: 1000, Window: limit.Day},
	}
	alice := set(t, append([]limit.Limit{{Scope: key, Kind: limit.Concurrency, Max: 100}}, common...)...)
	bob := set(t, common...)
	acquire := func(s *limit.Set, id string) (*limit.Lease, []limit.State) {
		l, v, err := m.Acquire(t.Context(), s, id, holds(10, 1))
		if err != nil || v.Refusal != nil {
			t.Fatalf("got %+v, error %v, want it to pass", v, err)
		}
		return l, v.States[len(v.States)-3:]
	}
	settle := func(leases ...*limit.Lease) {
		for _, l := range leases {
			if err := m.Settle(t.Context(), l, limit.Amount{Nano: 7}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for round := range int64(4) {
		first, _ := acquire(alice, "a")
		second, st := acquire(bob, "b")
		if st[0].Used != 2 || st[1].Used != 2 || st[2].Held != 20 || st[2].Used != 14*(round%2)+20 {
			t.Errorf("round %d: got %+v, want 2 requests, 2 at a time, 20 held", round, st)
		}
		if round%2 == 0 {
			settle(first, second)
			c.move(10 * time.Minute) // requests and those at a time are forgotten
			continue
		}
		c.move(4 * 24 * time.Hour) // the budget is, too, whose holds have expired long ago
		third, st := acquire(bob, "c")
		if st[0].Used != 1 || st[1].Used != 1 || st[2].Used != 10 {
			t.Errorf("round %d: got %+v, want what one request holds", round, st)
		}
		settle(third, first, second)
		c.move(24 * time.Hour)
	}
}
