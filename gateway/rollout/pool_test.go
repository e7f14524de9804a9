package rollout_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/gateway/rollout"
)

// TestPoolDrops fills a pool with one worker and room for two: the fourth job is dropped, and so is one
// that is too large.
func TestPoolDrops(t *testing.T) {
	t.Parallel()
	p := rollout.NewPool(rollout.PoolOptions{Workers: 1, Waiting: 2, Bytes: 100})
	begun, end := make(chan bool), make(chan bool)
	var done atomic.Int32
	work := func(context.Context) { begun <- true; <-end; done.Add(1) }
	if !p.Offer(10, work) {
		t.Fatal("got no room for the first job")
	}
	<-begun
	if p.Offer(91, work) {
		t.Error("got room for 101 bytes of 100")
	}
	if !p.Offer(10, work) || !p.Offer(80, work) || p.Offer(0, work) {
		t.Error("got other room than for two that wait")
	}
	close(end)
	<-begun
	<-begun
	p.Close()
	if got := p.Stats(); done.Load() != 3 || got != (rollout.PoolStats{Taken: 3, Dropped: 2}) {
		t.Errorf("got %d done and %+v, want 3, and 2 dropped", done.Load(), got)
	}
	if p.Offer(0, work) {
		t.Error("got room in a closed pool")
	}
}

// TestPoolCloses holds that Close ends the job that runs, and none that waits begins.
func TestPoolCloses(t *testing.T) {
	t.Parallel()
	p := rollout.NewPool(rollout.PoolOptions{Workers: 1, Waiting: 1, Bytes: 1})
	begun := make(chan bool)
	p.Offer(0, func(ctx context.Context) { close(begun); <-ctx.Done() })
	<-begun
	p.Offer(0, func(context.Context) { t.Error("got a job that begins behind Close") })
	p.Close()
	p.Close()
}

// TestPoolPanics holds that a job which panics ends alone.
func TestPoolPanics(t *testing.T) {
	t.Parallel()
	var told atomic.Value
	p := rollout.NewPool(rollout.PoolOptions{Workers: 1, Waiting: 2, Bytes: 1, Panicked: func(v any) { told.Store(v) }})
	done := make(chan bool)
	p.Offer(1, func(context.Context) { panic("odd") })
	for !p.Offer(1, func(context.Context) { close(done) }) { // until the first has given its byte back
		continue
	}
	<-done
	p.Close()
	if told.Load() != "odd" {
		t.Errorf("got %v told, want odd", told.Load())
	}
}
