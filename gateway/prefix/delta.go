package prefix

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Delta is what an index has learned about one target and others do not know yet.
type Delta struct {
	Target string `json:"target"`
	// Dropped says that the target was dropped, DropAge ago, before any of the marks.
	Dropped bool          `json:"dropped,omitzero"`
	DropAge time.Duration `json:"drop_age,omitzero"`
	Marks   []Mark        `json:"marks,omitzero"`
}

// Mark says that a target has a block, or has it no more.
type Mark struct {
	// Block is the half of the block's hash that an index keeps. It is made with the
	// tenant's key, and nothing about the prompt can be told from it.
	Block uint32 `json:"block"`
	// Age is how long ago that was when the mark was given out, in steps of 100 ms. It is
	// an age, since the clocks of gateways differ.
	Age  time.Duration `json:"age,omitzero"`
	Gone bool          `json:"gone,omitzero"`
}

// Deltas gives out what was learned since the last call, by target and with at most limit
// marks in all, shared among the targets; what is over comes with the next call. Each mark
// is given out once: if it cannot be sent it is lost, and the others learn that block with
// its next use. Whoever sends deltas calls it each second or so. What came from Apply is
// not given out again.
func (x *Index) Deltas(limit int) []Delta {
	targets, now := *x.targets.Load(), x.now()
	waiting := make(map[*target]int, len(targets))
	for _, t := range targets {
		waiting[t] = t.waiting()
	}
	// Who has little goes first and leaves what is over of its share to the others.
	order := slices.SortedFunc(maps.Keys(waiting), func(a, b *target) int {
		return cmp.Or(cmp.Compare(waiting[a], waiting[b]), cmp.Compare(a.name, b.name))
	})
	var out []Delta
	for i, t := range order {
		left := len(order) - i
		if d, ok := t.deltas((max(0, limit)+left-1)/left, now); ok {
			limit -= len(d.Marks)
			out = append(out, d)
		}
	}
	return out
}

// Apply takes in the deltas of another index with the same keys. What is older than what
// is known here changes nothing, so deltas may come twice, late, and in any order. Those
// about targets that are not here are counted and let be. It adds at most a target's
// Entries for each delta.
func (x *Index) Apply(deltas []Delta) {
	targets, now := *x.targets.Load(), x.now()
	for _, d := range deltas {
		if t := targets[d.Target]; t != nil {
			t.apply(d, now)
		} else {
			x.unknown.Add(1)
		}
	}
}

// waiting returns how many marks there are to give out.
func (t *target) waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pending == nil {
		return 0
	}
	return len(t.pending.marks)
}

func (t *target) deltas(limit int, now stamp) (d Delta, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.pending
	if p == nil || p.dropped == 0 && len(p.marks) == 0 {
		return Delta{}, false
	}
	d = Delta{Target: t.name}
	if p.dropped > 0 {
		d.Dropped, d.DropAge = true, now.since(p.dropped)
		p.dropped = 0
	}
	n := min(limit, len(p.marks))
	d.Marks = make([]Mark, 0, n)
	for _, m := range p.marks[:n] {
		d.Marks = append(d.Marks, Mark{Block: uint32(m.block), Age: now.since(m.at), Gone: m.gone})
	}
	p.marks = p.marks[:copy(p.marks, p.marks[n:])]
	p.given = now
	return d, d.Dropped || n > 0
}

func (t *target) apply(d Delta, now stamp) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d.Dropped {
		t.dropped = max(t.dropped, now.before(d.DropAge)-1)
	}
	marks := d.Marks[:min(len(d.Marks), t.limit)]
	for _, m := range slices.Backward(marks) { // beginnings of prompts last, as in touch
		block, at := entry(m.Block), now.before(m.Age)
		known, ok := t.blocks.Peek(block)
		switch {
		case m.Gone && ok && known < at: // what came back in the same tick stays
			t.blocks.Remove(block)
		case !m.Gone && t.fresh(at, now) && (!ok || known < at):
			t.put(block, at)
		}
	}
}

// pending is what was learned since it was last given out, in the order in which it was.
type pending struct {
	dropped stamp // 0: not
	given   stamp // when marks were last given out
	marks   []mark
	lost    uint64
}

type mark struct {
	block entry
	at    stamp
	gone  bool
}

// newPending has room for a quarter of the index: 12 bytes for each mark are 3 for an
// entry, and so much is hardly learned in a second.
func newPending(limit int) *pending {
	const most = 1 << 16
	return &pending{marks: make([]mark, 0, min(max(1, limit/4), most))}
}

func (p *pending) note(m mark) {
	if len(p.marks) == cap(p.marks) {
		p.lost++
		return
	}
	p.marks = append(p.marks, m)
}

// since returns how long ago at was.
func (s stamp) since(at stamp) time.Duration {
	return time.Duration(s-min(at, s)) * tick
}

// before returns the stamp of the time that was so long ago, at least 1.
func (s stamp) before(age time.Duration) stamp {
	return max(1, s-min(ticks(age), s))
}
