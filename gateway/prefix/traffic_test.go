package prefix_test

import (
	"fmt"
	"testing"

	"github.com/callgate/callgate/gateway/prefix"
)

// TestSharedPrompt: a system prompt that everybody sends does not send everything to the
// target that had it first, though it is most of each prompt, nobody is ever busy, and
// each prompt has only one block of its own.
func TestSharedPrompt(t *testing.T) {
	t.Parallel()
	for _, tail := range []int{1, 5} {
		t.Run(fmt.Sprint(tail), func(t *testing.T) {
			t.Parallel()
			o, targets := candidates(8)
			x := newIndex(newClock(), targets...)
			served := map[string]int{}
			const requests = 4000
			for i := range requests {
				blocks := make([]int64, 0, 45)
				for j := range int64(40) {
					blocks = append(blocks, j)
				}
				for j := range tail {
					blocks = append(blocks, int64(1000+10*i+j))
				}
				chain := prefix.OfIDs(key(), blocks)
				d := x.Choose(chain, o)
				x.Add(d.Target, chain)
				served[d.Target]++
			}
			for _, c := range o {
				if got, want := served[c.Target], requests/8; got < want*85/100 || got > want*115/100 {
					t.Errorf("got %d of %d requests at %s, want about %d", got, requests, c.Target, want)
				}
			}
		})
	}
}

// TestConversationStays: a conversation that grows stays where it is, also when it and one
// or two others are all that a gateway has to do, so that their own blocks are in a large
// part of the requests.
func TestConversationStays(t *testing.T) {
	t.Parallel()
	for conversations := 1; conversations <= 3; conversations++ {
		t.Run(fmt.Sprint(conversations), func(t *testing.T) {
			t.Parallel()
			o, targets := candidates(8)
			x := newIndex(newClock(), targets...)
			first := make([]string, conversations)
			for turn := range 200 {
				for i := range conversations {
					chain := ids(10_000*i, 10+turn)
					d := x.Choose(chain, o)
					if turn == 0 {
						first[i] = d.Target
					}
					if d.Target != first[i] {
						t.Fatalf("turn %d of %d: got %v, want %s", turn, i, d, first[i])
					}
					x.Add(d.Target, chain)
				}
			}
		})
	}
}

// TestSamePromptStays: a prompt that is sent again and again has nothing of its own, and
// still goes where it is cached.
func TestSamePromptStays(t *testing.T) {
	t.Parallel()
	o, targets := candidates(8)
	x := newIndex(newClock(), targets...)
	first := x.Choose(ids(0, 20), o).Target
	for i := range 200 {
		x.Add(first, ids(0, 20))
		if d := x.Choose(ids(0, 20), o); d.Target != first || d.Reason != prefix.Cached {
			t.Fatalf("request %d: got %v, want %s cached", i, d, first)
		}
	}
}

// TestHotCoolsDown: what everybody sends is noticed soon, and forgotten when they send
// something else.
func TestHotCoolsDown(t *testing.T) {
	t.Parallel()
	o, targets := candidates(8)
	x := newIndex(newClock(), targets...)
	sent := 0
	send := func(first, n int) (hot int) {
		for range n {
			sent++
			blocks := make([]int64, 0, 15)
			for i := range 12 {
				blocks = append(blocks, int64(first+i))
			}
			for i := range 3 {
				blocks = append(blocks, int64(1_000_000+10*sent+i))
			}
			hot = x.Choose(prefix.OfIDs(key(), blocks), o).Hot
		}
		return hot
	}
	for _, s := range []struct{ first, n, want int }{{0, 2, 0}, {0, 1, 12}, {0, 9990, 12}, {100, 400, 12}, {100, 4000, 12}, {0, 1, 0}} {
		if got := send(s.first, s.n); got != s.want {
			t.Errorf("got %d hot blocks after %d of the prompts from %d on, want %d", got, s.n, s.first, s.want)
		}
	}
}

