package admit

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/usage"
)

// byTier prices tokens in 10⁻⁹ US dollars each: those of a prompt that is longer than above, and of its answer, cost more.
type byTier struct{ in, out, reasoning, above, times int64 }

func (p byTier) Price(_, _ string, u gateway.Usage) (nano int64, priced bool, version string) {
	nano = int64(u.Input)*p.in + int64(u.Output-u.Reasoning)*p.out + int64(u.Reasoning)*p.reasoning
	if int64(u.Input) > p.above {
		nano *= p.times
	}
	return nano, true, "v"
}

func (p byTier) Rates(_, _ string, input int) (r usage.Rates, priced, output bool) {
	r = usage.Rates{Input: 1000 * p.in, Output: 1000 * max(p.out, p.reasoning)}
	if int64(input) > p.above {
		r.Input, r.Output = r.Input*p.times, r.Output*p.times
	}
	return r, true, true
}

// TestTariffOfTier holds that what is held for a request is no less than what it costs if it has the tokens that it is held for: also in
// the tier of a long prompt, where they are thoughts, and once a later round has a longer prompt.
func TestTariffOfTier(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		price := rapid.Int64Range(1, 100_000)
		prices := byTier{price.Draw(t, "in"), price.Draw(t, "out"), price.Draw(t, "reasoning"), rapid.Int64Range(1000, 300_000).Draw(t, "above"), rapid.Int64Range(1, 3).Draw(t, "times")}
		e := estimate{price: tariff{texts: true}}
		for _, round := range rapid.SliceOfN(rapid.IntRange(1, 500_000), 1, 4).Draw(t, "inputs") {
			out := rapid.IntRange(0, 20_000).Draw(t, "output")
			thoughts := rapid.IntRange(0, out).Draw(t, "thoughts")
			e.price.raise(&pricing{known: prices}, Target{"p", "m"}, int64(round))
			cost, _, _ := prices.Price("", "", gateway.Usage{Input: round, Output: out, Reasoning: thoughts})
			if held := e.amount(int64(round), int64(out)).Nano; held < cost {
				t.Fatalf("got %d held for %d and %d tokens at %+v, want %d at least", held, round, out, prices, cost)
			}
		}
	})
}
