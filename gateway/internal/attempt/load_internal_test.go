package attempt

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/gateway"
)

// TestAverage holds that the mean is one of recent values: a burst counts as a whole, old
// values fade, and in the end nothing is known.
func TestAverage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &load{}
		value := func() float64 { return l.whole.value(time.Now()) }
		add := func(seconds float64, outcome string) {
			l.running.Add(1)
			l.ends(outcome, time.Duration(seconds*float64(time.Second))/2, time.Duration(seconds*float64(time.Second)))
		}
		add(10, "timeout")
		if got := value(); got != 0 || l.outcome != "timeout" {
			t.Errorf("got %g behind a failure, want 0", got)
		}
		add(10, "ok") // an outlier at the beginning of a burst
		for range 9 {
			add(1, "ok")
		}
		if got := value(); got < 1.8 || got > 2 {
			t.Errorf("got %g for a burst, want its mean of 1.9", got)
		}
		time.Sleep(memory)
		for range 10 {
			add(3, "ok")
		}
		if got := value(); got < 2.6 || got > 2.8 {
			t.Errorf("got %g, want 2.7: what is two minutes old counts for a third", got)
		}
		if got := l.first.value(time.Now()); got < 1.3 || got > 1.4 {
			t.Errorf("got %g to the first byte, want half of it", got)
		}
		time.Sleep(forgotten + time.Second)
		if got := value(); got != 0 {
			t.Errorf("got %g behind ten quiet minutes, want 0", got)
		}
		add(5, "ok")
		if got := value(); got != 5 {
			t.Errorf("got %g, want the new value alone", got)
		}
		if got := l.running.Load(); got != 0 {
			t.Errorf("got %d running, want 0", got)
		}
	})
}

// TestLoads holds that every target of a configuration has its own load, and all other
// models of a provider one together.
func TestLoads(t *testing.T) {
	t.Parallel()
	targets := []gateway.Target{{Provider: "p", Model: "m"}, {Provider: "q", Model: "x"}, {Provider: "p"}, {Provider: "q", Model: "y"}}
	g := &Engine{loads: newLoads(targets, slices.Values([]string{"p", "q"}))}
	if len(g.loads) != 5 {
		t.Errorf("got %d loads, want p/m, q/x, q/y, p and q", len(g.loads))
	}
	if g.loadOf("p", "m") == g.loadOf("p", "g-1") || g.loadOf("p", "g-1") != g.loadOf("p", "else") || g.loadOf("q", "y") == g.loadOf("q", "x") {
		t.Error("got loads that are not apart, or not together")
	}
}
