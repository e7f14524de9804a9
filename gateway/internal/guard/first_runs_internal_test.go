package guard

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// firstRun is what a blind set brought when it was new, on rules that nobody had changed by it (testdata/README.md).
type firstRun struct {
	name         string
	fine, ghosts int
	cases        []firstCase // those with signals that may be an alarm
}

type firstCase struct {
	ghost, twin bool
	signals     []Signal
}

// figures are what a threshold brings.
type runFigures struct{ alarms, fine, found, ghosts, twins int }

func (r *firstRun) at(threshold float64) runFigures {
	f := runFigures{fine: r.fine, ghosts: r.ghosts}
	for _, c := range r.cases {
		switch {
		case combine(c.signals) < threshold:
		case c.ghost:
			f.found++
		default:
			f.alarms++
			f.twins += count(c.twin)
		}
	}
	return f
}

func (f runFigures) and(g runFigures) runFigures {
	return runFigures{f.alarms + g.alarms, f.fine + g.fine, f.found + g.found, f.ghosts + g.ghosts, f.twins + g.twins}
}

func (f runFigures) recall() float64 { return float64(f.found) / float64(f.ghosts) }

// precision is that where one answer in ten is a ghost.
func (f runFigures) precision() float64 {
	const rate = 0.1
	flagged := rate*f.recall() + (1-rate)*float64(f.alarms)/float64(f.fine)
	return rate * f.recall() / max(flagged, 1e-9)
}

func (f runFigures) String() string {
	return fmt.Sprintf("alarms %d of %d, ghosts found %d of %d, twins flagged %d; precision at one in ten %.3f, recall %.3f",
		f.alarms, f.fine, f.found, f.ghosts, f.twins, f.precision(), f.recall())
}

func readFirstRuns(t *testing.T) (runs []firstRun) {
	t.Helper()
	text, err := os.ReadFile("testdata/first-runs.txt")
	if err != nil {
		t.Fatal(err)
	}
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if words[1] == "all" {
			runs = append(runs, firstRun{name: words[0], fine: number(words[2]), ghosts: number(words[3])})
			continue
		}
		c := firstCase{ghost: words[1] == "ghost", twin: words[1] == "twin"}
		for _, word := range words[2:] {
			name, value, _ := strings.Cut(word, "=")
			weight, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			c.signals = append(c.signals, Signal{Name: name, Weight: weight})
		}
		last := &runs[len(runs)-1]
		last.cases = append(last.cases, c)
	}
	return runs
}

// sum is what all runs but one bring together, none is left out if its name is "".
func sum(runs []firstRun, without string, threshold float64) (all runFigures) {
	for i := range runs {
		if runs[i].name != without {
			all = all.and(runs[i].at(threshold))
		}
	}
	return all
}

const (
	// wantedPrecision is what the threshold has to reach on the sets that it is chosen by, and leastFirst what the
	// default must reach on all of them, which shows a collapse.
	wantedPrecision, leastFirst = 0.93, 0.9
)

// TestFirstRuns prints what the thresholds bring on the signals of the blind sets' first runs, with today's way to add
// signals up: all sets together, and each with the threshold that is best on the others.
func TestFirstRuns(t *testing.T) {
	t.Parallel()
	runs := readFirstRuns(t)
	thresholds := []float64{0.7, 0.75, 0.8, 0.83, 0.85, 0.86, 0.87, 0.88, 0.9, 0.92}
	for _, threshold := range thresholds {
		t.Logf("%.2f: all sets: %v", threshold, sum(runs, "", threshold))
		t.Logf("%.2f: the last three: %v", threshold, sum(runs[len(runs)-3:], "", threshold))
	}
	var left runFigures
	for i := range runs {
		best := thresholds[len(thresholds)-1]
		for _, threshold := range slices.Backward(thresholds) {
			if f := sum(runs, runs[i].name, threshold); f.precision() >= wantedPrecision && f.twins == 0 && f.recall() > sum(runs, runs[i].name, best).recall() {
				best = threshold
			}
		}
		f := runs[i].at(best)
		left = left.and(f)
		t.Logf("%s, at %.2f, which is best on the others: %v", runs[i].name, best, f)
	}
	t.Logf("each set at the threshold of the others: %v", left)
	if f := sum(runs, "", DefaultThreshold); f.precision() < leastFirst || f.twins > 0 {
		t.Errorf("at the default: got %v, want a precision of %.2f and no twin", f, leastFirst)
	}
}
