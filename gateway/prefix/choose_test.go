package prefix_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/prefix"
)

// candidates returns n idle candidates, t0 and so on, and the targets for an index.
func candidates(n int) (out []prefix.Candidate, targets []prefix.Target) {
	for i := range n {
		name := fmt.Sprintf("t%d", i)
		out = append(out, prefix.Candidate{Target: name})
		targets = append(targets, prefix.Target{Name: name})
	}
	return out, targets
}

func TestChooseReasons(t *testing.T) {
	t.Parallel()
	four, _ := candidates(4)
	// hashed is where the rendezvous hash sends an unknown prompt.
	hashed := newIndex(newClock()).Choose(ids(0, 10), four).Target
	for _, tt := range []struct {
		name     string
		setup    func(x *prefix.Index, o []prefix.Candidate)
		chain    prefix.Chain
		one      bool // only t0
		want     prefix.Reason
		target   string // "" is any
		expected int
	}{
		{name: "one candidate", chain: ids(0, 10), one: true, want: prefix.Single, target: "t0"},
		{name: "nothing known", chain: ids(0, 10), want: prefix.Hashed, target: hashed},
		{name: "no whole block", want: prefix.Load},
		{
			name:  "known to one",
			setup: func(x *prefix.Index, _ []prefix.Candidate) { x.Add("t2", ids(0, 6)) },
			chain: ids(0, 10), want: prefix.Cached, target: "t2", expected: 6,
		},
		{
			name: "the longest wins",
			setup: func(x *prefix.Index, _ []prefix.Candidate) {
				x.Add("t2", ids(0, 6))
				x.Add("t1", ids(0, 8))
			},
			chain: ids(0, 10), want: prefix.Cached, target: "t1", expected: 8,
		},
		{
			name: "a few more running do not matter",
			setup: func(x *prefix.Index, o []prefix.Candidate) {
				x.Add("t2", ids(0, 9))
				o[2].Running = 3
			},
			chain: ids(0, 10), want: prefix.Cached, target: "t2", expected: 9,
		},
		{
			name: "the one that knows is far too busy",
			setup: func(x *prefix.Index, o []prefix.Candidate) {
				x.Add("t2", ids(0, 4))
				o[0].Running, o[1].Running, o[2].Running, o[3].Running = 5, 4, 40, 5
			},
			chain: ids(0, 10), want: prefix.Relief, target: "t1",
		},
		{
			name: "the one of the hash is too busy",
			setup: func(_ *prefix.Index, o []prefix.Candidate) {
				for i := range o {
					if o[i].Target == hashed {
						o[i].Running = 40
					}
				}
			},
			chain: ids(0, 10), want: prefix.Spilled,
		},
		{
			name: "numbers that are none",
			setup: func(x *prefix.Index, o []prefix.Candidate) {
				x.Add("t1", ids(0, 9))
				o[1] = prefix.Candidate{Target: "t1", Weight: math.NaN(), Running: -5}
			},
			chain: ids(0, 10), want: prefix.Cached, target: "t1", expected: 9,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, targets := candidates(4)
			x := newIndex(newClock(), targets...)
			if tt.setup != nil {
				tt.setup(x, o)
			}
			if tt.one {
				o = o[:1]
			}
			d := x.Choose(tt.chain, o)
			if tt.want != "" && d.Reason != tt.want || tt.target != "" && d.Target != tt.target || d.Expected != tt.expected {
				t.Errorf("got %v, want %s %s with %d blocks", d, tt.target, tt.want, tt.expected)
			}
			if tt.want == prefix.Spilled && d.Target == hashed {
				t.Errorf("got %v, want another than %s", d, hashed)
			}
			if d.Blocks != len(tt.chain) || len(d.Costs) != len(o) {
				t.Errorf("got %d blocks and %d costs, want %d and %d", d.Blocks, len(d.Costs), len(tt.chain), len(o))
			}
		})
	}
	if got := newIndex(newClock()).Choose(ids(0, 3), nil); got.Target != "" || got.Costs != nil {
		t.Errorf("got %v without candidates, want no target", got)
	}
}

