package simulate

import "time"

// What a request costs at an upstream.
const (
	perUncached = 100 * time.Microsecond
	perOutput   = 20 * time.Millisecond
)

// upstream is the model of a target.
type upstream struct {
	name  string
	idle  time.Duration           // 0: nothing grows too old
	cache map[int64]time.Duration // the time of last use of blocks
	alive bool
}

// take reads a prompt: it returns how many leading blocks were cached, and has all of
// them afterwards.
func (u *upstream) take(blocks []int64, now time.Duration) (hit int) {
	for hit < len(blocks) {
		at, ok := u.cache[blocks[hit]]
		if !ok || u.idle > 0 && now-at > u.idle {
			break
		}
		hit++
	}
	for _, block := range blocks {
		u.cache[block] = now
	}
	return hit
}
