package accounts

import (
	"cmp"
	"math"
	"slices"
)

// Totals sum up requests. All tokens are the providers' counts, by the rules of [usage.Usage].
type Totals struct {
	// Requests are all, and Unreported those of them whose answers had no usage: they are
	// in no other number.
	Requests   uint64 `json:"requests"`
	Unreported uint64 `json:"unreported"`
	// Faulty are those whose usage had an impossible number, which was cut; see [usage.Fault].
	Faulty uint64 `json:"faulty"`
	// InputTokens are all of the prompts. The next three are parts of them.
	InputTokens          uint64 `json:"input_tokens"`
	CacheReadTokens      uint64 `json:"cache_read_tokens"`
	CacheWriteTokens     uint64 `json:"cache_write_tokens"`    // for the cache's usual time
	CacheWriteLongTokens uint64 `json:"cache_write_1h_tokens"` // for an hour
	OutputTokens         uint64 `json:"output_tokens"`
	// ExpectedTokens should have been read from a cache by what the gateway knew, and
	// MissedTokens of them were not. Providers that do not report their cache are left out.
	ExpectedTokens uint64 `json:"expected_tokens"`
	MissedTokens   uint64 `json:"missed_tokens"`
	// RatedTokens are those of InputTokens for which the cost of the cache is known.
	RatedTokens uint64 `json:"rated_tokens"`
	// HitShare is CacheReadTokens of InputTokens, from 0 to 1. Servers that do not count
	// what comes from their caches pull it down.
	HitShare float64 `json:"hit_share"`
	// SavedShare is the part of the price of the RatedTokens that caches have saved, where
	// the input tokens of all models count the same. It is below 0 where writing has cost
	// more than reading saved, and 0 without RatedTokens.
	SavedShare float64 `json:"saved_share"`
	// Money is the cost of those requests whose price is known, one sum for each currency.
	Money []Money `json:"money"`

	savedTokens float64 // SavedShare of RatedTokens
}

// count adds a request.
func (t *Totals) count(a *Account) {
	t.Requests++
	if !a.Usage.Reported {
		t.Unreported++
		return
	}
	if a.Usage.Faults != 0 {
		t.Faulty++
	}
	t.InputTokens += uint64(a.Usage.Input)
	t.CacheReadTokens += uint64(a.Usage.CacheRead)
	t.CacheWriteTokens += uint64(a.Usage.WriteShort)
	t.CacheWriteLongTokens += uint64(a.Usage.WriteLong)
	t.OutputTokens += uint64(a.Usage.Output)
	t.ExpectedTokens += uint64(a.Expected)
	t.MissedTokens += uint64(a.Missed)
	if a.Rated {
		t.RatedTokens += uint64(a.Usage.Input)
		t.savedTokens += a.SavedShare * float64(a.Usage.Input)
	}
	if a.Money.Currency != "" {
		t.pay(&a.Money)
	}
}

// add adds the totals of other requests.
func (t *Totals) add(o *Totals) {
	t.Requests += o.Requests
	t.Unreported += o.Unreported
	t.Faulty += o.Faulty
	t.InputTokens += o.InputTokens
	t.CacheReadTokens += o.CacheReadTokens
	t.CacheWriteTokens += o.CacheWriteTokens
	t.CacheWriteLongTokens += o.CacheWriteLongTokens
	t.OutputTokens += o.OutputTokens
	t.ExpectedTokens += o.ExpectedTokens
	t.MissedTokens += o.MissedTokens
	t.RatedTokens += o.RatedTokens
	t.savedTokens += o.savedTokens
	for i := range o.Money {
		t.pay(&o.Money[i])
	}
}

// pay adds money to the sum of its currency.
func (t *Totals) pay(m *Money) {
	i := slices.IndexFunc(t.Money, func(sum Money) bool { return sum.Currency == m.Currency })
	if i < 0 {
		i = len(t.Money)
		t.Money = append(t.Money, Money{Currency: m.Currency})
	}
	t.Money[i].add(m)
}

// shown is a copy with the shares, in which sums are free of the last digits that adding
// fractions leaves.
func (t *Totals) shown() Totals {
	s := *t
	s.Money = make([]Money, 0, len(t.Money)) // an empty list, not null
	for _, m := range t.Money {
		m.List, m.Cost, m.Saved, m.Output = tidy(m.List), tidy(m.Cost), tidy(m.Saved), tidy(m.Output)
		s.Money = append(s.Money, m)
	}
	slices.SortFunc(s.Money, func(a, b Money) int { return cmp.Compare(a.Currency, b.Currency) })
	if t.InputTokens > 0 {
		s.HitShare = tidy(float64(t.CacheReadTokens) / float64(t.InputTokens))
	}
	if t.RatedTokens > 0 {
		s.SavedShare = tidy(t.savedTokens / float64(t.RatedTokens))
	}
	return s
}

// tidy rounds to a billionth.
func tidy(x float64) float64 { return math.Round(x*1e9) / 1e9 }
