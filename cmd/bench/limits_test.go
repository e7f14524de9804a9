package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/admit"
	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/metrics"
	"github.com/callgate/callgate/internal/jsonlog"
)

// within is a gateway whose requests pass within limits.
type within struct {
	*flow.Gateway
	gate *admit.Gate
}

func (w within) Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error) {
	return w.gate.Chat(ctx, req)
}

// BenchmarkHandlerLimits is what a key, the limits of limitedConfig and a ledger in memory add to the handler's work.
func BenchmarkHandlerLimits(b *testing.B) {
	w := passage{name: "whole answer, guards report", model: modelClean, mode: gateway.Repair, guards: true}
	run := func(b *testing.B, g httpapi.Chatter, book *keys.Book) {
		b.Helper()
		s, err := httpapi.New(httpapi.Config{Gateway: g, Keys: book, Metrics: metrics.New(metrics.Options{}), Log: slog.New(jsonlog.New(io.Discard, slog.LevelInfo))})
		if err != nil {
			b.Fatal(err)
		}
		handle(b, s, request(w.model, false, 1<<10))
	}
	b.Run("none", func(b *testing.B) {
		g, err := flow.New(w.options(newInstant(w.model)))
		if err != nil {
			b.Fatal(err)
		}
		run(b, g, nil)
	})
	b.Run("seven", func(b *testing.B) {
		o := w.options(newInstant(w.model))
		o.Meters, o.AsksUsage = true, true
		g, err := flow.New(o)
		if err != nil {
			b.Fatal(err)
		}
		book := keys.NewBook(keys.Options{})
		book.Configure([]keys.Key{{Name: "app", Team: "search", Secrets: []keys.Secret{{Hash: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("none")))}}}},
			[]keys.Team{{Name: "search"}}, false)
		run(b, within{g, sevenLimits(b, g)}, book)
	})
}

// sevenLimits has the limits of limitedConfig, and its price, before a gateway.
func sevenLimits(b *testing.B, g *flow.Gateway) *admit.Gate {
	b.Helper()
	own := []admit.Rule{}
	for _, s := range []limit.Spec{{Requests: 1e9, Per: "1m"}, {Tokens: 1e9, Per: "1m"}, {Concurrency: 1000}, {USD: 1e6, Per: "month"}} {
		own = append(own, admit.Rule{Limit: s.Limit(limit.Scope{})})
	}
	table, err := admit.NewTable(admit.Rules{Keys: map[string][]admit.Rule{"app": own}, Teams: map[string][]admit.Rule{"search": own[1:]}}, g.Route)
	if err != nil {
		b.Fatal(err)
	}
	ledger := billing.NewMemory(billing.MemoryLimits{})
	usage, err := billing.NewBook(billing.Options{Ledger: ledger})
	if err != nil {
		b.Fatal(err)
	}
	state := admit.NewState(limit.NewMemory(nil), nil)
	b.Cleanup(func() {
		_ = state.Close()
		_ = usage.Close(context.Background())
		_ = ledger.Close()
	})
	return admit.New(admit.Options{Inner: g, Limits: table.Of, Records: usage, State: state, Assumed: &admit.Assumed{Input: 1e6, Output: 1e6},
		Past: struct {
			*billing.Book
			billing.Ledger
		}{usage, ledger}, Route: g.Route,
		Targets: func(req *gateway.Request, _ string) []admit.Target {
			return []admit.Target{{Provider: "instant", Model: req.Model}}
		}})
}
