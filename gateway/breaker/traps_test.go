package breaker_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
)

// TestHungRequests holds that requests trip the breaker which fail only after hours,
// whether they hang at the same time or one after the other: gobreaker drops results
// that come later than an interval.
func TestHungRequests(t *testing.T) {
	t.Parallel()
	const hang = 24 * time.Hour
	t.Run("together", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := breaker.New(breaker.Settings{})
			for i := range 5 {
				pass := allow(t, b)
				time.AfterFunc(hang+time.Duration(i)*time.Hour, func() { pass.Done(breaker.Failure, "timeout") })
			}
			time.Sleep(hang + 3*time.Hour)
			synctest.Wait()
			wantState(t, b, breaker.Closed)
			time.Sleep(time.Hour)
			synctest.Wait()
			wantState(t, b, breaker.Open)
		})
	})
	t.Run("in turn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := breaker.New(breaker.Settings{})
			for range 5 {
				wantState(t, b, breaker.Closed)
				pass := allow(t, b)
				time.Sleep(hang)
				pass.Done(breaker.Failure, "timeout")
			}
			wantState(t, b, breaker.Open)
		})
	})
}

// TestLostProbe holds that a probe whose end nobody reports does not shut the
// provider out for good, and that its result does not count once another is under way.
func TestLostProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{Failures: 1})
		send(t, b, 1, breaker.Failure)
		time.Sleep(time.Minute)
		lost := allow(t, b)
		time.Sleep(10*time.Minute - 1)
		if rejected(t, b); b.Available() {
			t.Error("the breaker is available before the probe's time is over")
		}
		time.Sleep(time.Nanosecond)
		if !b.Available() {
			t.Error("the breaker is not available when the probe's time is over")
		}
		second := allow(t, b)
		rejected(t, b)

		lost.Done(breaker.Success, "")
		wantState(t, b, breaker.HalfOpen)
		rejected(t, b) // the second probe has its place still
		second.Done(breaker.Failure, "")
		wantState(t, b, breaker.Open)
	})
}

// TestLateProbe holds that a probe that takes too long still counts if no other has
// taken its place.
func TestLateProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{Failures: 1})
		send(t, b, 1, breaker.Failure)
		time.Sleep(time.Minute)
		probe := allow(t, b)
		time.Sleep(time.Hour)
		probe.Done(breaker.Success, "")
		wantState(t, b, breaker.Closed)
	})
}

// TestDoneOnce holds that a second report changes nothing, in the half-open state
// neither, where it would open what the first one has closed.
func TestDoneOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{Failures: 2})
		pass := allow(t, b)
		pass.Done(breaker.Failure, "")
		pass.Done(breaker.Failure, "")
		wantState(t, b, breaker.Closed)
		send(t, b, 1, breaker.Failure)

		time.Sleep(time.Minute)
		probe := allow(t, b)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { probe.Done(breaker.Failure, "") })
		}
		wg.Wait()
		time.Sleep(time.Minute)
		probe.Done(breaker.Success, "") // of a probe that is over
		if got := b.Snapshot(); got.Totals.Failures != 3 || got.Totals.Successes != 0 || got.State != breaker.HalfOpen {
			t.Errorf("got %+v, want 3 failures and half-open", got)
		}
		(&breaker.Pass{}).Done(breaker.Failure, "") // no pass at all
	})
}

// TestStreamErrors holds that streams which begin well and break count when they end,
// and as failures.
func TestStreamErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{})
		for range 5 {
			stream := allow(t, b)
			time.Sleep(10 * time.Second) // status 200, and chunks
			if got := b.Snapshot(); got.Totals.Successes != 0 || got.InFlight != 1 {
				t.Fatalf("a stream that still runs counts: %+v", got)
			}
			stream.Done(breaker.Failure, "upstream_error")
		}
		wantState(t, b, breaker.Open)
		time.Sleep(time.Minute)
		probe := allow(t, b)
		time.Sleep(10 * time.Second)
		wantState(t, b, breaker.HalfOpen) // a probe's good beginning closes nothing
		probe.Done(breaker.Failure, "upstream_error")
		wantState(t, b, breaker.Open)
	})
}

// TestHerd holds that of a thousand requests that wait for the end of the open state
// one gets through.
func TestHerd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{Failures: 1})
		send(t, b, 1, breaker.Failure)
		herd := func() (through int64) {
			var count atomic.Int64
			var wg sync.WaitGroup
			start := make(chan struct{})
			for range 1000 {
				wg.Go(func() {
					<-start
					if _, err := b.Allow(); err == nil {
						count.Add(1)
					}
				})
			}
			time.Sleep(time.Minute)
			close(start)
			wg.Wait()
			return count.Load()
		}
		if got := herd(); got != 1 {
			t.Errorf("%d requests got through as probes, want 1", got)
		}
		if got := herd(); got != 0 { // a minute later the probe is still under way
			t.Errorf("%d more requests got through, want 0", got)
		}
		if got := b.Snapshot().Totals; got.Requests != 2 || got.Rejections != 1999 {
			t.Errorf("got %+v, want 2 requests and 1999 rejections", got)
		}
	})
}

// TestExcluded holds that requests which say nothing about the provider neither trip
// the breaker nor end a row, and that a probe among them gives its place back.
func TestExcluded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{})
		send(t, b, 100, breaker.Excluded)
		send(t, b, 4, breaker.Failure)
		send(t, b, 100, breaker.Excluded)
		wantState(t, b, breaker.Closed)
		send(t, b, 1, breaker.Failure)
		wantState(t, b, breaker.Open)

		time.Sleep(time.Minute)
		for range 3 {
			probe := allow(t, b)
			rejected(t, b)
			probe.Done(breaker.Excluded, "client_closed_request")
			wantState(t, b, breaker.HalfOpen)
			if !b.Available() {
				t.Error("the breaker is not available though no probe is under way")
			}
		}
		send(t, b, 1, breaker.Outcome(77)) // unknown: says nothing either
		wantState(t, b, breaker.HalfOpen)
		send(t, b, 1, breaker.Success)
		wantState(t, b, breaker.Closed)
	})
}

// TestOldResults holds that results of requests that began before a change do not
// count after it, but are in the totals.
func TestOldResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{Failures: 2})
		var old []*breaker.Pass
		for range 12 {
			old = append(old, allow(t, b))
		}
		end := func(n int, o breaker.Outcome) {
			for _, pass := range old[:n] {
				pass.Done(o, "")
			}
			old = old[n:]
		}
		end(2, breaker.Failure)
		wantState(t, b, breaker.Open)
		end(2, breaker.Success)
		wantState(t, b, breaker.Open)
		time.Sleep(time.Minute)
		wantState(t, b, breaker.HalfOpen)
		end(2, breaker.Failure)
		probe := allow(t, b)
		end(2, breaker.Success)
		wantState(t, b, breaker.HalfOpen)
		probe.Done(breaker.Success, "")
		wantState(t, b, breaker.Closed)
		end(4, breaker.Failure)
		wantState(t, b, breaker.Closed)
		if got, want := b.Snapshot().Totals, (breaker.Counts{Requests: 13, Successes: 5, Failures: 8}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}
