package prefix_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/prefix"
)

// clock is a clock that tests move.
type clock struct{ at time.Time }

func newClock() *clock                   { return &clock{at: time.Unix(1_700_000_000, 0)} }
func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

// ids makes a chain of n blocks from first on.
func ids(first, n int) prefix.Chain {
	blocks := make([]int64, n)
	for i := range blocks {
		blocks[i] = int64(first + i)
	}
	return prefix.OfIDs(key(), blocks)
}

func newIndex(c *clock, targets ...prefix.Target) *prefix.Index {
	return prefix.New(prefix.Options{Targets: targets, Now: c.now})
}

func wantMatch(t *testing.T, x *prefix.Index, target string, c prefix.Chain, want int) {
	t.Helper()
	if got := x.Match(target, c); got != want {
		t.Errorf("got %d of %d blocks at %q, want %d", got, len(c), target, want)
	}
}

func TestAddIsForOneTarget(t *testing.T) {
	t.Parallel()
	x := newIndex(newClock(), prefix.Target{Name: "a"}, prefix.Target{Name: "b"})
	wantMatch(t, x, "a", ids(0, 10), 0)
	x.Add("a", ids(0, 10))
	x.Add("unknown", ids(0, 10))
	wantMatch(t, x, "a", ids(0, 10), 10)
	wantMatch(t, x, "a", ids(0, 14), 10) // the next turn
	wantMatch(t, x, "a", ids(0, 4), 4)
	wantMatch(t, x, "a", ids(1, 10), 0) // the same blocks behind another beginning
	wantMatch(t, x, "b", ids(0, 10), 0)
	wantMatch(t, x, "unknown", ids(0, 10), 0)
}

// TestIdle: a block is there for as long as the provider keeps it since its last use, and
// looking is no use.
func TestIdle(t *testing.T) {
	t.Parallel()
	c := newClock()
	x := newIndex(c, prefix.Target{Name: "short", Idle: time.Minute}, prefix.Target{Name: "usual"},
		prefix.Target{Name: "never", Idle: -1})
	all := []string{"short", "usual", "never"}
	for _, name := range all {
		x.Add(name, ids(0, 10))
	}
	steps := []struct {
		after time.Duration
		want  [3]int // by target, as in all
	}{
		{time.Minute, [3]int{10, 10, 10}},
		{time.Second, [3]int{0, 10, 10}},
		{prefix.DefaultIdle - time.Minute, [3]int{0, 0, 10}},
		{1000 * time.Hour, [3]int{0, 0, 10}},
	}
	for _, s := range steps {
		c.advance(s.after)
		for i, name := range all {
			wantMatch(t, x, name, ids(0, 10), s.want[i])
		}
	}
	x.Add("short", ids(0, 5))
	c.advance(time.Minute)
	wantMatch(t, x, "short", ids(0, 10), 5)
	x.Add("short", ids(0, 3)) // the beginning is used again, the rest is not
	c.advance(time.Second)
	wantMatch(t, x, "short", ids(0, 10), 3)
}

// TestOldBlocksLeave: memory is not held for blocks that have grown too old.
func TestOldBlocksLeave(t *testing.T) {
	t.Parallel()
	c := newClock()
	x := newIndex(c, prefix.Target{Name: "a"})
	x.Add("a", ids(0, 100))
	c.advance(time.Hour)
	for i := range 10 {
		x.Add("a", ids(1000+i, 1))
	}
	if got, want := x.Snapshot().Targets[0].Entries, 10; got != want {
		t.Errorf("got %d entries, want %d", got, want)
	}
}

// TestEndsLeaveFirst: what is pushed out are the ends of the prompts least recently used,
// so what is left of them is of use.
func TestEndsLeaveFirst(t *testing.T) {
	t.Parallel()
	x := newIndex(newClock(), prefix.Target{Name: "a", Entries: 20})
	x.Add("a", ids(0, 10))
	x.Add("a", ids(100, 10))
	x.Add("a", ids(200, 4))
	wantMatch(t, x, "a", ids(0, 10), 6)
	wantMatch(t, x, "a", ids(100, 10), 10)
	if got, want := x.Snapshot().Targets[0].Evicted, uint64(4); got != want {
		t.Errorf("got %d blocks pushed out, want %d", got, want)
	}
	x.Add("a", ids(0, 10)) // used again: now the other one is the oldest
	wantMatch(t, x, "a", ids(0, 10), 10)
	wantMatch(t, x, "a", ids(100, 10), 6)
}

// TestHugePrompt: one prompt takes half of the memory and no more.
func TestHugePrompt(t *testing.T) {
	t.Parallel()
	x := newIndex(newClock(), prefix.Target{Name: "a", Entries: 100}, prefix.Target{Name: "tiny", Entries: 1})
	x.Add("a", ids(0, 30))
	x.Add("a", ids(1000, 500))
	wantMatch(t, x, "a", ids(1000, 500), 50)
	wantMatch(t, x, "a", ids(0, 30), 30)
	x.Add("tiny", ids(0, 30))
	wantMatch(t, x, "tiny", ids(0, 30), 1)
}

