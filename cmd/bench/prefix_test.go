package main

import "testing"

// TestFullIndex holds that what is measured is full, so that the figures are of the most
// that an index remembers.
func TestFullIndex(t *testing.T) {
	t.Parallel()
	x, candidates := fullIndex()
	targets := x.Snapshot().Targets
	if len(targets) != len(candidates) {
		t.Fatalf("got %d targets, want %d", len(targets), len(candidates))
	}
	for _, s := range targets {
		if s.Entries != s.Limit || s.Evicted == 0 {
			t.Errorf("got %+v, want it full", s)
		}
	}
}
