package main

import (
	"errors"
	"io"
	"sync/atomic"
	"testing"
)

// TestAllocations is not parallel: other tests' allocations would count.
func TestAllocations(t *testing.T) {
	var kept []*[100]int
	got, err := allocations(2, func() error {
		kept = kept[:0]
		for range 6 {
			kept = append(kept, new([100]int))
		}
		return nil
	})
	if err != nil || got != 3 {
		t.Errorf("got %v, %v, want 3", got, err)
	}
	if _, err := allocations(1, func() error { return io.EOF }); err != io.EOF {
		t.Errorf("got %v, want %v", err, io.EOF)
	}
}

func TestAtOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		var asked atomic.Int64
		err := atOnce(n, func() error { asked.Add(1); return nil })
		if want := int64(n * breakerCalls); err != nil || asked.Load() != want {
			t.Errorf("%d at once: asked %d times, %v, want %d", n, asked.Load(), err, want)
		}
		if err := atOnce(n, func() error { return io.EOF }); !errors.Is(err, io.EOF) {
			t.Errorf("%d at once: got %v, want %v", n, err, io.EOF)
		}
	}
	if err := errors.Join(passing()(), rejecting()()); err != nil {
		t.Error(err)
	}
}
