package admit

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/usage"
)

// TestAssumedExact holds that costs are exact to the last unit, with the highest prices and the longest answers that may be too.
func TestAssumedExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		price := rapid.OneOf(rapid.Int64Range(1, 100_000_000_000), rapid.Int64Range(1, 1_000_000_000_000_000))
		p := Assumed{price.Draw(t, "in"), price.Draw(t, "out")}
		tokens := rapid.OneOf(rapid.IntRange(0, 1_000_000), rapid.IntRange(0, usage.MaxTokens))
		u := gateway.Usage{Reported: true, Input: tokens.Draw(t, "input"), Output: tokens.Draw(t, "output")}
		exact := func(in, out, of, up int64) *big.Int {
			n := new(big.Int).Mul(big.NewInt(int64(u.Input)), big.NewInt(in))
			n.Add(n, new(big.Int).Mul(big.NewInt(int64(u.Output)), big.NewInt(out)))
			return n.Div(n.Add(n, big.NewInt(up)), big.NewInt(of))
		}
		if got, _ := p.Of(u); exact(p.Input, p.Output, 1_000_000, 500_000).Cmp(big.NewInt(got)) != 0 {
			t.Fatalf("got %d for %+v at %+v, want %v", got, u, p, exact(p.Input, p.Output, 1_000_000, 500_000))
		}
		want := exact(p.Input, p.Output, 1000, 999)
		if most := big.NewInt(limit.MaxAmount); want.Cmp(most) > 0 {
			want = most
		}
		if got := (&tariff{most: usage.Rates{Input: p.Input, Output: p.Output}}).of(int64(u.Input), int64(u.Output)); want.Cmp(big.NewInt(got)) != 0 {
			t.Fatalf("got %d held for %+v at %+v, want %v", got, u, p, want)
		}
	})
}

// tiered has a second tier of prompts from 1001 tokens on, and a model that is dearer.
type tiered struct{}

func (tiered) Price(_, _ string, _ gateway.Usage) (int64, bool, string) { return 0, false, "" }

func (tiered) Rates(_, model string, input int) (usage.Rates, bool, bool) {
	r := usage.Rates{Input: 10, Output: 20}
	if input > 1000 {
		r = usage.Rates{Input: 30, Output: 40}
	}
	if model == "dear" {
		r.Answer, r.Output = 5, 50
	}
	return r, true, model != "silent"
}

// TestRaise holds that the price of a request is that of its prompt's length, also once that has grown, and the highest of
// its targets.
func TestRaise(t *testing.T) {
	t.Parallel()
	p := &pricing{known: tiered{}}
	rate := tariff{texts: true}
	for i, step := range []struct {
		model   string
		input   int64
		in, out int64
		want    int64
	}{
		{"a", 1000, 1000, 1000, 30},
		{"a", 1000, 1000, 0, 10},
		{"a", 1001, 1000, 1000, 70}, // a re-ask with a longer prompt
		{"a", 5, 1000, 1000, 70},
		{"dear", 5, 1000, 1000, 85},
		{"dear", 5, 0, 0, 5},
	} {
		if rate.raise(p, Target{"up", step.model}, step.input); rate.of(step.in, step.out) != step.want {
			t.Errorf("%d: got %d, want %d", i, rate.of(step.in, step.out), step.want)
		}
	}
	if rate.raise(p, Target{"up", "silent"}, 5); rate.unpriced != "up/silent" {
		t.Errorf("got %q for the target without a price", rate.unpriced)
	}
	most := tariff{most: usage.Rates{Answer: limit.MaxAmount, Input: limit.MaxAmount}}
	if got := most.of(1<<40, 0); got != limit.MaxAmount {
		t.Errorf("got %d for what no limit can have", got)
	}
}
