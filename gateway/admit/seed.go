package admit

import (
	"context"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/limit"
)

// Past says what requests have used before: the ledger and its book. The wiring in internal/cli has it.
type Past interface {
	// Flush waits until the ledger has all rows that were recorded.
	Flush(ctx context.Context) error
	// Sums is that of [billing.Ledger].
	Sums(ctx context.Context, f billing.Filter, by []billing.Dimension, p billing.Page) (billing.Sums, error)
}

// seeds are what budgets in memory begin with, from the ledger. One asks the ledger at a time.
type seeds struct {
	turn   chan struct{}
	failed time.Time // until when the ledger is not asked; turn is its lock
}

// newSeeds has asked nobody yet.
func newSeeds() seeds {
	return seeds{turn: make(chan struct{}, 1)}
}

// Bounds on the wait for a ledger.
const (
	pastTime = 5 * time.Second
	pastRest = time.Second // after it has failed
	pastPage = 1000
)

// seed has budgets that are in memory, and that no request of this process was weighed against yet, begin with
// what the ledger has of their windows. Without an answer of the ledger nobody knows what is left: then no request passes.
func (g *Gate) seed(ctx context.Context, set *limit.Set) error {
	s := g.o.State
	m, ok := s.limiter.(*limit.Memory)
	if !ok || g.o.Past == nil || !m.Owes(set) {
		return nil
	}
	select {
	case s.seeds.turn <- struct{}{}:
		defer func() { <-s.seeds.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if time.Now().Before(s.seeds.failed) {
		return errLost
	}
	own, cancel := context.WithTimeout(ctx, pastTime)
	defer cancel()
	flushed := false
	err := m.Seed(set, func(l *limit.Limit, from time.Time) (int64, error) {
		if !flushed { // rows of an earlier run may wait in its journal
			if err := g.o.Past.Flush(own); err != nil {
				return 0, err
			}
			flushed = true
		}
		return g.spent(own, l, from)
	})
	if err != nil && ctx.Err() == nil { // that a client has left says nothing of the ledger
		s.seeds.failed = time.Now().Add(pastRest)
	}
	return err
}

// spent is what the ledger has of a limit since a time.
func (g *Gate) spent(ctx context.Context, l *limit.Limit, from time.Time) (total int64, err error) {
	f := billing.Filter{From: from}
	switch l.Scope.Of {
	case "key", "key_model", "all", "all_model":
		f.Where = []billing.Condition{{Dimension: billing.ByKey, Values: []string{l.Scope.Name}}}
	case "team", "team_model":
		f.Where = []billing.Condition{{Dimension: billing.ByTeam, Values: []string{l.Scope.Name}}}
	}
	for p := (billing.Page{Limit: pastPage}); ; {
		page, err := g.o.Past.Sums(ctx, f, []billing.Dimension{billing.ByModel, billing.ByPurpose}, p)
		if err != nil {
			return 0, err
		}
		for i := range page.Sums {
			sum := &page.Sums[i]
			if sum.Group[1] == string(gateway.ForMirror) { // it is in no limit
				continue
			}
			if model := sum.Group[0]; l.Scope.Of == "model" && g.o.Route(model) != l.Scope.Name || l.Scope.Models != "" && !Matches(strings.Split(l.Scope.Models, ","), model) {
				continue
			}
			if l.Kind == limit.Money {
				total += sum.Nano
			} else {
				total += sum.Input + sum.Output
			}
		}
		if p.After = page.Next; page.Next == nil {
			return total, nil
		}
	}
}
