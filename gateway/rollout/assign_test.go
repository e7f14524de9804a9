package rollout

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestBucketsAreForEver holds buckets that are written down: one that changed would throw everybody
// out of the arm that they are in.
func TestBucketsAreForEver(t *testing.T) {
	t.Parallel()
	for unit, want := range map[string]int{"": golden[0], "alice": golden[1], "bob": golden[2], "ключ|conversation": golden[3]} {
		if got := bucket("hermes-2026", unit); got != want {
			t.Errorf("%q: got bucket %d, want %d", unit, got, want)
		}
	}
}

// golden are xxhash64("hermes-2026|UNIT") * 10000 >> 64, by the reference implementation.
var golden = [...]int{9017, 6457, 4106, 6462}

// TestBucketsAreEven holds that units spread evenly: over 100 parts, by the chi-squared test at one in
// a million.
func TestBucketsAreEven(t *testing.T) {
	t.Parallel()
	const units, parts = 200_000, 100
	counts := [parts]int{}
	for i := range units {
		counts[bucket("salt", fmt.Sprintf("user-%d", i))*parts/Buckets]++
	}
	sum := 0.0
	for _, n := range counts {
		d := float64(n) - units/parts
		sum += d * d / (units / parts)
	}
	if sum > 187 { // 99 degrees of freedom
		t.Errorf("got chi-squared %.1f over %d parts, want at most 187", sum, parts)
	}
}

// TestSaltsDisagree holds that the arms of one rollout say nothing of those of another.
func TestSaltsDisagree(t *testing.T) {
	t.Parallel()
	both := 0
	const units = 20_000
	for i := range units {
		unit := fmt.Sprint(i)
		if bucket("a", unit) < Buckets/2 && bucket("b", unit) < Buckets/2 {
			both++
		}
	}
	if math.Abs(float64(both)/units-0.25) > 0.02 {
		t.Errorf("got %d of %d units in the lower half of both, want a quarter", both, units)
	}
}

// weightsOf draws weights that add up.
func weightsOf(t *rapid.T) []int {
	n := rapid.IntRange(1, MaxArms).Draw(t, "arms")
	left, weights := Buckets, make([]int, n)
	for i := 1; i < n; i++ {
		weights[i] = rapid.IntRange(0, left).Draw(t, "weight")
		left -= weights[i]
	}
	weights[0] = left
	return weights
}

// TestTableHasTheWeights holds that each arm has exactly its weight.
func TestTableHasTheWeights(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weights := weightsOf(t)
		got := make([]int, len(weights))
		for _, arm := range newTable(weights) {
			got[arm]++
		}
		if !slices.Equal(got, weights) {
			t.Fatalf("got %v buckets, want %v", got, weights)
		}
	})
}

// TestWideningKeepsThoseInside holds that nobody leaves an arm which widens at the control's cost; and
// with up to two arms beside the control, or arms within their parts, that nobody else moves either
// but from the control into it.
func TestWideningKeepsThoseInside(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := weightsOf(t)
		if len(before) < 2 {
			return
		}
		arm := rapid.IntRange(1, len(before)-1).Draw(t, "arm")
		more := rapid.IntRange(0, before[0]).Draw(t, "more")
		after := slices.Clone(before)
		after[0], after[arm] = after[0]-more, after[arm]+more
		a, b := newTable(before), newTable(after)
		part := Buckets / (len(before) - 1)
		within := len(before) <= 3 || slices.Max(after[1:]) <= part
		for i := range a {
			if int(a[i]) == arm && int(b[i]) != arm {
				t.Fatalf("%v to %v: bucket %d leaves arm %d for %d", before, after, i, arm, b[i])
			}
			if within && a[i] != b[i] && (a[i] != 0 || int(b[i]) != arm) {
				t.Fatalf("%v to %v: bucket %d moves from arm %d to %d", before, after, i, a[i], b[i])
			}
		}
	})
}
