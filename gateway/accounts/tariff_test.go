package accounts_test

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/accounts"
	"github.com/callgate/callgate/gateway/usage"
)

const tariffs = `
prices:
  - {model: plain, input: 2.5, output: 10}
  - {model: cached, input: 2.5, cache_read: 0.25, cache_write: 3.125, cache_write_1h: 5, output: 10}
  - {model: thinking, input: 0.1, output: 0.4, reasoning: 4}
  - {model: asked, input: 0, output: 0, request: 0.005}
  - {model: exact, input: 0.000000001, output: 0.123456789}
  - {model: long, input: 2.5, cache_read: 0.25, output: 10, tiers: [{above: 200000, input: 4, output: 15}, {above: 272000, input: 5, cache_read: 0.5, output: 15, reasoning: 20}]}
  - {model: dear, input: 1000000, cache_read: 1000000, output: 1000000}
  - {model: silent, input: 1}
  - {model: yuan, input: 1, output: 1, currency: CNY}
  - {model: share, factors: {cache_read: 0.1}}
`

// TestRates holds that no answer costs more than what is held for it: not in a tier of long prompts, nor for tokens that were
// written to a cache, or thought, nor for the answer itself.
func TestRates(t *testing.T) {
	t.Parallel()
	p := prices(t, tariffs)
	rapid.Check(t, func(t *rapid.T) {
		part := func(of int, name string) int { return rapid.IntRange(0, of).Draw(t, name) }
		model := rapid.SampledFrom([]string{"plain", "cached", "thinking", "asked", "exact", "long", "dear", "silent", "nobody's", "yuan"}).Draw(t, "model")
		u := usage.Usage{Input: rapid.OneOf(rapid.IntRange(0, 400_000), rapid.IntRange(0, usage.MaxTokens)).Draw(t, "input"), Output: part(usage.MaxTokens, "output")}
		u.Reasoning, u.CacheRead = part(u.Output, "reasoning"), part(u.Input, "read")
		u.WriteShort = part(u.Input-u.CacheRead, "short")
		u.WriteLong = part(u.Input-u.CacheRead-u.WriteShort, "long")
		nano, priced, _ := p.Price("any", model, u)
		r, in, out := p.Rates("any", model, u.Input)
		if priced != (in && (out || u.Output == 0)) {
			t.Fatalf("%s has a price: %v; rates of prompts: %v, of answers: %v", model, priced, in, out)
		}
		held := new(big.Int).Mul(big.NewInt(int64(u.Input)), big.NewInt(r.Input))
		held.Add(held, new(big.Int).Mul(big.NewInt(int64(u.Output)), big.NewInt(r.Output)))
		held.Add(held.Div(held.Add(held, big.NewInt(999)), big.NewInt(1000)), big.NewInt(r.Answer))
		if priced && held.Cmp(big.NewInt(nano)) < 0 {
			t.Fatalf("%s %+v costs %d, and %d are held", model, u, nano, held)
		}
	})
}

// TestPrice holds what answers cost to the nano-dollar.
func TestPrice(t *testing.T) {
	t.Parallel()
	p := prices(t, tariffs)
	for _, c := range []struct {
		model string
		u     usage.Usage
		want  int64 // -1: not known
	}{
		{"plain", usage.Usage{Input: 1_000_000}, 2_500_000_000},
		{"plain", usage.Usage{Input: 7, Output: 3}, 47_500},
		{"plain", usage.Usage{Input: 1000, CacheRead: 1000}, 2_500_000},
		{"cached", usage.Usage{Input: 10_000, CacheRead: 6000, WriteShort: 2000, WriteLong: 1000, Output: 100}, 2_500_000 + 1_500_000 + 6_250_000 + 5_000_000 + 1_000_000},
		{"thinking", usage.Usage{Output: 100, Reasoning: 90}, 4_000 + 360_000},
		{"asked", usage.Usage{}, 5_000_000},
		{"exact", usage.Usage{Input: 499_999}, 0},
		{"exact", usage.Usage{Input: 500_000}, 1},
		{"exact", usage.Usage{Output: 1}, 123},
		{"exact", usage.Usage{Output: 5}, 617},
		{"long", usage.Usage{Input: 200_000, CacheRead: 100_000, Output: 10}, 250_000_000 + 25_000_000 + 100_000},
		{"long", usage.Usage{Input: 200_001, CacheRead: 100_000, Output: 10}, 400_004_000 + 25_000_000 + 150_000},
		{"long", usage.Usage{Input: 272_001, CacheRead: 100_000, Output: 10, Reasoning: 4}, 860_005_000 + 50_000_000 + 90_000 + 80_000},
		{"dear", usage.Usage{Input: usage.MaxTokens, CacheRead: 1, Output: usage.MaxTokens}, 2 * usage.MaxTokens * 1_000_000_000},
		{"silent", usage.Usage{Input: 5}, 5000},
		{"silent", usage.Usage{Input: 5, Output: 1}, -1},
		{"yuan", usage.Usage{Input: 5}, -1},
		{"share", usage.Usage{Input: 5}, -1},
		{"nobody's", usage.Usage{Input: 5}, -1},
	} {
		nano, priced, version := p.Price("any", c.model, c.u)
		if priced != (c.want >= 0) || priced && (nano != c.want || version != p.Version()) || !priced && (nano != 0 || version != "") {
			t.Errorf("%s %+v: got %d, %v, version %q, want %d", c.model, c.u, nano, priced, version, c.want)
		}
	}
	for model, want := range map[string]bool{"plain": true, "asked": true, "silent": false, "yuan": false, "share": false, "": false} {
		if got := p.Priced("any", model); got != want {
			t.Errorf("%s: got priced %v, want %v", model, got, want)
		}
	}
	var none *accounts.Prices
	if _, priced, _ := none.Price("any", "plain", usage.Usage{}); priced {
		t.Error("without prices: got a price")
	}
}

