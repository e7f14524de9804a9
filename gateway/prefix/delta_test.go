package prefix_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/prefix"
)

func newShared(c *clock, targets ...prefix.Target) *prefix.Index {
	return prefix.New(prefix.Options{Targets: targets, Share: true, Now: c.now})
}

func marks(deltas []prefix.Delta) (n int) {
	for _, d := range deltas {
		n += len(d.Marks)
	}
	return n
}

// TestDeltasTeach: what one index learned the other knows, and over JSON too.
func TestDeltasTeach(t *testing.T) {
	t.Parallel()
	c := newClock()
	a := newShared(c, prefix.Target{Name: "x"}, prefix.Target{Name: "y"})
	b := newShared(c, prefix.Target{Name: "x"}, prefix.Target{Name: "y"})
	exchange := func() int {
		t.Helper()
		text, err := json.Marshal(a.Deltas(1000))
		if err != nil {
			t.Fatal(err)
		}
		var deltas []prefix.Delta
		if err := json.Unmarshal(text, &deltas); err != nil {
			t.Fatal(err)
		}
		b.Apply(deltas)
		return marks(deltas)
	}
	a.Add("x", ids(0, 10))
	a.Add("y", ids(100, 5))
	if got, want := exchange(), 15; got != want {
		t.Errorf("got %d marks, want %d", got, want)
	}
	wantMatch(t, b, "x", ids(0, 10), 10)
	wantMatch(t, b, "y", ids(100, 5), 5)
	if got := b.Deltas(1000); len(got) != 0 {
		t.Errorf("got %v from an index that has only listened, want nothing", got)
	}
	c.advance(time.Second)
	a.Reported("x", ids(0, 10), 10, 4)
	exchange()
	wantMatch(t, b, "x", ids(0, 10), 4)
	c.advance(time.Second)
	a.Drop("x")
	a.Add("x", ids(0, 2))
	exchange()
	wantMatch(t, b, "x", ids(0, 10), 2)
	wantMatch(t, b, "y", ids(100, 5), 5)
	if got, want := exchange(), 0; got != want {
		t.Errorf("got %d marks when nothing was learned, want %d", got, want)
	}
}

// TestDeltasOfOneMoment: what an answer forgets and learns comes with one age, and what it
// learned stays.
func TestDeltasOfOneMoment(t *testing.T) {
	t.Parallel()
	c := newClock()
	a, b := newShared(c, prefix.Target{Name: "x"}), newShared(c, prefix.Target{Name: "x"})
	a.Add("x", ids(0, 8))
	b.Apply(a.Deltas(1000))
	c.advance(time.Second)
	a.Reported("x", ids(0, 10), 8, 2)
	a.Add("x", ids(0, 10))
	b.Apply(a.Deltas(1000))
	wantMatch(t, b, "x", ids(0, 10), 10)
}

// TestApplyKeepsBeginnings: what deltas teach leaves in the same order as what an index
// learned itself, the ends of prompts first.
func TestApplyKeepsBeginnings(t *testing.T) {
	t.Parallel()
	c := newClock()
	a, b := newShared(c, prefix.Target{Name: "x"}), newShared(c, prefix.Target{Name: "x", Entries: 20})
	for i, length := range []int{10, 10, 4} {
		a.Add("x", ids(100*i, length))
		b.Apply(a.Deltas(1000))
		c.advance(time.Second)
	}
	wantMatch(t, b, "x", ids(0, 10), 6)
	wantMatch(t, b, "x", ids(100, 10), 10)
}

// TestDeltasKeepAges: what comes from elsewhere is as old here as it is there.
func TestDeltasKeepAges(t *testing.T) {
	t.Parallel()
	c := newClock()
	target := prefix.Target{Name: "x", Idle: time.Minute}
	a, b := newShared(c, target), newShared(c, target)
	a.Add("x", ids(0, 10))
	c.advance(40 * time.Second)
	deltas := a.Deltas(1000)
	b.Apply(deltas)
	c.advance(20 * time.Second)
	wantMatch(t, b, "x", ids(0, 10), 10)
	c.advance(time.Second)
	wantMatch(t, b, "x", ids(0, 10), 0)
	b.Apply([]prefix.Delta{{Target: "x", Marks: []prefix.Mark{{Block: 1, Age: time.Hour}}}})
	if got, want := b.Snapshot().Targets[0].Entries, 10; got != want {
		t.Errorf("got %d entries, want %d: what is too old is not taken in", got, want)
	}
}

// TestDeltasRepeatUse: a block in use is told of again once after each call of Deltas, or
// it would grow too old elsewhere.
func TestDeltasRepeatUse(t *testing.T) {
	t.Parallel()
	c := newClock()
	a := newShared(c, prefix.Target{Name: "x"})
	for range 3 {
		a.Add("x", ids(0, 10))
		a.Add("x", ids(0, 10))
		if got, want := marks(a.Deltas(1000)), 10; got != want {
			t.Errorf("got %d marks, want %d", got, want)
		}
		c.advance(time.Second)
	}
}

