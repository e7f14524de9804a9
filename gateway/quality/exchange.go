package quality

import (
	"encoding/binary"
	"slices"
	"time"
)

// Counts are what one gateway has counted in one bucket of time, for the others.
type Counts struct {
	// Age is how long ago the bucket ended.
	Age    time.Duration
	Places []Place
	// Placed are conversations with the arms that they were given lately, 9 bytes each. They come
	// without Places.
	Placed []byte
}

// Place is what was counted of a tool at a target. Part is 0 for turns and 1 for their aim, which have
// no tool, and 2 for calls.
type Place struct {
	Target Target
	Part   uint8
	Tool   Tool
	Counts [results]uint32
}

// Bounds of what waits for other gateways.
const (
	maxPlaces  = 4096 // of a bucket
	maxBuckets = 64   // ten minutes
	maxPlaced  = 4096 // conversations of one exchange
	placedSize = 9
)

// outgoing is what other gateways are to be told of. It is off until somebody takes it.
type outgoing struct {
	on     bool
	slot   uint32 // the one that is counted
	counts map[place]*counts
	full   []bucket
	placed []byte  // conversations, as Counts has them
	shared *Shared // nil: nobody
}

type place struct {
	target Target
	tool   uint16
}

type bucket struct {
	slot   uint32
	places []Place
}

func (o *outgoing) tell(slot uint32, t Target, tool uint16, c *counts) {
	if !o.on || slot != o.slot { // a clock that was put back
		return
	}
	at := place{t, tool}
	if o.counts[at] == nil {
		if len(o.counts) >= maxPlaces {
			return
		}
		o.counts[at] = &counts{}
	}
	o.counts[at].add(c)
}

// place notes for other gateways which arm a conversation was given.
func (b *Book) place(key uint64, arm uint8) {
	if b.on && len(b.placed) < maxPlaced*placedSize {
		b.placed = append(binary.LittleEndian.AppendUint64(b.placed, key), arm)
	}
}

// turn ends the bucket that is counted, if it is over.
func (b *Book) turn(slot uint32) {
	o := &b.outgoing
	if slot == o.slot {
		return
	}
	if len(o.counts) > 0 {
		full := bucket{slot: o.slot}
		for at, c := range o.counts {
			p := Place{Target: at.target, Part: uint8(min(at.tool, firstTool)), Counts: *c}
			if at.tool >= firstTool {
				p.Tool = b.tool(at.tool)
			}
			full.places = append(full.places, p)
		}
		o.full = append(o.full, full)
		o.full = slices.Delete(o.full, 0, max(0, len(o.full)-maxBuckets))
	}
	o.slot, o.counts = slot, map[place]*counts{}
}

// Take returns what this gateway has counted in buckets that are over, and that were not taken before.
// With all, that of the last one too, though it is not over.
func (b *Book) Take(all bool) []Counts {
	now := b.o.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	slot := slotOf(now)
	b.on = true
	b.turn(slot)
	if all {
		b.turn(slot + 1)
		b.slot = slot
	}
	var out []Counts
	for _, f := range b.full {
		end := time.Unix(int64(f.slot+1)*int64(bucketTime/time.Second), 0)
		out = append(out, Counts{Age: max(0, now.Sub(end)), Places: f.places})
	}
	if len(b.placed) > 0 {
		out = append(out, Counts{Placed: b.placed})
	}
	b.full, b.placed = nil, nil
	return out
}

// Apply counts what another gateway has counted. Counts of targets that this gateway does not have are
// kept too, as far as there is room.
func (b *Book) Apply(c Counts) {
	now := b.o.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.Age > maxAge {
		return
	}
	for p := c.Placed[:min(len(c.Placed), maxPlaced*placedSize)]; len(p) >= placedSize; p = p[placedSize:] {
		b.keys.put(binary.LittleEndian.Uint64(p), p[placedSize-1])
	}
	slot := slotOf(now.Add(-max(0, c.Age) - bucketTime))
	oldest := slotOf(now) - uint32(maxAge/bucketTime)
	for i := range c.Places {
		p := &c.Places[i]
		r := b.record(p.Target)
		tool, ok := uint16(p.Part), true
		if p.Part >= uint8(firstTool) {
			tool, ok = b.number(p.Tool, slot)
		}
		if r == nil || !ok {
			continue
		}
		var sum counts
		for k, n := range p.Counts {
			sum[k] = min(n, maxApplied)
		}
		r.window.add(slot, tool, &sum)
		r.window.trim(oldest)
	}
}

// maxApplied is how many turns another gateway may have counted of one result in a bucket.
const maxApplied = 1 << 20
