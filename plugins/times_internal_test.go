package plugins

import (
	"testing"
	"time"
)

func TestPercentiles(t *testing.T) {
	t.Parallel()
	if got := new(times).percentiles(); got != (Times{}) {
		t.Errorf("of nothing: got %+v, want zeros", got)
	}
	for _, d := range []time.Duration{1, 900, 1024, 1500, 77 * time.Microsecond, 3 * time.Millisecond, 99 * time.Millisecond, 20 * time.Second} {
		var one times
		one.add(d)
		got := one.percentiles().P99
		if got < d || d >= 1024 && float64(got) > 1.26*float64(d) {
			t.Errorf("of %v alone: got %v, want it or a little more", d, got)
		}
	}
	var many times
	for i := range 100 {
		many.add(time.Duration(i+1) * time.Millisecond)
	}
	got := many.percentiles()
	for _, p := range []struct {
		name      string
		got, want time.Duration
	}{{"p50", got.P50, 50 * time.Millisecond}, {"p90", got.P90, 90 * time.Millisecond}, {"p99", got.P99, 99 * time.Millisecond}} {
		if p.got < p.want || p.got > p.want*5/4 {
			t.Errorf("%s: got %v, want %v or a little more", p.name, p.got, p.want)
		}
	}
	var extreme times
	extreme.add(-1)
	extreme.add(1 << 62)
	if got := extreme.percentiles(); got.P50 > time.Microsecond*2 || got.P99 < time.Minute {
		t.Errorf("of extremes: got %+v", got)
	}
}
