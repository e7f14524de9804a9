package breaker_test

import (
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
)

// TestNoAllocations holds what the way around gobreaker's Allow is for. It is not
// parallel: other tests' allocations would count.
func TestNoAllocations(t *testing.T) {
	b := breaker.New(breaker.Settings{Failures: 1 << 30})
	for _, o := range []breaker.Outcome{breaker.Success, breaker.Failure, breaker.Excluded} {
		got := testing.AllocsPerRun(1000, func() {
			pass, err := b.Allow()
			if err != nil {
				t.Fatal(err)
			}
			pass.Done(o, "reason")
		})
		if got != 0 {
			t.Errorf("a request with outcome %d makes %v allocations, want 0", o, got)
		}
	}
	if got := testing.AllocsPerRun(1000, func() { b.Available(); b.Cooling() }); got != 0 {
		t.Errorf("Available and Cooling make %v allocations, want 0", got)
	}
}

func use(b *breaker.Breaker) {
	pass, err := b.Allow()
	if err == nil {
		pass.Done(breaker.Success, "")
	}
}

func BenchmarkClosed(b *testing.B) {
	br := breaker.New(breaker.Settings{})
	b.ReportAllocs()
	for b.Loop() {
		use(br)
	}
}

func BenchmarkClosedParallel(b *testing.B) {
	br := breaker.New(breaker.Settings{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			use(br)
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	br := breaker.New(breaker.Settings{Failures: 1, Open: time.Hour})
	pass, _ := br.Allow()
	pass.Done(breaker.Failure, "")
	b.ReportAllocs()
	for b.Loop() {
		use(br)
	}
}

func BenchmarkAvailable(b *testing.B) {
	br := breaker.New(breaker.Settings{})
	b.ReportAllocs()
	for b.Loop() {
		br.Available()
	}
}
