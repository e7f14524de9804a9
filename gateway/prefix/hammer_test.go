package prefix_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/usage"
)

// TestHammer calls everything at once. The race detector is the judge, and afterwards the
// index is within its bounds and knows what it is told.
func TestHammer(t *testing.T) {
	t.Parallel()
	const limit = 500
	o, targets := candidates(6)
	for i := range targets {
		targets[i].Entries, targets[i].Idle = limit, time.Second
	}
	var elapsed atomic.Int64
	x := prefix.New(prefix.Options{Targets: targets, Share: true, Now: func() time.Time {
		return time.Unix(0, elapsed.Add(int64(time.Millisecond)))
	}})
	other := prefix.New(prefix.Options{Targets: targets, Share: true})
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			chance := rand.New(rand.NewPCG(1, uint64(worker)))
			for range 500 {
				chain := ids(100*chance.IntN(20), 1+chance.IntN(60))
				d := x.Choose(chain, o)
				switch chance.IntN(20) {
				case 0:
					x.Drop(d.Target)
				case 1:
					x.Keep(targets[:5+chance.IntN(2)])
				case 2:
					x.Apply(other.Deltas(100))
				case 3:
					other.Apply(x.Deltas(100))
				case 4:
					_ = x.Snapshot()
				case 5:
					other.Add(d.Target, chain)
				case 6, 7, 8, 9:
					x.Answered(d.Target, chain, d.Expected, usage.Usage{Reported: true, CacheReported: true,
						WriteReported: chance.IntN(2) == 0, Input: 5000, CacheRead: 50 * chance.IntN(100)})
				default:
					x.Reported(d.Target, chain, d.Expected, chance.IntN(len(chain)+1))
					x.Add(d.Target, chain)
				}
			}
		})
	}
	wait.Wait()
	for _, s := range x.Snapshot().Targets {
		if s.Entries > limit {
			t.Errorf("got %d entries at %s, want at most %d", s.Entries, s.Target, limit)
		}
	}
	x.Keep(targets)
	x.Add("t0", ids(0, 50))
	wantMatch(t, x, "t0", ids(0, 50), 50)
}
