package quality

import (
	"cmp"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Bounds of a Book. A full one takes some 12 MB: 256 targets with 1,024 cells of 40 bytes each, 1,024
// tools, and 65,536 conversations.
const (
	windowTurns = 200              // of a target, and what more its last bucket has
	enoughTurns = 100              // to judge by
	bucketTime  = 10 * time.Second // what gateways tell each other is of whole buckets
	maxAge      = 6 * time.Hour    // of a bucket
	maxCells    = 1024             // of a target
	maxTargets  = 256              // others are not counted
	maxTools    = 1024             // of others only that there was a call
	maxName     = 128              // bytes of a tool's name
	maxCount    = 1 << 30

	maxToolsOfTurn = 32
)

// Options are what a Book is made of. All may be left out.
type Options struct {
	// Now is the clock, time.Now if it is nil, and Rand gives numbers of [0, 1).
	Now  func() time.Time
	Rand func() float64
	// Log is told when shares change, and when a tool's schema is to blame.
	Log *slog.Logger
	// Salt is the secret that gateways have in common, with which conversations are keyed.
	Salt []byte
}

// Book keeps what was counted. It lives as long as the process, and is safe for concurrent use.
type Book struct {
	o    Options
	keys conversations

	mu      sync.Mutex
	targets map[Target]*record
	tools   tools
	groups  map[string]*Group
	outgoing
	next time.Time // when it is evaluated
}

// record is what is kept of a target.
type record struct {
	target Target
	window window
	totals
}

// totals are of this gateway, since the start.
type totals struct {
	results [results]uint64
	excuses [excuses]uint64
}

// tools numbers tools.
type tools struct {
	numbers map[Tool]uint16
	seen    []seenTool // by number, from firstTool on
	full    uint32     // the bucket in which there was no room for another one
	blamed  map[uint16]time.Time
}

// seenTool is a tool, and the bucket in which it was last called.
type seenTool struct {
	Tool
	slot uint32
}

// New makes a book.
func New(o Options) *Book {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Book{o: o, keys: newConversations(o.Salt), targets: map[Target]*record{}, groups: map[string]*Group{},
		tools: tools{numbers: map[Tool]uint16{}, blamed: map[uint16]time.Time{}}}
}

// Record counts a turn of a target.
func (b *Book) Record(t Target, turn Turn) {
	now := b.o.Now()
	b.mu.Lock()
	r := b.record(t)
	if r == nil {
		b.mu.Unlock()
		return
	}
	slot := slotOf(now)
	b.turn(slot)
	result := turn.Result()
	r.results[result]++
	b.count(r, slot, wholeTurn, result)
	b.count(r, slot, aim, turn.Aim)
	for _, c := range turn.Calls {
		if tool, ok := b.number(c.Tool, slot); ok {
			b.count(r, slot, tool, c.Result)
		}
	}
	r.window.trim(slot - min(slot, uint32(maxAge/bucketTime)))
	said := b.due(now)
	b.mu.Unlock()
	b.say(said)
}

// Excuse counts a turn of a target that is not scored.
func (b *Book) Excuse(t Target, why Excuse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.record(t); r != nil {
		r.excuses[why]++
	}
}

func (b *Book) record(t Target) *record {
	r := b.targets[t]
	if r == nil && len(b.targets) < maxTargets {
		r = &record{target: t}
		b.targets[t] = r
	}
	return r
}

// count counts a turn of this gateway.
func (b *Book) count(r *record, slot uint32, tool uint16, result Result) {
	var c counts
	c[result] = 1
	r.window.add(slot, tool, &c)
	b.tell(slot, r.target, tool, &c)
}

// number is that of a tool. If there are too many, the one that was not called for the longest time
// makes room, unless that was lately.
func (b *Book) number(t Tool, slot uint32) (uint16, bool) {
	if n, ok := b.tools.numbers[t]; ok {
		b.tools.seen[n-firstTool].slot = max(slot, b.tools.seen[n-firstTool].slot)
		return n, true
	}
	if t.Name == "" || len(t.Name) > maxName {
		return 0, false
	}
	n := uint16(len(b.tools.seen))
	switch {
	case n < maxTools:
		b.tools.seen = append(b.tools.seen, seenTool{})
	case b.tools.full == slot:
		return 0, false
	default:
		oldest := slices.MinFunc(b.tools.seen, func(x, y seenTool) int { return cmp.Compare(x.slot, y.slot) })
		if slot-min(slot, oldest.slot) < uint32(forgetTool/bucketTime) {
			b.tools.full = slot
			return 0, false
		}
		n = b.tools.numbers[oldest.Tool] - firstTool
		b.forget(oldest.Tool)
	}
	b.tools.seen[n] = seenTool{t, slot}
	b.tools.numbers[t] = n + firstTool
	return n + firstTool, true
}

// forgetTool is how long a tool was not called whose number is given to another one.
const forgetTool = 10 * time.Minute

func (b *Book) forget(t Tool) {
	n := b.tools.numbers[t]
	delete(b.tools.numbers, t)
	delete(b.tools.blamed, n)
	for _, r := range b.targets {
		r.window.forget(n)
	}
}

// tool is the tool with a number.
func (b *Book) tool(n uint16) Tool { return b.tools.seen[n-firstTool].Tool }

func (b *Book) isBlamed(tool uint16) bool {
	_, blamed := b.tools.blamed[tool]
	return blamed
}

// Evaluation takes place every 30 seconds, and up to 6 later, so that not all gateways do the same at
// one time.
const (
	evaluateEvery  = 30 * time.Second
	evaluateJitter = 6 * time.Second
)

// due evaluates if it is time, and returns what there is to say of it.
func (b *Book) due(now time.Time) []event {
	if now.Before(b.next) {
		return nil
	}
	first := b.next.IsZero()
	b.next = now.Add(evaluateEvery + time.Duration(b.o.Rand()*float64(evaluateJitter)))
	if first {
		return nil
	}
	return b.evaluate(now)
}

// evaluate looks at all tools and groups anew.
func (b *Book) evaluate(now time.Time) (said []event) {
	oldest := slotOf(now) - uint32(maxAge/bucketTime)
	all := make(map[Target]sums, len(b.targets))
	for t, r := range b.targets {
		r.window.trim(oldest)
		all[t] = r.window.sums()
	}
	said = b.blame(now, all)
	for _, name := range sortedNames(b.groups) {
		said = append(said, b.groups[name].evaluate(now, all)...)
	}
	return said
}

// event is a line of the log.
type event struct {
	level   slog.Level
	message string
	attrs   []any
}

func (b *Book) say(events []event) {
	for _, e := range events {
		b.o.Log.Log(background, e.level, e.message, e.attrs...)
	}
}