func TestReported(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name             string
		known            int // blocks added before
		expected, cached int
		want             int // of the 10 afterwards, without Add
	}{
		{"as expected", 6, 6, 6, 6},
		{"nothing of it", 6, 6, 0, 0},
		{"a part of it", 6, 6, 4, 4},
		{"more, from another gateway", 6, 6, 9, 9},
		{"something unexpected", 0, 0, 3, 3},
		{"more than the prompt", 6, 6, 100, 10},
		{"less than nothing", 6, -1, -1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := newIndex(newClock(), prefix.Target{Name: "a"})
			x.Add("a", ids(0, tt.known))
			x.Add("a", ids(500, 5))
			x.Reported("a", ids(0, 10), tt.expected, tt.cached)
			wantMatch(t, x, "a", ids(0, 10), tt.want)
			wantMatch(t, x, "a", ids(500, 5), 5) // other prompts keep what they have
			x.Add("a", ids(0, 10))
			wantMatch(t, x, "a", ids(0, 10), 10)
			got := x.Snapshot().Targets[0]
			if want := uint64(max(0, tt.expected)); got.Expected != want {
				t.Errorf("got %d blocks expected, want %d", got.Expected, want)
			}
			if want := uint64(min(max(0, tt.cached), 10)); got.Reported != want {
				t.Errorf("got %d blocks reported, want %d", got.Reported, want)
			}
		})
	}
}

func TestDropAndKeep(t *testing.T) {
	t.Parallel()
	x := newIndex(newClock(), prefix.Target{Name: "a"}, prefix.Target{Name: "b"}, prefix.Target{Name: "c"})
	for _, name := range []string{"a", "b", "c"} {
		x.Add(name, ids(0, 10))
	}
	x.Drop("a")
	x.Drop("unknown")
	wantMatch(t, x, "a", ids(0, 10), 0)
	wantMatch(t, x, "b", ids(0, 10), 10)
	x.Add("a", ids(0, 5)) // at once
	wantMatch(t, x, "a", ids(0, 10), 5)

	x.Keep([]prefix.Target{{Name: "a"}, {Name: "b", Entries: 7}, {Name: "d"}})
	wantMatch(t, x, "a", ids(0, 10), 5)
	wantMatch(t, x, "b", ids(0, 10), 0) // its size has changed
	wantMatch(t, x, "c", ids(0, 10), 0)
	var got []string
	for _, s := range x.Snapshot().Targets {
		got = append(got, s.Target)
	}
	if want := []string{"a", "b", "d"}; !slices.Equal(got, want) {
		t.Errorf("got the targets %q, want %q", got, want)
	}
}

// TestIndexAgainstModel plays random calls against a map without bounds: the index never
// claims what the model does not have, it has the same while there is room, and it stays
// within its bound.
func TestIndexAgainstModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const roomy = 1000
		c := newClock()
		small := rapid.IntRange(1, 30).Draw(t, "entries")
		x := newIndex(c, prefix.Target{Name: "roomy", Entries: roomy, Idle: time.Minute},
			prefix.Target{Name: "small", Entries: small, Idle: time.Minute})
		model := map[uint64]time.Time{}
		each := func(f func(name string)) { f("roomy"); f("small") }
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			chain := branch(t)
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				each(x.Drop)
				clear(model)
			case 1, 2:
				cached := rapid.IntRange(0, len(chain)).Draw(t, "cached")
				each(func(name string) { x.Reported(name, chain, x.Match(name, chain), cached) })
				for i, hash := range chain {
					if delete(model, hash); i < cached {
						model[hash] = c.at
					}
				}
			case 3, 4:
				c.advance(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
			default:
				each(func(name string) { x.Add(name, chain) })
				for _, hash := range chain {
					model[hash] = c.at
				}
			}
			look := branch(t)
			want := 0
			for want < len(look) && !model[look[want]].IsZero() && c.at.Sub(model[look[want]]) <= time.Minute {
				want++
			}
			if got := x.Match("roomy", look); got != want {
				t.Fatalf("got %d blocks where there is room, want %d", got, want)
			}
			if got := x.Match("small", look); got > want {
				t.Fatalf("got %d blocks, want at most %d", got, want)
			}
			if got := x.Snapshot().Targets[1].Entries; got > small {
				t.Fatalf("got %d entries, want at most %d", got, small)
			}
		}
	})
}

// branch draws a prompt of a few conversations that begin alike and part later.
func branch(t *rapid.T) prefix.Chain {
	blocks := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	from := rapid.IntRange(0, len(blocks)).Draw(t, "parts at")
	which := int64(rapid.IntRange(0, 3).Draw(t, "conversation"))
	for i := from; i < len(blocks); i++ {
		blocks[i] += 100 * which
	}
	return prefix.OfIDs(key(), blocks[:rapid.IntRange(0, len(blocks)).Draw(t, "length")])
}
