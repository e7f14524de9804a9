package breaker_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
)

// TestHammer uses one breaker from many goroutines in every way, on the real clock,
// and then holds that nothing was counted twice or lost.
func TestHammer(t *testing.T) {
	t.Parallel()
	const workers, rounds = 16, 1000
	var (
		told    atomic.Int64
		last    time.Time // OnChange is called by one goroutine at a time
		passed  [3]atomic.Uint64
		lost    atomic.Uint64
		refused atomic.Uint64
	)
	b := breaker.New(breaker.Settings{Name: "p", Failures: 3, Open: 50 * time.Microsecond, ProbeTimeout: 200 * time.Microsecond,
		OnChange: func(c breaker.Change) {
			told.Add(1)
			if c.At.Before(last) {
				t.Errorf("a change of %s is told after one of %s", c.At, last)
			}
			last = c.At
		}})
	round := func(r *rand.Rand) {
		switch r.IntN(200) {
		case 0:
			b.Reset("hammer")
		case 1:
			b.CoolDown(time.Microsecond)
		case 2:
			b.Snapshot()
		}
		b.Available()
		b.Cooling()
		pass, err := b.Allow()
		if err != nil {
			refused.Add(1)
			time.Sleep(10 * time.Microsecond)
			return
		}
		if r.IntN(50) == 0 {
			lost.Add(1) // and a probe may be among them
			return
		}
		o := breaker.Outcome(r.IntN(3))
		passed[o].Add(1)
		var twice sync.WaitGroup
		for range 1 + r.IntN(2) {
			twice.Go(func() { pass.Done(o, "hammer") })
		}
		twice.Wait()
	}
	var wg sync.WaitGroup
	for seed := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			for range rounds {
				round(r)
			}
		})
	}
	wg.Wait()

	s := b.Snapshot()
	want := breaker.Counts{
		Successes:  passed[breaker.Success].Load(),
		Failures:   passed[breaker.Failure].Load(),
		Excluded:   passed[breaker.Excluded].Load(),
		Rejections: refused.Load(),
	}
	want.Requests = workers*rounds - want.Rejections
	if s.Totals != want || s.InFlight != lost.Load() {
		t.Errorf("got %+v and %d in flight, want %+v and %d", s.Totals, s.InFlight, want, lost.Load())
	}
	if got := want.Successes + want.Failures + want.Excluded + s.InFlight; got != s.Totals.Requests {
		t.Errorf("the results and those in flight are %d, and the requests %d", got, s.Totals.Requests)
	}
	if len(s.History) != 64 || told.Load() < 64 || want.Rejections == 0 {
		t.Errorf("%d changes, %d told, %d rejections: the test did not do its work", len(s.History), told.Load(), want.Rejections)
	}
	for i, c := range s.History[1:] {
		if before := s.History[i]; c.From != before.To || c.At.Before(before.At) {
			t.Errorf("%+v follows %+v", c, before)
		}
	}
}
