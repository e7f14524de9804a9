package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
	"github.com/callgate/callgate/gateway/store/postgres"
	"github.com/callgate/callgate/gateway/store/sqlite"
)

// openStore opens the store of the configuration; nil for none.
func openStore(ctx context.Context, cfg *config.Config, log *slog.Logger) (s store.Store, err error) {
	c := cfg.Store
	o := store.Options{TTL: time.Duration(c.TTL), Log: log}
	l := &o.Limits
	l.Bytes, l.Entries, l.TenantBytes, l.TenantEntries = c.Bounds(len(cfg.Keys))
	switch c.Kind {
	case "sqlite":
		s, err = sqlite.Open(ctx, c.Path, o)
	case "postgres":
		s, err = postgres.Open(ctx, c.URL.Reveal(), o)
	case "memory":
		s, err = memory.New(o)
	default:
		return nil, nil //nolint:nilnil // a gateway that keeps nothing
	}
	if err != nil {
		return nil, fmt.Errorf("store (kind: %s): %w", c.Kind, err)
	}
	return s, nil
}

// newState makes what the Responses API remembers; nil for nothing.
func (p *process) newState(cfg *config.Config, g state.Chatter) *state.Service {
	if p.store == nil {
		return nil
	}
	return state.New(state.Options{Store: p.store, Sealer: p.sealer, Gateway: g, MaxChain: cfg.Store.MaxChain, MaxBytes: int(cfg.Limits.Body),
		CompactTokens: cfg.Store.CompactTokens, CompactTurns: cfg.Store.CompactTurns, Ended: p.accounts.ended, Log: p.log})
}
