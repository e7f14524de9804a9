package main

import (
	"context"
	"time"
)

// batch does the same work some times and returns how long once took, in µs.
type batch func() (float64, error)

const (
	// batchTime is about how long a batch takes: short enough to fall between two
	// turns of another process, long enough for the clock.
	batchTime = 5 * time.Millisecond
	minRounds = 9
)

// interleave runs the batches in turn for about the time total, and returns what
// each measured, by round. The first in a round is another one each time.
func interleave(ctx context.Context, total time.Duration, batches ...batch) ([][]float64, error) {
	times := make([][]float64, len(batches))
	for _, b := range batches { // warm
		if _, err := b(); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	for round := 0; round < minRounds || time.Since(began) < total; round++ {
		for i := range batches {
			i = (i + round) % len(batches)
			t, err := batches[i]()
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], t)
		}
	}
	return times, nil
}

// repeated makes a batch of f, which it repeats as often as fits into batchTime.
func repeated(f func() error) batch {
	began := time.Now()
	return repeatedBy(func() time.Duration { return time.Since(began) }, f)
}

// repeatedBy does so by another clock.
func repeatedBy(clock func() time.Duration, f func() error) batch {
	n := 1
	return func() (float64, error) {
		began := clock()
		for range n {
			if err := f(); err != nil {
				return 0, err
			}
		}
		took := clock() - began
		each := micros(took) / float64(n)
		if took < batchTime/4 || took > batchTime*4 {
			n = max(1, int(micros(batchTime)/max(each, 0.001)))
		}
		return each, nil
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
