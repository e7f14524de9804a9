package billing

import (
	"log/slog"
	"testing"
	"time"
)

// TestSweepDoubt holds that a process whose clock is years ahead deletes nothing, and keeps no row out of the ledger: where all rows are too old, it
// waits a day. Where some are not, those that are too old go at once.
func TestSweepDoubt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	row := func(id string, age time.Duration) Row { return Row{ID: id, Time: now.Add(-age), Status: StatusOK} }
	put := func(l Ledger, rows ...Row) Result {
		res, err := l.Put(t.Context(), rows)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	ids := func(l Ledger) (ids string) {
		page, err := l.Rows(t.Context(), Filter{}, Page{Limit: 9})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Rows {
			ids += page.Rows[i].ID
		}
		return ids
	}
	l := NewMemory(MemoryLimits{})
	put(l, row("a", 48*time.Hour), row("b", time.Hour))
	wrong := now.AddDate(2, 0, 0)
	s := sweeper{to: l, kept: 24 * time.Hour, began: wrong, log: slog.New(slog.DiscardHandler)}
	for hour := range 23 {
		s.sweep(t.Context(), wrong.Add(time.Duration(hour)*time.Hour))
		put(l, row("w", -wrong.Sub(now))) // its own
	}
	if got := ids(l); got != "abw" {
		t.Errorf("got the rows %s, want all: those from before the start are all too old, so the clock may be wrong", got)
	}
	if res := put(l, row("c", 0)); res.Added != 1 {
		t.Errorf("got %+v, want that a row of now is taken", res)
	}
	right := sweeper{to: l, kept: 24 * time.Hour, began: now, log: s.log}
	if right.sweep(t.Context(), now); ids(l) != "bcw" {
		t.Errorf("got the rows %s, want all but a", ids(l))
	}
	if s.sweep(t.Context(), wrong.Add(25*time.Hour)); ids(l) != "" {
		t.Errorf("got the rows %s a day later, want none", ids(l))
	}
}
