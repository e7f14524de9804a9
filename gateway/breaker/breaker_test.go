package breaker_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
)

// allow gets a pass that the breaker is expected to give.
func allow(t *testing.T, b *breaker.Breaker) *breaker.Pass {
	t.Helper()
	pass, err := b.Allow()
	if err != nil {
		t.Fatalf("a request is not let through: %v", err)
	}
	return &pass
}

// rejected returns why the breaker lets no request through.
func rejected(t *testing.T, b *breaker.Breaker) *breaker.OpenError {
	t.Helper()
	_, err := b.Allow()
	var open *breaker.OpenError
	if !errors.As(err, &open) {
		t.Fatalf("got %v, want an OpenError", err)
	}
	return open
}

func wantState(t *testing.T, b *breaker.Breaker, want breaker.State) {
	t.Helper()
	if got := b.State(); got != want {
		t.Fatalf("the breaker is %s, want %s", got, want)
	}
	if got := b.Snapshot().State; got != want {
		t.Fatalf("the breaker is %s in its snapshot, want %s", got, want)
	}
}

// send lets n requests end with an outcome, one after the other.
func send(t *testing.T, b *breaker.Breaker, n int, o breaker.Outcome) {
	t.Helper()
	for range n {
		allow(t, b).Done(o, "")
	}
}

func TestCycle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{Name: "p"})
		send(t, b, 4, breaker.Failure)
		send(t, b, 1, breaker.Success)
		send(t, b, 4, breaker.Failure)
		wantState(t, b, breaker.Closed) // never five in a row
		send(t, b, 1, breaker.Failure)
		wantState(t, b, breaker.Open)

		time.Sleep(45 * time.Second)
		if got, want := rejected(t, b).RetryAfter, 15*time.Second; got != want {
			t.Errorf("an open breaker says to retry in %s, want %s", got, want)
		}
		if b.Available() {
			t.Error("an open breaker is available")
		}
		time.Sleep(15 * time.Second)
		for range 2 { // to ask takes nobody's place
			if !b.Available() {
				t.Error("a breaker that waits for a probe is not available")
			}
		}
		probe := allow(t, b)
		wantState(t, b, breaker.HalfOpen)
		if b.Available() {
			t.Error("a breaker with a probe under way is available")
		}
		probe.Done(breaker.Failure, "")
		wantState(t, b, breaker.Open)

		time.Sleep(time.Minute)
		send(t, b, 1, breaker.Success)
		wantState(t, b, breaker.Closed)
		send(t, b, 4, breaker.Failure) // those of before count no more
		wantState(t, b, breaker.Closed)
	})
}

// TestRetryAfter holds that who waits just as long as it was told gets through, in
// the open state and with a probe that never ends.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{Failures: 1, ProbeTimeout: 2500 * time.Millisecond})
		send(t, b, 1, breaker.Failure)
		time.Sleep(rejected(t, b).RetryAfter - 1)
		time.Sleep(rejected(t, b).RetryAfter)
		allow(t, b)
		for _, want := range []time.Duration{time.Second, time.Second, 500 * time.Millisecond} {
			err := rejected(t, b)
			if err.RetryAfter != want || err.State != breaker.HalfOpen {
				t.Errorf("got %v, want half-open and %s", err, want)
			}
			time.Sleep(err.RetryAfter)
		}
		allow(t, b)
	})
}

func TestReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{Failures: 2})
		early := []*breaker.Pass{allow(t, b), allow(t, b), allow(t, b), allow(t, b)}
		send(t, b, 2, breaker.Failure)
		b.CoolDown(time.Minute)
		b.Reset("by hand")
		wantState(t, b, breaker.Closed)
		if got := b.Cooling(); got != 0 {
			t.Errorf("after a reset the breaker cools down for %s", got)
		}
		early[0].Done(breaker.Failure, "")
		early[1].Done(breaker.Failure, "")
		wantState(t, b, breaker.Closed)

		send(t, b, 2, breaker.Failure)
		time.Sleep(time.Minute)
		probe := allow(t, b)
		b.Reset("") // with a probe under way
		wantState(t, b, breaker.Closed)
		probe.Done(breaker.Failure, "")
		send(t, b, 1, breaker.Failure)
		b.Reset("") // in the closed state: the row begins again
		send(t, b, 1, breaker.Failure)
		wantState(t, b, breaker.Closed)
		history := b.Snapshot().History
		if got := history[len(history)-1]; got.From != breaker.Closed || got.To != breaker.Closed || got.Reason != "reset" {
			t.Errorf("the last reset is noted as %+v", got)
		}
	})
}

func TestCoolDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{})
		for _, step := range []struct{ d, want time.Duration }{
			{0, 0},
			{-time.Second, 0},
			{20 * time.Second, 20 * time.Second},
			{5 * time.Second, 20 * time.Second}, // the later end holds
			{30 * time.Second, 30 * time.Second},
			{24 * time.Hour, 10 * time.Minute},
			{1<<63 - 1, 10 * time.Minute},
		} {
			b.CoolDown(step.d)
			if got := b.Cooling(); got != step.want {
				t.Errorf("after a cool-down of %s: got %s, want %s", step.d, got, step.want)
			}
		}
		time.Sleep(9 * time.Minute)
		if got := b.Cooling(); got != time.Minute {
			t.Errorf("got %s, want %s", got, time.Minute)
		}
		send(t, b, 1, breaker.Success) // it keeps nobody out
		if !b.Available() {
			t.Error("a breaker that cools down is not available")
		}
		time.Sleep(time.Hour)
		if got := b.Cooling(); got != 0 {
			t.Errorf("got %s after the end, want 0", got)
		}
	})
}