// TestVersion holds that a row names the file whose price it has.
func TestVersion(t *testing.T) {
	t.Parallel()
	own := prices(t, "prices: [{model: a, input: 1, output: 1}]")
	over := own.Over(prices(t, "prices: [{model: b, input: 1, output: 1}]"))
	_, _, a := over.Price("any", "a", usage.Usage{})
	_, _, b := over.Price("any", "b", usage.Usage{})
	if len(a) != 12 || len(b) != 12 || a == b || a != own.Version() {
		t.Errorf("got the versions %q and %q, want those of two files", a, b)
	}
}

// TestPriceExact compares sums with those of exact fractions.
func TestPriceExact(t *testing.T) {
	t.Parallel()
	p := prices(t, tariffs)
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		u := usage.Usage{Input: r.IntN(200_000)}
		u.CacheRead = r.IntN(u.Input + 1)
		u.WriteShort = r.IntN(u.Input - u.CacheRead + 1)
		u.WriteLong = r.IntN(u.Fresh() + 1)
		u.Output = r.IntN(10_000)
		want := new(big.Rat)
		for _, part := range []struct {
			tokens int
			price  string
		}{{u.Fresh(), "2.5"}, {u.CacheRead, "0.25"}, {u.WriteShort, "3.125"}, {u.WriteLong, "5"}, {u.Output, "10"}} {
			price, _ := new(big.Rat).SetString(part.price)
			want.Add(want, price.Mul(price, big.NewRat(int64(part.tokens)*1000, 1)))
		}
		if got, _, _ := p.Price("any", "cached", u); want.Cmp(big.NewRat(got, 1)) != 0 && want.Sub(want, big.NewRat(got, 1)).Abs(want).Cmp(big.NewRat(1, 2)) > 0 {
			t.Fatalf("%+v: got %d, which is %s off", u, got, want.FloatString(3))
		}
	}
}

// TestTierOfAccount holds that the account of the caches knows tiers too.
func TestTierOfAccount(t *testing.T) {
	t.Parallel()
	b := accounts.NewBook(prices(t, tariffs))
	a := b.Bill(accounts.Request{Model: "long", Usage: usage.Usage{Reported: true, CacheReported: true, Input: 300_000, CacheRead: 100_000, Output: 1000}})
	if want := (accounts.Money{Currency: "USD", Requests: 1, List: 1.5, Cost: 1.05, Saved: 0.45, Output: 0.015}); a.Money != want {
		t.Errorf("got %+v, want %+v", a.Money, want)
	}
}

// TestBadTariffs holds the errors of what only money has.
func TestBadTariffs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{input: 0.1234567891, output: 1}":                                "prices[0].input: 0.1234567891 has more than 9 digits behind the point",
		"{input: 1e-99999999}":                                            "",
		"{input: 1, reasoning: -1}":                                       "prices[0].reasoning: -1 is negative",
		"{input: 1, request: 1000001}":                                    "prices[0].request: 1000001 is more than 1000000",
		"{input: 1, request: 0.00000000000000000000000001}":               "the number has 28 digits",
		"{input: 1, tiers: 3}":                                            "prices[0].tiers: expected a list",
		"{input: 1, tiers: [{input: 2}]}":                                 "prices[0].tiers[0].above: the key is missing",
		"{input: 1, tiers: [{above: 0, input: 2}]}":                       "expected a number of tokens from 1 to",
		"{input: 1, tiers: [{above: 2.5, input: 2}]}":                     "expected a number of tokens from 1 to",
		"{input: 1, tiers: [{above: 99999999999999999999, input: 2}]}":    "expected a number of tokens from 1 to",
		"{input: 1, tiers: [{above: 5, input: 2}, {above: 5, input: 3}]}": "prices[0].tiers[1].above: there is a tier above 5 already; keep one",
		"{input: 1, tiers: [{above: 5, inptu: 2}]}":                       "prices[0].tiers[0].inptu: unknown key \"inptu\"; did you mean \"input\"",
		"{input: 1, tiers: [{above: 5, output: 2}]}":                      "prices[0].tiers[0].output: the entry has no price of output",
		"{input: 1, tiers: [{above: 5, input: -2}]}":                      "prices[0].tiers[0].input: -2 is negative",
		"{input: 1, tiers: [{above: 5, request: 2}]}":                     "unknown key \"request\"",
		"{input: 1, tiers: [" + strings.Repeat("{above: 1},", 9) + "]}":   "there are 9 tiers; the most is 8",
		"{factors: {cache_read: 0.1}, request: 1}":                        "prices[0].request: an entry has either prices or factors",
		"{factors: {cache_read: 0.1}, tiers: [{above: 5}]}":               "prices[0].tiers: an entry has either prices or factors",
	} {
		_, err := accounts.ParsePrices("p.yaml", []byte("prices:\n  - {model: m, "+text[1:]+"\n"))
		var all *accounts.FileError
		if want == "" {
			continue // only that it ends
		}
		if !errors.As(err, &all) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func BenchmarkPrice(b *testing.B) {
	p := prices(b, tariffs)
	b.ReportAllocs()
	for b.Loop() {
		p.Price("openai", "long", usage.Usage{Input: 300_000, CacheRead: 100, Output: 1000, Reasoning: 10})
	}
}
