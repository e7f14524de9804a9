package simulate

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// What a request costs at an upstream.
const (
	perUncached = 100 * time.Microsecond
	perOutput   = 20 * time.Millisecond
)

// upstream is the model of a target.
type upstream struct {
	name  string
	idle  time.Duration // 0: nothing grows too old
	cache cache
	alive bool
}

// cache holds the time of last use of blocks.
type cache interface {
	Get(id int64) (time.Duration, bool)
	Add(id int64, at time.Duration) bool
	Purge()
}

func newUpstream(name string, o Options) *upstream {
	u := &upstream{name: name, idle: o.Idle, alive: true, cache: unbounded{}}
	if o.Capacity > 0 {
		u.cache, _ = simplelru.NewLRU[int64, time.Duration](o.Capacity, nil) // fails only for a size below 1
	}
	return u
}

// take reads a prompt: it returns how many leading blocks were cached, and has all of
// them afterwards.
func (u *upstream) take(blocks []int64, now time.Duration) (hit int) {
	for hit < len(blocks) {
		at, ok := u.cache.Get(blocks[hit])
		if !ok || u.idle > 0 && now-at > u.idle {
			break
		}
		hit++
	}
	for i := len(blocks) - 1; i >= 0; i-- { // the ends of prompts are the first to go
		u.cache.Add(blocks[i], now)
	}
	return hit
}

// unbounded is a cache that keeps everything.
type unbounded map[int64]time.Duration

func (c unbounded) Get(id int64) (time.Duration, bool) { at, ok := c[id]; return at, ok }
func (c unbounded) Purge()                             { clear(c) }
func (c unbounded) Add(id int64, at time.Duration) bool {
	c[id] = at
	return false
}
