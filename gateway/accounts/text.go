package accounts

import (
	"strconv"
	"strings"
)

// Bill makes the account of a request without adding it to the book. Prices are for a million
// tokens.
func (b *Book) Bill(r Request) Account {
	price, ok := b.prices.Of(r.Provider, r.Model)
	u := r.Usage
	a := Account{Usage: u}
	a.expect(r.Expected)
	if !ok || !u.Reported {
		return a
	}
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