// TestRecentRequestsAreLoad: of targets with as much to do, the one that was given more
// lately counts as busier, but never so much that it would not get what it has cached.
func TestRecentRequestsAreLoad(t *testing.T) {
	t.Parallel()
	o, targets := candidates(8)
	x := newIndex(newClock(), targets...)
	for i := range 300 {
		x.Choose(ids(100*i, 5), o[3:4])
	}
	for i := range o {
		o[i].Running = 1
	}
	d := x.Choose(ids(0, 5), o)
	if busy, other := d.Costs[3].Load, d.Costs[0].Load; busy < other+1 || d.Costs[0].Load != d.Costs[7].Load {
		t.Errorf("got the loads %.2f and %.2f, want the first higher by more than 1", busy, other)
	}
	x.Add("t3", ids(0, 5))
	if d := x.Choose(ids(0, 5), o); d.Target != "t3" {
		t.Errorf("got %v, want t3, which has it all", d)
	}
}

// TestIdleGatewayKeepsWhatIsCached: where nothing runs, a target that has a third of the
// prompt gets it, however much it was given lately.
func TestIdleGatewayKeepsWhatIsCached(t *testing.T) {
	t.Parallel()
	o, targets := candidates(8)
	x := newIndex(newClock(), targets...)
	first := x.Choose(ids(0, 3), o).Target
	for i := range 7 {
		x.Add(first, ids(0, 3<<i))
		if d := x.Choose(ids(0, 9<<i), o); d.Target != first {
			t.Fatalf("turn %d: got %v, want %s", i, d, first)
		}
	}
}

// TestBusyTargetIsRelieved: with many requests running, one target does not get all of a
// popular prompt, though it is the only one to have it at first. More than three quarters
// of the targets come to have it and share it evenly.
func TestBusyTargetIsRelieved(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 4, 8, 30} {
		o, targets := candidates(n)
		x := newIndex(newClock(), targets...)
		x.Add("t0", ids(0, 40))
		for range 100 * n { // none of them ends
			d := x.Choose(ids(0, 40), o)
			x.Add(d.Target, ids(0, 40))
			for i := range o {
				if o[i].Target == d.Target {
					o[i].Running++
				}
			}
		}
		used, most := 0, 0
		for _, c := range o {
			most = max(most, c.Running)
			if c.Running > 0 {
				used++
			}
		}
		if 4*used <= 3*n {
			t.Errorf("got the prompt at %d of %d targets, want more than three quarters", used, n)
		}
		if want := 100 * n / used * 11 / 10; most > want {
			t.Errorf("got %d of %d running at one of %d targets, want at most %d", most, 100*n, n, want)
		}
	}
}

// TestFreshTargetGetsItsShare: a target that came back empty is not left out for lack of
// the common system prompt.
func TestFreshTargetGetsItsShare(t *testing.T) {
	t.Parallel()
	o, targets := candidates(4)
	x := newIndex(newClock(), targets...)
	serve := func(from, n int) (fresh int) {
		for i := range n {
			chain := append(ids(0, 30), ids(1000+10*(from+i), 3)...)
			d := x.Choose(chain, o)
			x.Add(d.Target, chain)
			if d.Target == "t3" {
				fresh++
			}
		}
		return fresh
	}
	serve(0, 1000)
	x.Drop("t3")
	if got := serve(1000, 1000); got < 200 || got > 300 {
		t.Errorf("got %d of 1000 requests at the target that came back, want about 250", got)
	}
}

// TestChoicesAreCounted: for the operator.
func TestChoicesAreCounted(t *testing.T) {
	t.Parallel()
	o, targets := candidates(1)
	x := newIndex(newClock(), targets...)
	for range 3 {
		x.Choose(ids(0, 5), o)
	}
	x.Add("t0", ids(0, 5))
	x.Choose(ids(0, 9), o)
	got := x.Snapshot().Targets[0]
	if want := (prefix.TargetSnapshot{Caches: true, Target: "t0", Entries: 5, Limit: prefix.DefaultEntries, Choices: 4, Hits: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
