package cli

import (
	"fmt"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/accounts"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/history"
	"github.com/callgate/callgate/gateway/metrics"
	"github.com/callgate/callgate/gateway/observe"
	"github.com/callgate/callgate/gateway/prefix/share"
	"github.com/callgate/callgate/internal/plainfile"
)

// usageAccounts hands finished requests to the metrics, to the accounts and to the history.
type usageAccounts struct {
	*metrics.Metrics
	book    *accounts.Book
	history *history.History
}

// readPrices are the configuration's over those that are built in.
func readPrices(cfg *config.Config) (*accounts.Prices, error) {
	prices := accounts.DefaultPrices()
	if cfg.Prices != "" {
		own, err := readPriceFile(cfg.Prices)
		if err != nil {
			return nil, err
		}
		prices = own.Over(prices)
	}
	return prices, nil
}

// readPriceFile reads one file of prices.
func readPriceFile(name string) (*accounts.Prices, error) {
	data, err := plainfile.Read(name, accounts.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("prices: %w", named(name, err))
	}
	return accounts.ParsePrices(name, data)
}

// Request implements httpapi.Metrics.
func (u *usageAccounts) Request(r *gateway.Record) {
	u.Metrics.Request(r)
	u.history.Request(r, u.enter(r))
}

// ended is Request for who has a copy.
func (u *usageAccounts) ended(r gateway.Record) { u.Request(&r) }

// enter enters a request in the accounts, and returns what it has cost and saved.
func (u *usageAccounts) enter(r *gateway.Record) (paid history.Money) {
	s := r.Summary
	if s != nil {
		u.judged(r)
		u.arm(r)
	}
	switch {
	case s != nil && s.Replayed(): // its tokens were counted when they were spent
		return u.spared(s)
	case s == nil || r.Code != "":
		return paid
	}
	if run := s.ToolRun; run != nil && len(run.Costs) > 1 { // each round may have gone to another target
		return u.rounds(r, run.Costs)
	}
	account := accounts.Request{Provider: s.Provider, Model: s.Model, Tenant: r.Tenant, Usage: s.Usage}
	if d := s.Prefix; d != nil && d.Blocks > 0 {
		account.Expected = int(float64(d.Expected) / float64(d.Blocks) * float64(s.Usage.Input))
	}
	bill, ok := s.Bill.(*accounts.Account)
	if ok && bill.Usage == s.Usage {
		u.book.Enter(account, bill)
	} else { // its usage was not reported, or it broke off
		priced := u.book.Record(account)
		bill = &priced
	}
	u.Account(s.Provider, u.Model(r), bill)
	return moneyOf(bill)
}

// rounds enters the rounds of a request, and returns their cost in the currency of the first.
func (u *usageAccounts) rounds(r *gateway.Record, costs []gateway.RoundCost) (paid history.Money) {
	for _, c := range costs {
		if c.Replayed {
			continue
		}
		priced := u.book.Record(accounts.Request{Provider: c.Provider, Model: c.Model, Tenant: r.Tenant, Usage: c.Usage})
		u.Account(c.Provider, u.Model(r), &priced)
		if one := moneyOf(&priced); paid.Currency == "" || paid.Currency == one.Currency {
			paid = paid.Plus(one)
		} else {
			u.history.Spend(one)
		}
	}
	return paid
}

// spared is what an answer would have cost that the response cache gave.
func (u *usageAccounts) spared(s *gateway.Summary) history.Money {
	m := u.book.Bill(accounts.Request{Provider: s.Provider, Model: s.Model, Usage: s.Spared}).Money
	return history.Money{Currency: m.Currency, SavedAnswers: m.Cost + m.Output}
}

// moneyOf is the money of an account for the history.
func moneyOf(a *accounts.Account) history.Money {
	return history.Money{Currency: a.Money.Currency, Spent: a.Money.Cost + a.Money.Output, SavedPrompts: a.Money.Saved}
}

// judged enters what the guard's judge has cost, also of answers that were thrown away.
func (u *usageAccounts) judged(r *gateway.Record) {
	for ruling := range observe.Rulings(r.Summary) {
		if ruling.Usage.Reported {
			priced := u.book.Record(accounts.Request{Provider: ruling.Provider, Model: ruling.Model, Tenant: r.Tenant, Usage: ruling.Usage})
			u.history.Spend(moneyOf(&priced))
		}
	}
}

// bill implements bill.Maker.
func (u *usageAccounts) bill(provider, model string, usage gateway.Usage) gateway.Bill {
	bill := u.book.Bill(accounts.Request{Provider: provider, Model: model, Usage: usage})
	return &bill
}

// bills prices an answer of several rounds. What its caches have saved can be told if all rounds
// were paid in one currency.
func (u *usageAccounts) bills(rounds []gateway.RoundCost) gateway.Bill {
	var sum accounts.Account
	for i, r := range rounds {
		a := u.book.Bill(accounts.Request{Provider: r.Provider, Model: r.Model, Usage: r.Usage})
		if i == 0 {
			sum = a
		} else {
			sum.Join(&a)
		}
	}
	return &sum
}

// caches is the answer to GET /admin/prefix.
type caches struct {
	gateway.CacheSnapshot
	Sharing  *share.Snapshot   `json:"sharing,omitempty"` // nil: this gateway keeps to itself
	Accounts accounts.Snapshot `json:"accounts"`
}

func (u *usageAccounts) snapshot(c gateway.CacheSnapshot, s *share.Snapshot) caches {
	return caches{c, s, u.book.Snapshot()}
}
