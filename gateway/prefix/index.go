package prefix

import (
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of a target.
const (
	DefaultEntries = 10_000
	DefaultIdle    = 5 * time.Minute // as Anthropic's and OpenAI's shorter caches
)

// Target is an upstream with a prompt cache of its own: for hosted providers usually a
// key and a region, for own servers a replica.
type Target struct {
	Name string
	// Entries bounds the blocks that are remembered; 0 is DefaultEntries. A block of
	// prompt text is 512 bytes, so the default covers 5 MB of prompts. An entry takes
	// less than 100 bytes of memory.
	Entries int
	// Idle is how long the target's cache keeps what is not used; 0 is DefaultIdle. With
	// less than 0 nothing grows too old.
	Idle time.Duration
}

// Options are those of an index. The zero value is an index without targets.
type Options struct {
	Targets []Target
	// Share keeps what the index learns for Deltas, for each target at most a quarter of
	// its Entries, and 65,536 blocks. Without it there are no deltas.
	Share bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Index knows which blocks of prompts are in the caches of targets. It guesses: it knows
// what targets have answered, and not what they have thrown away since. All methods may
// be called by many goroutines. A lock is only held while one chain is looked up in or
// added to one target's blocks, some microseconds.
type Index struct {
	share   bool
	clock   func() time.Time
	start   time.Time
	targets atomic.Pointer[map[string]*target]
	keep    sync.Mutex // held by Keep
	hot     sketch
	turn    atomic.Uint64 // counts choices
	unknown atomic.Uint64 // deltas about targets that are not here
}

// New returns an empty index.
func New(o Options) *Index {
	x := &Index{share: o.Share, clock: o.Now}
	if x.clock == nil {
		x.clock = time.Now
	}
	x.start = x.clock()
	x.targets.Store(&map[string]*target{})
	x.Keep(o.Targets)
	return x
}

// Keep makes the targets those of the list, when a configuration was loaded anew. What is
// known about a target that stays is kept, unless its Entries have changed. Of two
// targets with one name the last counts.
func (x *Index) Keep(targets []Target) {
	x.keep.Lock()
	defer x.keep.Unlock()
	old := *x.targets.Load()
	next := make(map[string]*target, len(targets))
	for _, o := range targets {
		if o.Entries <= 0 {
			o.Entries = DefaultEntries
		}
		if o.Idle == 0 {
			o.Idle = DefaultIdle
		}
		t, ok := old[o.Name]
		if !ok || t.limit != o.Entries {
			t = newTarget(o.Name, o.Entries, x.share)
		}
		t.setIdle(o.Idle)
		next[o.Name] = t
	}
	x.targets.Store(&next)
}

func (x *Index) target(name string) *target { return (*x.targets.Load())[name] }

// Add notes that the target's cache holds the prompt from now on. [Index.Answered] calls it
// for an answer with a count of tokens; a simulation, which has none, calls it itself.
func (x *Index) Add(name string, c Chain) {
	if t := x.target(name); t != nil {
		t.add(c, x.now())
	}
}

// Reported takes what the provider says about an answer: so many leading blocks of the
// prompt came from its cache, where the decision expected another number. What it did not
// have is forgotten, what it did have is learned. It is called before Add, since Add is
// about the time after the answer.
func (x *Index) Reported(name string, c Chain, expected, cached int) {
	if t := x.target(name); t != nil {
		t.reported(c, min(max(expected, 0), len(c)), min(max(cached, 0), len(c)), x.now())
	}
}

// Drop forgets all about a target: it died, was started anew, or answers as if its cache
// were empty. With the next Deltas the other gateways forget it too.
func (x *Index) Drop(name string) {
	if t := x.target(name); t != nil {
		t.drop(x.now())
	}
}

// Match returns how many leading blocks of the chain the target is believed to have.
func (x *Index) Match(name string, c Chain) int {
	if t := x.target(name); t != nil {
		cached, _ := t.look(c, x.now(), 0)
		return cached
	}
	return 0
}

// A stamp is a time in ticks, so that an entry is small. Zero is before all times.
type stamp uint32

const (
	tick = 100 * time.Millisecond // 32 bits of them are 13 years
	// epoch is the stamp of the index's start. What other gateways have learned may be
	// older.
	epoch stamp = 1 << 20
)

func (x *Index) now() stamp {
	return epoch + stamp(max(0, x.clock().Sub(x.start))/tick)
}

// ticks is a duration as a number of ticks, at least 0.
func ticks(d time.Duration) stamp {
	return stamp(min(max(0, d/tick), 1<<31))
}
