package plugins

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// times counts how long regions took, in steps of a quarter of a power of two: a percentile
// of it is at most a fifth too high. It is safe for concurrent use.
type times struct{ steps [timeSteps]atomic.Uint64 }

const (
	timeBase  = 10 // the first steps are below 2^10 ns
	timeSteps = 4 * 27
)

// Times are percentiles of how long a guest worked on a region, since the plugin was
// loaded.
type Times struct {
	P50 time.Duration `json:"p50_ns"`
	P90 time.Duration `json:"p90_ns"`
	P99 time.Duration `json:"p99_ns"`
}

func (t *times) add(d time.Duration) {
	n := uint64(max(d, 1))
	octave := bits.Len64(n) - 1
	if octave < timeBase {
		t.steps[0].Add(1)
		return
	}
	step := 4*(octave-timeBase) + int(n>>(octave-2)&3)
	t.steps[min(step, timeSteps-1)].Add(1)
}

// percentiles gives the upper ends of the steps that hold them; zeros if there is nothing.
func (t *times) percentiles() Times {
	var counts [timeSteps]uint64
	var total uint64
	for i := range t.steps {
		counts[i] = t.steps[i].Load()
		total += counts[i]
	}
	at := func(share uint64) time.Duration {
		need, seen := (total*share+99)/100, uint64(0)
		for i, n := range counts {
			if seen += n; n > 0 && seen >= need {
				return time.Duration((4 + uint64(i%4) + 1) << (timeBase + i/4 - 2))
			}
		}
		return 0
	}
	return Times{P50: at(50), P90: at(90), P99: at(99)}
}
