package admit

import (
	"math"
	"math/bits"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/usage"
)

// Pricer knows what answers cost; accounts.Prices does.
type Pricer interface {
	// Price is the cost of a usage in 10⁻⁹ US dollars, and the version of the prices.
	Price(provider, model string, u gateway.Usage) (nano int64, priced bool, version string)
	// Rates are what answers to prompts of so many tokens may cost at most; priced and output say whether prompts
	// have a price, and answers.
	Rates(provider, model string, input int) (r usage.Rates, priced, output bool)
}

// Assumed is the price that is taken of models that have none, in 10⁻⁹ US dollars for a million tokens.
type Assumed struct{ Input, Output int64 }

// Of is what a usage costs by an assumed price, in 10⁻⁹ US dollars; priced is false where there is none.
func (p *Assumed) Of(u gateway.Usage) (nano int64, priced bool) {
	if p == nil {
		return 0, false
	}
	return sum(int64(u.Input), p.Input, int64(u.Output), p.Output, 1_000_000, 500_000), true
}

// sum is what tokens in and out cost, by prices for so many of them each; up is added before the division. Prices may be so high
// that 64 bits do not hold the product.
func sum(in, priceIn, out, priceOut, of, up int64) int64 {
	high, low := bits.Mul64(uint64(max(in, 0)), uint64(max(priceIn, 0)))
	more, least := bits.Mul64(uint64(max(out, 0)), uint64(max(priceOut, 0)))
	low, carry := bits.Add64(low, least, 0)
	high += more + carry
	low, carry = bits.Add64(low, uint64(up), 0)
	if high += carry; high >= uint64(of) {
		return math.MaxInt64
	}
	nano, _ := bits.Div64(high, low, uint64(of))
	return int64(min(nano, math.MaxInt64))
}

// pricing is what there is to know of prices. Both may be nil.
type pricing struct {
	known   Pricer
	assumed *Assumed
}

// cost is that of a usage, in 10⁻⁹ US dollars, by a version of the prices.
type cost struct {
	nano    int64
	priced  bool
	version string
}

// assumed is the version of prices that were assumed.
const assumed = "assumed"

// isKnown reports whether the cost is by a price that is not assumed.
func (c cost) isKnown() bool { return c.priced && c.version != assumed }

// of is what a usage costs. One without a price costs what is assumed.
func (p *pricing) of(provider, model string, u gateway.Usage) (c cost) {
	if p.known != nil {
		if c.nano, c.priced, c.version = p.known.Price(provider, model, u); c.priced {
			return c
		}
	}
	if c.nano, c.priced = p.assumed.Of(u); c.priced {
		c.version = assumed
	}
	return c
}

// rates are what answers to prompts of so many tokens may cost at most. Where there is no price it is what is assumed.
func (p *pricing) rates(target Target, input int64) (r usage.Rates, priced, output bool) {
	if p.known != nil {
		r, priced, output = p.known.Rates(target.Provider, target.Model, int(min(input, usage.MaxTokens)))
	}
	if a := p.assumed; a != nil {
		if !priced {
			r.Input = thousand(a.Input)
		}
		if !output {
			r.Output = thousand(a.Output)
		}
		return r, true, true
	}
	return r, priced, output
}

// thousand is the price of a thousand tokens, by that of a million, rounded up.
func thousand(million int64) int64 { return million/1000 + min(million%1000, 1) }

// tariff is the highest price that a request may have, by the targets that it may go to.
type tariff struct {
	most     usage.Rates
	rated    Target // whose price is in it, of some the last
	input    int64  // tokens of the prompt that it was rated for
	texts    bool   // the request is answered with text
	unpriced string // a target whose price nobody knows
}

// raise raises the price to that of a target, for a prompt of so many tokens.
func (t *tariff) raise(p *pricing, target Target, input int64) {
	if t.rated == target && input <= t.input { // mostly that which was estimated is asked
		return
	}
	t.rated, t.input = target, input
	r, priced, output := p.rates(target, input)
	if (!priced || !output && t.texts) && t.unpriced == "" && target.Model != "" {
		t.unpriced = target.Provider + "/" + target.Model
	}
	t.most = t.most.Most(r)
}

// of is what tokens cost, at this price; it is no more than a limit can have.
func (t *tariff) of(in, out int64) int64 {
	tokens := min(sum(min(in, usage.MaxTokens), t.most.Input, min(out, usage.MaxTokens), t.most.Output, 1000, 999), limit.MaxAmount)
	return tokens + min(t.most.Answer, limit.MaxAmount-tokens)
}

// bill is what a client is told that the answers to its request cost.
type bill struct {
	spent   gateway.Spent
	summary *gateway.Summary // of the answer, once there is one
}

// tell has the answer's summary say what was spent, from now on.
func (b *bill) tell(s *gateway.Summary) { b.summary, s.Spent = s, b.spent }

// add adds an answer.
func (b *bill) add(c cost, estimated bool) {
	one := gateway.Spent{Nano: c.nano, Answers: 1}
	if !c.isKnown() {
		one.Nano, one.Unpriced = 0, 1
	}
	if estimated {
		one.Estimated = 1
	}
	if b.spent = b.spent.Plus(one); b.summary != nil {
		b.summary.Spent = b.spent
	}
}
