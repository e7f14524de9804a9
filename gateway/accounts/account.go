package accounts

import (
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway/usage"
)

// Request is what the gateway knows of a request when its answer has ended.
type Request struct {
	// Provider and Model are those of the target that answered.
	Provider, Model string
	// Tenant is whose request it was, "" without tenants.
	Tenant string
	// Expected is how many tokens of the prompt should have been in the target's cache by
	// what the gateway knew when it chose the target; 0 if none.
	Expected int
	// Usage is what [usage.Read] made of the answer's usage.
	Usage usage.Usage
}

// Account is the bill of one request, for a response header, the log and metrics.
type Account struct {
	Usage usage.Usage
	// Expected is the request's, cut to the prompt. It is 0 where the provider does not
	// report what it read from its cache, so that nothing is held against it.
	Expected int
	// Missed is how many of Expected were not read from the cache.
	Missed int
	// Rated says that it is known what the cache costs, and that it is not free.
	Rated bool
	// SavedShare is the part of the price of the prompt that the cache has saved. It is
	// below 0 where writing has cost more than reading saved, and 0 if it is not known.
	SavedShare float64
	// Money is the zero value where the price is not known.
	Money Money
}

// Money is a sum of costs in one currency.
type Money struct {
	// Currency is its code of ISO 4217, such as USD.
	Currency string `json:"currency"`
	// Requests are those that are in the sum.
	Requests uint64 `json:"requests"`
	// List is what their prompts would have cost without a cache, and Cost what they did.
	List float64 `json:"list"`
	Cost float64 `json:"cost"`
	// Saved is List less Cost. It is below 0 where writing has cost more than reading
	// saved.
	Saved float64 `json:"saved"`
	// Output is the cost of the answers; those whose price is not known are left out.
	Output float64 `json:"output"`
}

// expect notes how many tokens of the prompt should have been in the cache.
func (a *Account) expect(tokens int) {
	if u := a.Usage; u.CacheReported {
		a.Expected = min(max(tokens, 0), u.Input)
		a.Missed = max(a.Expected-u.CacheRead, 0)
	}
}

// Join adds the account of another round of the same answer: what caches have saved, for
// [Account.SavedText]. The share counts the input tokens of all models the same, and there is no
// money where the rounds were not paid in one currency.
func (a *Account) Join(b *Account) {
	read := func(u *usage.Usage, of usage.Usage) {
		u.Input, u.CacheRead, u.Output = u.Input+of.Input, u.CacheRead+of.CacheRead, u.Output+of.Output
		u.WriteShort, u.WriteLong, u.Reasoning = u.WriteShort+of.WriteShort, u.WriteLong+of.WriteLong, u.Reasoning+of.Reasoning
	}
	if in := a.Usage.Input + b.Usage.Input; in > 0 {
		a.SavedShare = (a.SavedShare*float64(a.Usage.Input) + b.SavedShare*float64(b.Usage.Input)) / float64(in)
	}
	read(&a.Usage, b.Usage)
	a.Rated = a.Rated && b.Rated
	a.Expected, a.Missed = a.Expected+b.Expected, a.Missed+b.Missed
	if a.Money.Currency == b.Money.Currency {
		a.Money.add(&b.Money)
	} else {
		a.Money = Money{}
	}
}

const perMillion = 1e6

// prompt is what the tokens of a prompt would cost without a cache, and what they cost.
func (p *Price) prompt(u usage.Usage) (list, cost float64) {
	list = float64(u.Input) * p.Input
	cost = float64(u.Fresh())*p.Input + float64(u.CacheRead)*p.CacheRead +
		float64(u.WriteShort)*p.CacheWrite + float64(u.WriteLong)*p.CacheWriteLong
	return list, cost
}

// add adds a sum of the same currency.
func (m *Money) add(n *Money) {
	m.Requests += n.Requests
	m.List += n.List
	m.Cost += n.Cost
	m.Saved += n.Saved
	m.Output += n.Output
}

// Bill makes the account of a request without adding it to the book. Prices are for a million
// tokens.
func (b *Book) Bill(r Request) Account {
	e, _ := b.prices.Load().find(r.Provider, r.Model)
	u := r.Usage
	a := Account{Usage: u}
	a.expect(r.Expected)
	if e == nil || !u.Reported {
		return a
	}
	price := e.at(u.Input)
	list, cost := price.prompt(u)
	if a.Rated = list > 0; a.Rated {
		a.SavedShare = (list - cost) / list
	}
	if price.Currency != "" {
		a.Money = Money{Currency: price.Currency, Requests: 1, List: list / perMillion, Cost: cost / perMillion,
			Saved: (list - cost) / perMillion, Output: float64(u.Output) * price.Output / perMillion}
	}
	return a
}

// SavedText is what caches have saved of a prompt's price, as a response header says it: the
// share, and the money where the price is known, such as 0.42;usd=0.003. Both are below 0
// where writing has cost more than reading saved. It is "" where no cache was read or
// written, or nobody knows what that costs.
func (a *Account) SavedText() string {
	if u := a.Usage; !a.Rated || u.CacheRead+u.WriteShort+u.WriteLong == 0 {
		return ""
	}
	text := strconv.FormatFloat(a.SavedShare, 'f', 2, 64)
	if text == "-0.00" {
		text = "0.00"
	}
	if a.Money.Currency == "" {
		return text
	}
	const digits = 8 // a token costs a millionth of some units, so a few of them can be told apart
	money := strconv.FormatFloat(tidy(a.Money.Saved), 'f', digits, 64)
	if money = strings.TrimRight(strings.TrimRight(money, "0"), "."); money == "-0" {
		money = "0"
	}
	return text + ";" + strings.ToLower(a.Money.Currency) + "=" + money
}