// TestCostIsAsDocumented holds the formula.
func TestCostIsAsDocumented(t *testing.T) {
	t.Parallel()
	o, targets := candidates(2)
	x := newIndex(newClock(), targets...)
	x.Add("t0", ids(0, 5))
	o[0].Running, o[1].Running = 6, 2
	d := x.Choose(ids(0, 10), o)
	// Nobody was chosen lately, which counts as 4 running each. The lower quartile is t1.
	want := []prefix.Cost{
		{Target: "t0", Cached: 5, Load: 10.0 / 6, Total: 4*0.5 + 10.0/6},
		{Target: "t1", Load: 1, Total: 4 + 1},
	}
	for i := range want {
		got := d.Costs[i]
		if math.Abs(got.Load-want[i].Load) > 1e-9 || math.Abs(got.Total-want[i].Total) > 1e-9 {
			t.Errorf("got %+v, want %+v", got, want[i])
		}
		got.Load, got.Total = want[i].Load, want[i].Total
		if got != want[i] {
			t.Errorf("got %+v, want %+v", got, want[i])
		}
	}
}

// TestGatewaysAgree: indexes with the same keys send an unknown prompt to the same target,
// and when a target goes, only its own prompts move.
func TestGatewaysAgree(t *testing.T) {
	t.Parallel()
	o, targets := candidates(8)
	moved := 0
	for i := range 2000 {
		chain := ids(10*i, 5)
		a, b := newIndex(newClock(), targets...), newIndex(newClock())
		got, want := a.Choose(chain, o).Target, b.Choose(chain, o).Target
		if got != want {
			t.Fatalf("prompt %d: got %s and %s, want the same", i, got, want)
		}
		without := newIndex(newClock()).Choose(chain, o[:7]).Target
		if want == "t7" {
			moved++
		} else if without != want {
			t.Fatalf("prompt %d: got %s without t7, want %s as before", i, without, want)
		}
	}
	if moved < 200 || moved > 300 {
		t.Errorf("got %d of 2000 prompts at t7, want an eighth", moved)
	}
}

// TestWeights: unknown prompts, and those without a block, are shared by weight.
func TestWeights(t *testing.T) {
	t.Parallel()
	o := []prefix.Candidate{{Target: "heavy", Weight: 6}, {Target: "light", Weight: 1}, {Target: "usual"}}
	for name, chain := range map[string]func(i int) prefix.Chain{
		"unknown": func(i int) prefix.Chain { return ids(10*i, 5) },
		"empty":   func(int) prefix.Chain { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newIndex(newClock(), prefix.Target{Name: "heavy"}, prefix.Target{Name: "light"}, prefix.Target{Name: "usual"})
			got := map[string]int{}
			for i := range 8000 {
				got[x.Choose(chain(i), o).Target]++
			}
			for target, want := range map[string]int{"heavy": 6000, "light": 1000, "usual": 1000} {
				if n := got[target]; n < want*85/100 || n > want*115/100 {
					t.Errorf("got %d of 8000 at %s, want about %d", n, target, want)
				}
			}
		})
	}
}

// TestChoiceIsACandidate: whatever the numbers are, one of the candidates is chosen, and
// none is that costs more than the least by more than the slack of the rendezvous.
func TestChoiceIsACandidate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, targets := candidates(5)
		x := newIndex(newClock(), targets...)
		odd := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64}))
		for range rapid.IntRange(1, 30).Draw(t, "requests") {
			var o []prefix.Candidate
			for i := range rapid.IntRange(1, 7).Draw(t, "candidates") { // t5 and t6 are no targets of the index
				o = append(o, prefix.Candidate{
					Target: fmt.Sprintf("t%d", i), Running: rapid.IntRange(-1, 50).Draw(t, "running"),
					Weight: odd.Draw(t, "weight"),
				})
			}
			chain := branch(t)
			d := x.Choose(chain, o)
			found := false
			for i, c := range o {
				if c.Target == d.Target {
					found = true
					if got := d.Costs[i].Cached; got != d.Expected {
						t.Fatalf("got %d blocks expected, want %d as in the costs", d.Expected, got)
					}
				}
			}
			if !found {
				t.Fatalf("got %q, want one of %v", d.Target, o)
			}
			if rapid.Bool().Draw(t, "succeeds") {
				x.Add(d.Target, chain)
			}
		}
	})
}
