package prefix

import (
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// entry is a block's hash in a target's memory: half of what the chain has. golang-lru
// takes 95 bytes for such an entry with a stamp and 110 for one of 64 bits. A full index
// of 10,000 entries takes a block that it does not have for another with a chance of
// 1:430,000, and then expects one block more to be cached.
type entry uint32

// short is the entry of a hash.
func short(hash uint64) entry { return entry(hash) }

// target is what is known about one target.
//
// The blocks of a chain are always touched from its end to its beginning. So a block is
// never older than one behind it, and the LRU gives up the ends of prompts first.
type target struct {
	name  string
	limit int

	mu      sync.Mutex
	blocks  *simplelru.LRU[entry, stamp] // time of last use
	idle    stamp                        // 0: nothing grows too old
	dropped stamp                        // of the last Drop; what is as old is not there
	pending *pending                     // nil: not shared
	recent  fading                       // choices of this target
	misses  int                          // in a row, of much that was expected
	counts  counts
}

// counts are what Snapshot shows, in blocks but for the choices.
type counts struct {
	choices, hits      uint64
	expected, reported uint64
	evicted            uint64
}

func newTarget(name string, limit int, share bool) *target {
	t := &target{name: name, limit: limit}
	t.blocks, _ = simplelru.NewLRU[entry, stamp](limit, nil) // fails only for a limit below 1
	if share {
		t.pending = newPending(limit)
	}
	return t
}

func (t *target) setIdle(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = 0
	if d > 0 {
		t.idle = max(1, ticks(d))
	}
}

// fresh reports whether what was last used at a time is still in the target's cache.
func (t *target) fresh(at, now stamp) bool {
	return at > t.dropped && (t.idle == 0 || at >= now || now-at <= t.idle)
}

// look returns the number of leading blocks that are there, and how many choices it has
// had lately. It does not touch the blocks: a choice is not yet an answer.
func (t *target) look(c Chain, now stamp, turn uint64) (cached int, recent float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leading(c, now), t.recent.at(turn)
}

func (t *target) leading(c Chain, now stamp) int {
	if !t.caches() {
		return 0
	}
	for i, hash := range c {
		if at, ok := t.blocks.Peek(short(hash)); !ok || !t.fresh(at, now) {
			return i
		}
	}
	return len(c)
}

func (t *target) add(c Chain, now stamp) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep(now)
	t.touch(c, now)
}

// touch learns the blocks of a chain, or of its first part where it would take more than
// half of the memory: one huge prompt must not push out everything.
func (t *target) touch(c Chain, now stamp) {
	c = c[:min(len(c), max(1, t.limit/2))]
	if t.pending != nil {
		t.tell(c, now)
	}
	for _, block := range slices.Backward(c) {
		t.put(short(block), now)
	}
}

// tell notes for the other gateways what they may not know: a block that was used since
// the last deltas is in these, or came from another gateway.
func (t *target) tell(c Chain, now stamp) {
	for _, hash := range c {
		at, ok := t.blocks.Peek(short(hash))
		if !ok || at <= t.pending.given || !t.fresh(at, now) {
			t.pending.note(mark{block: short(hash), at: now})
		}
	}
}

func (t *target) put(e entry, at stamp) {
	if t.blocks.Add(e, at) {
		t.counts.evicted++
	}
}

// sweep removes some of what has grown too old, so that it does not wait for the memory
// to be full.
func (t *target) sweep(now stamp) {
	for range 16 {
		_, at, ok := t.blocks.GetOldest()
		if !ok || t.fresh(at, now) {
			return
		}
		t.blocks.RemoveOldest()
	}
}

func (t *target) reported(c Chain, expected, cached int, now stamp) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.expected += uint64(expected)
	t.counts.reported += uint64(cached)
	for _, hash := range c[cached:] {
		if t.blocks.Remove(short(hash)) && t.pending != nil {
			t.pending.note(mark{block: short(hash), at: now, gone: true})
		}
	}
	t.touch(c[:cached], now)
}

func (t *target) drop(now stamp) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.blocks.Purge()
	t.misses = 0        // what was started anew may be set up in another way
	t.dropped = now - 1 // an answer may come within the same tick
	if t.pending != nil {
		t.pending.marks, t.pending.dropped = t.pending.marks[:0], now // nothing from before matters any more
	}
}

// chosen counts a choice of the target.
func (t *target) chosen(hit bool, turn uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recent = t.recent.plusOne(turn)
	t.counts.choices++
	if hit {
		t.counts.hits++
	}
}
