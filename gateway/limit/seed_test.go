package limit_test

import (
	"errors"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/limit"
)

// TestSeed holds that a budget begins with what was spent before once, that the next window of it begins with nothing,
// and that a ledger that does not answer is asked again.
func TestSeed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 23, 0, 0, 0, time.UTC)
	m := limit.NewMemory(func() time.Time { return now })
	set, err := limit.NewSet("k", []limit.Limit{{Scope: limit.Scope{Of: "key", Name: "k"}, Kind: limit.Quota, Max: 100, Window: limit.Day}, {Scope: limit.Scope{Of: "key", Name: "k"}, Kind: limit.Concurrency, Max: 9}})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	spent := func(l *limit.Limit, from time.Time) (int64, error) {
		if asked++; asked == 1 {
			return 0, errors.New("away")
		}
		if l.Kind != limit.Quota || !from.Equal(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("got asked for %v since %v, want the day's budget alone", l.Kind, from)
		}
		return 60, nil
	}
	if !m.Owes(set) || m.Seed(set, spent) == nil || !m.Owes(set) {
		t.Error("got a set that is seeded without an answer")
	}
	if err := m.Seed(set, spent); err != nil || m.Owes(set) || m.Seed(set, spent) != nil || asked != 2 {
		t.Errorf("got %v, asked %d times, want 2", err, asked)
	}
	used := func(id string) int64 {
		l, v, err := m.Acquire(t.Context(), set, id, limit.Holds{Hold: limit.Amount{Tokens: 10}})
		if err != nil || v.Refusal != nil {
			t.Fatalf("got %+v, %v, want room", v.Refusal, err)
		}
		if err := m.Settle(t.Context(), l, limit.Amount{Tokens: 10}); err != nil {
			t.Fatal(err)
		}
		return v.States[0].Used
	}
	if n := used("a"); n != 70 {
		t.Errorf("got %d tokens used, want 60 from before and 10", n)
	}
	now = now.Add(2 * time.Hour)
	if m.Owes(set) || used("b") != 10 {
		t.Error("got a new day that goes on from the ledger, want it to begin with nothing")
	}
	again, err := limit.NewSet("k", set.Limits())
	if err != nil {
		t.Fatal(err)
	}
	if m.Owes(again) { // a reload
		t.Error("got a budget that is seeded twice")
	}
}

// TestSeedJumps holds that a window begins with nothing where the one before it was known, and else with what the ledger has: where the clock was
// wrong when the process began, or nobody used the budget for a whole window.
func TestSeedJumps(t *testing.T) {
	t.Parallel()
	var now time.Time
	m := limit.NewMemory(func() time.Time { return now })
	s := set(t, limit.Limit{Scope: key, Kind: limit.Quota, Max: 100, Window: limit.Month})
	for _, one := range []struct {
		at   string
		owes bool
	}{
		{"1970-01-01", true}, {"2026-11-20", true}, {"2026-11-21", false}, {"2026-12-01", false}, {"2026-12-31", false}, {"2027-02-01", true}, {"2027-03-10", false},
		{"2033-05-01", true}, {"2027-04-02", true}, {"2027-04-03", false}, {"2027-05-01", false},
	} {
		at, err := time.Parse(time.DateOnly, one.at)
		if err != nil {
			t.Fatal(err)
		}
		now = at
		if owes := m.Owes(s); owes != one.owes {
			t.Errorf("%s: got %v, want %v", one.at, owes, one.owes)
		}
		if err := m.Seed(s, func(*limit.Limit, time.Time) (int64, error) { return 7, nil }); err != nil {
			t.Fatal(err)
		}
		if l, v, err := m.Acquire(t.Context(), s, one.at, holds(1, 0)); err != nil || l == nil {
			t.Fatalf("%s: got %+v, error %v", one.at, v.Refusal, err)
		}
	}
}
