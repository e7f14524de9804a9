package cli

import (
	"fmt"
	"os"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/accounts"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/metrics"
	"github.com/callgate/callgate/gateway/prefix/share"
)

// ledger hands requests that are over to the metrics and to the accounts.
type ledger struct {
	*metrics.Metrics
	book *accounts.Book
}

// newLedger opens the accounts, with the configuration's prices over those that are built
// in.
func newLedger(cfg *config.Config, m *metrics.Metrics) (*ledger, error) {
	prices := accounts.DefaultPrices()
	if cfg.Prices != "" {
		data, err := os.ReadFile(cfg.Prices)
		if err != nil {
			return nil, fmt.Errorf("prices: %w", err)
		}
		own, err := accounts.ParsePrices(cfg.Prices, data)
		if err != nil {
			return nil, err
		}
		prices = own.Over(prices)
	}
	return &ledger{m, accounts.NewBook(prices)}, nil
}

// Request implements httpapi.Metrics.
func (l *ledger) Request(r gateway.Record) {
	l.Metrics.Request(r)
	s := r.Summary
	if s == nil || r.Code != "" || s.Replayed() { // the tokens of that were counted when they were spent
		return
	}
	account := accounts.Request{Provider: s.Provider, Model: s.Model, Tenant: r.Tenant, Usage: s.Usage}
	if d := s.Prefix; d != nil && d.Blocks > 0 {
		account.Expected = int(float64(d.Expected) / float64(d.Blocks) * float64(s.Usage.Input))
	}
	bill, ok := s.Bill.(*accounts.Account)
	if ok && bill.Usage == s.Usage {
		l.book.Enter(account, bill)
	} else { // its usage was not reported, or it broke off
		priced := l.book.Record(account)
		bill = &priced
	}
	l.Account(s.Provider, s.Model, bill)
}

// saved implements bill.Maker.
func (l *ledger) saved(provider, model string, u gateway.Usage) gateway.Bill {
	bill := l.book.Bill(accounts.Request{Provider: provider, Model: model, Usage: u})
	return &bill
}

// caches is the answer to GET /admin/prefix.
type caches struct {
	gateway.CacheSnapshot
	Sharing  *share.Snapshot   `json:"sharing,omitempty"` // nil: this gateway keeps to itself
	Accounts accounts.Snapshot `json:"accounts"`
}

func (l *ledger) snapshot(c gateway.CacheSnapshot, s *share.Snapshot) caches {
	return caches{c, s, l.book.Snapshot()}
}
