package share_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/prefix/share"
	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/internal/redistest"
)

// member is a gateway with a connection of its own to a real Redis.
func member(t *testing.T, s *redistest.Server, interval time.Duration) site {
	t.Helper()
	client, err := redis.Open(redis.Options{URL: s.URL(), KeyPrefix: s.KeyPrefix()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	x := prefix.New(prefix.Options{Targets: []prefix.Target{{Name: "x", Entries: 100_000}}, Share: true})
	return site{x, share.New(share.Options{Index: x, Stream: share.StreamOf(client, salt, time.Minute), Salt: salt, Interval: interval})}
}

// TestRedis has a gateway that comes late: it knows at once what the others do.
func TestRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := member(t, s, 0), member(t, s, 0)
	for i := range 100 {
		a.Add("x", ids(i, 50))
		push(t, a, 1)
	}
	pull(t, b, 100)
	late := member(t, s, 0)
	pull(t, late, 100)
	for _, x := range []*prefix.Index{b.Index, late.Index} {
		wantMatch(t, x, "x", ids(0, 50), 50)
		wantMatch(t, x, "x", ids(99, 50), 50)
	}
	if lag := late.Sharer.Snapshot().Lag; lag < 0 || lag > 60 {
		t.Errorf("got a lag of %v s, want what has passed", lag)
	}
}

// TestRedisRun lets gateways learn and share all at once, and ends them: what each learned
// all know, and no goroutine is left.
func TestRedisRun(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	members := []site{member(t, s, 5*time.Millisecond), member(t, s, 5*time.Millisecond), member(t, s, 5*time.Millisecond)}
	var running, learning sync.WaitGroup
	for i, m := range members {
		running.Go(func() { m.Run(ctx) })
		learning.Go(func() {
			for n := range 50 {
				m.Add("x", ids(100*i+n, 20))
				time.Sleep(time.Millisecond)
			}
		})
	}
	learning.Wait()
	await(t, "knowledge", func() bool {
		return !slices.ContainsFunc(members, func(m site) bool {
			for i := range members {
				for n := range 50 {
					if m.Match("x", ids(100*i+n, 20)) != 20 {
						return true
					}
				}
			}
			return false
		})
	})
	cancel()
	running.Wait()
}
