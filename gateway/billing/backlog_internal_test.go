package billing

import (
	"context"
	"testing"
	"time"
)

// TestBacklogDropped holds that who waits until nothing does is woken by rows that are given up, too.
func TestBacklogDropped(t *testing.T) {
	t.Parallel()
	b := newBacklog(100, "full", 100, nil)
	for range 2 {
		if reason := b.claim(40); reason != "" {
			t.Fatalf("got %q, want room", reason)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	empty := make(chan error)
	go func() { empty <- b.untilEmpty(ctx) }()
	b.drop(1, 40)
	b.drop(1, 40)
	if err := <-empty; err != nil {
		t.Errorf("got %v, want it woken by the last row that was dropped", err)
	}
}
