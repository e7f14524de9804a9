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
		if got := (&tariff{in: p.Input, out: p.Output}).of(int64(u.Input), int64(u.Output)); want.Cmp(big.NewInt(got)) != 0 {
			t.Fatalf("got %d held for %+v at %+v, want %v", got, u, p, want)
		}
	})
}