// TestDeltasAreBounded: by the limit of a call, fairly, and by what is kept.
func TestDeltasAreBounded(t *testing.T) {
	t.Parallel()
	c := newClock()
	a := newShared(c, prefix.Target{Name: "x", Entries: 400}, prefix.Target{Name: "y", Entries: 400})
	a.Add("x", ids(0, 100))
	a.Add("y", ids(0, 3))
	for i, want := range [][]int{{3, 17}, {13}, {13}, {13}, {13}, {13}, {13}, {5}, nil} {
		var got []int
		limit := 13
		if i == 0 {
			limit = 20
		}
		for _, d := range a.Deltas(limit) {
			got = append(got, len(d.Marks))
		}
		if !slices.Equal(got, want) {
			t.Errorf("call %d: got %v marks, want %v", i, got, want)
		}
	}
	a.Add("x", ids(1000, 60))
	a.Add("x", ids(2000, 60))
	if got, want := marks(a.Deltas(1000)), 100; got != want {
		t.Errorf("got %d marks, want %d", got, want)
	}
	if got, want := a.Snapshot().Targets[0].Lost, uint64(20); got != want {
		t.Errorf("got %d lost, want %d", got, want)
	}
	for _, limit := range []int{0, -1} {
		a.Add("x", ids(3000, 5))
		if got := marks(a.Deltas(limit)); got != 0 {
			t.Errorf("got %d marks with the limit %d, want 0", got, limit)
		}
	}
}

// TestApplyHostile: deltas of which nothing fits are let be.
func TestApplyHostile(t *testing.T) {
	t.Parallel()
	c := newClock()
	x := newIndex(c, prefix.Target{Name: "a", Entries: 10})
	flood := make([]prefix.Mark, 1000)
	for i := range flood {
		flood[i] = prefix.Mark{Block: uint32(i), Age: time.Duration(rand.Int64())}
	}
	flood[0].Age, flood[1].Age = -1<<63, 1<<63-1
	x.Apply(nil)
	x.Apply([]prefix.Delta{{Target: "nobody", Marks: flood}, {Target: "a", Marks: flood, Dropped: true, DropAge: -time.Hour}})
	if got, want := x.Snapshot().Unknown, uint64(1); got != want {
		t.Errorf("got %d deltas about unknown targets, want %d", got, want)
	}
	if got := x.Snapshot().Targets[0].Entries; got > 10 {
		t.Errorf("got %d entries, want at most 10", got)
	}
	c.advance(time.Second)
	x.Add("a", ids(0, 3))
	wantMatch(t, x, "a", ids(0, 3), 3)
	if got := x.Deltas(1000); got != nil {
		t.Errorf("got %v from an index that does not share, want none", got)
	}
}

// TestApplyTwiceAndInAnyOrder: batches that come twice change nothing, and those of
// answers and drops may come in any order.
func TestApplyTwiceAndInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		a := newShared(c, prefix.Target{Name: "x"})
		once, twice, shuffled := newShared(c, prefix.Target{Name: "x"}), newShared(c, prefix.Target{Name: "x"}), newShared(c, prefix.Target{Name: "x"})
		forgets := rapid.Bool().Draw(t, "forgets")
		var batches [][]prefix.Delta
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				chain := branch(t)
				switch step := rapid.IntRange(0, 5).Draw(t, "step"); {
				case step == 0:
					a.Drop("x")
				case step == 1 && forgets:
					a.Reported("x", chain, 0, len(chain)/2)
				default:
					a.Add("x", chain)
				}
				c.advance(200 * time.Millisecond)
				for _, batch := range batches {
					older(batch, 200*time.Millisecond)
				}
			}
			batches = append(batches, a.Deltas(1000))
			wait := time.Duration(rapid.IntRange(0, 10).Draw(t, "seconds")) * time.Second
			for _, batch := range batches { // an age is that at delivery
				older(batch, wait)
			}
			c.advance(wait)
		}
		for _, batch := range batches {
			once.Apply(batch)
			twice.Apply(batch)
			twice.Apply(batch)
		}
		rand.Shuffle(len(batches), func(i, j int) { batches[i], batches[j] = batches[j], batches[i] })
		for _, batch := range batches {
			shuffled.Apply(batch)
		}
		for range 20 {
			chain := branch(t)
			want := once.Match("x", chain)
			if got := twice.Match("x", chain); got != want {
				t.Fatalf("got %d blocks after all batches twice, want %d", got, want)
			}
			if got := shuffled.Match("x", chain); got != want && !forgets {
				t.Fatalf("got %d blocks after a shuffle, want %d", got, want)
			}
		}
	})
}

// older adds to the ages of deltas.
func older(deltas []prefix.Delta, d time.Duration) {
	for i := range deltas {
		deltas[i].DropAge += d
		for j := range deltas[i].Marks {
			deltas[i].Marks[j].Age += d
		}
	}
}
