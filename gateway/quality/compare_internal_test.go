package quality

import (
	"testing"
	"time"
)

// TestCompareWithoutCounts holds that a tool of which another gateway tells no calls changes nothing: shares that are
// no numbers are neither more nor less than others, and a bad arm would stay.
func TestCompareWithoutCounts(t *testing.T) {
	t.Parallel()
	nobody := func(uint16) bool { return false }
	good, bad := Target{Provider: "p", Model: "good"}, Target{Provider: "p", Model: "bad"}
	calls := func(target Target, tool string, n [results]uint32) []Place {
		return []Place{{Target: target, Counts: n}, {Target: target, Part: uint8(aim), Counts: n}, {Target: target, Part: uint8(firstTool), Tool: Tool{Name: tool}, Counts: n}}
	}
	for name, zero := range map[string][]Target{"both": {good, bad}, "one": {bad}, "none": {}} {
		b := New(Options{Now: func() time.Time { return time.Unix(1e9, 0) }})
		places := append(calls(good, "search", [results]uint32{Clean: 200}), calls(bad, "search", [results]uint32{Invalid: 200})...)
		places = append(places, calls(good, "other", [results]uint32{Clean: 10})[2])
		for _, target := range zero {
			places = append(places, calls(target, "other", [results]uint32{})...)
			places = append(places, calls(target, "third", [results]uint32{})...)
		}
		b.Apply(Counts{Places: places})
		x, y := compare(b.record(good).window.sums(), b.record(bad).window.sums(), nobody)
		if x.score != 1 || y.score != 0 || !(x.low > y.high) {
			t.Errorf("%s: got %+v and %+v, want all against nothing", name, x, y)
		}
	}
}
