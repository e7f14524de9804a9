package accounts

import (
	"math/bits"

	"github.com/callgate/callgate/gateway/usage"
)

// rates are the prices of tokens in whole numbers: 10⁻¹⁵ of the currency's unit for one token, which is the
// ninth digit behind the point of a price for a million.
type rates struct{ input, cacheRead, cacheWrite, cacheWriteLong, output, reasoning int64 }

// tariff is what an answer costs, in units of the entry's currency.
type tariff struct {
	rates
	// request is for the answer itself, in 10⁻⁹ units.
	request int64
	// dollars says that the entry's currency is USD.
	dollars bool
	// hasOutput says that the price of the answer's tokens is known.
	hasOutput bool
	tiers     []tier // the longest prompts first
}

// tier holds for all tokens of an answer whose prompt has more than above tokens.
type tier struct {
	rates
	above int64
}

// Price is what an answer of a provider's model costs, in 10⁻⁹ US dollars: a sum in whole numbers
// that is rounded once, half up. priced is false where that is not known: there is no entry for the
// model, or one with factors, in another currency or without a price of output that the answer has.
// It is never 0 for want of a price. version stands for the file that has the entry; see
// [Prices.Version]. A usage that was not reported is what its numbers say.
//
// The gateway asks for each answer of an upstream. It takes less than a microsecond with a few
// hundred entries.
func (p *Prices) Price(provider, model string, u usage.Usage) (nano int64, priced bool, version string) {
	e, file := p.find(provider, model)
	if e == nil || !e.tariff.isMoney() || u.Output > 0 && !e.tariff.hasOutput {
		return 0, false, ""
	}
	return e.tariff.cost(u), true, file.version
}

// Rates are what answers of a provider's model may cost at most whose prompts have up to so many tokens: tokens that are
// written to a cache or thought may be dearer than others, and so may those of long prompts. priced and output say whether
// there is a price of prompts, and of answers. The gateway asks before each request that has limits, to hold enough for it.
func (p *Prices) Rates(provider, model string, input int) (r usage.Rates, priced, output bool) {
	e, _ := p.find(provider, model)
	if e == nil || !e.tariff.isMoney() {
		return r, false, false
	}
	t := e.tariff
	r = t.most()
	for i := range t.tiers {
		if int64(input) > t.tiers[i].above {
			r = r.Most(t.tiers[i].most())
		}
	}
	r.Answer = t.request
	return r, true, t.hasOutput
}

// most are the highest of the rates, of 10⁻⁹ units for a thousand tokens.
func (r *rates) most() usage.Rates {
	thousand := func(rate int64) int64 { return (max(rate, 0) + unit/1000 - 1) / (unit / 1000) }
	return usage.Rates{Input: thousand(max(r.input, r.cacheRead, r.cacheWrite, r.cacheWriteLong)), Output: thousand(max(r.output, r.reasoning))}
}

// Version stands for the file's bytes: the first 12 digits of their SHA-256. It is in every row of the
// ledger whose price is of the file.
func (p *Prices) Version() string { return p.version }

func (t *tariff) isMoney() bool { return t != nil && t.dollars }

// of are the rates for a prompt of so many tokens.
func (t *tariff) of(input int) *rates {
	for i := range t.tiers {
		if int64(input) > t.tiers[i].above {
			return &t.tiers[i].rates
		}
	}
	return &t.rates
}

// cost is in 10⁻⁹ units of the currency.
func (t *tariff) cost(u usage.Usage) int64 {
	r := t.of(u.Input)
	var sum amount
	sum.add(unit, t.request)
	sum.add(u.Fresh(), r.input)
	sum.add(u.CacheRead, r.cacheRead)
	sum.add(u.WriteShort, r.cacheWrite)
	sum.add(u.WriteLong, r.cacheWriteLong)
	sum.add(u.Output-u.Reasoning, r.output)
	sum.add(u.Reasoning, r.reasoning)
	return sum.nano()
}

// amount is a sum of 10⁻¹⁵ units, of 128 bits: the dearest answer that can be has 75.
type amount struct{ high, low uint64 }

func (a *amount) add(tokens int, rate int64) {
	if tokens <= 0 || rate <= 0 {
		return
	}
	high, low := bits.Mul64(uint64(tokens), uint64(rate))
	var carry uint64
	a.low, carry = bits.Add64(a.low, low, 0)
	a.high, _ = bits.Add64(a.high, high, carry)
}

// unit is how many 10⁻¹⁵ there are in 10⁻⁹.
const unit = 1_000_000

// nano rounds half up.
func (a amount) nano() int64 {
	low, carry := bits.Add64(a.low, unit/2, 0)
	quotient, _ := bits.Div64(a.high+carry, low, unit)
	return int64(quotient)
}

// at is the price of tokens where the prompt has so many.
func (e *entry) at(input int) Price {
	p := e.Price
	if e.tariff == nil {
		return p
	}
	if r := e.tariff.of(input); r != &e.tariff.rates {
		in := func(rate int64) float64 { return float64(rate) / 1e9 }
		p.Input, p.CacheRead, p.CacheWrite, p.CacheWriteLong, p.Output = in(r.input), in(r.cacheRead), in(r.cacheWrite), in(r.cacheWriteLong), in(r.output)
	}
	return p
}
