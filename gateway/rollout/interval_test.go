package rollout

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"
)

// TestWilsonAgainstStatsmodels compares intervals with those that statsmodels gives; testdata/wilson.py
// has made the file.
func TestWilsonAgainstStatsmodels(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/wilson.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	number := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, row := range rows[1:] {
		k, n := int(number(row[0])), int(number(row[1]))
		got := intervalOf(k, n)
		if math.Abs(got.Low-number(row[2])) > 1e-12 || math.Abs(got.High-number(row[3])) > 1e-12 {
			t.Errorf("%d of %d: got %.15f to %.15f, want %s to %s", k, n, got.Low, got.High, row[2], row[3])
		}
	}
	if len(rows) < 100 {
		t.Errorf("got %d rows, want 100 or more", len(rows))
	}
}

// TestWilsonOfNothing holds that nothing is known of no requests.
func TestWilsonOfNothing(t *testing.T) {
	t.Parallel()
	if got := intervalOf(0, 0); got != (Interval{High: 1}) {
		t.Errorf("got %+v, want 0 to 1", got)
	}
}

// TestFewest holds that the intervals of none and of all part at what needed says, and not before.
func TestFewest(t *testing.T) {
	t.Parallel()
	for n := range 10 {
		if parted := intervalOf(0, n).High < intervalOf(n, n).Low; parted != (n >= needed(0, 1)) {
			t.Errorf("with %d requests the intervals are apart: %t", n, parted)
		}
	}
}

// TestNeeded compares how many requests are needed with the numbers that are published for them.
func TestNeeded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		p, q float64
		want int
	}{{0.05, 0.10, 432}, {0.02, 0.05, 586}, {0.02, 0.04, 1139}, {0.01, 0.02, 2316}, {0.04, 0.02, 1139}, {0.5, 0.5, 0}, {0, 1, 4}, {1, 0, 4}, {0.01, 0.99, 4}} {
		if got := needed(tt.p, tt.q); got != tt.want {
			t.Errorf("%.2f against %.2f: got %d, want %d", tt.p, tt.q, got, tt.want)
		}
	}
}
