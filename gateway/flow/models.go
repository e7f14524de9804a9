package flow

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/attempt"
	"github.com/callgate/callgate/gateway/internal/routing"
)

// models are the names that clients may send.
type models struct {
	table    *routing.Table
	engine   *attempt.Engine
	direct   map[string]gateway.Target // by the provider in front of the model's name
	unlisted []string                  // providers that are left out of the list
	others   []gateway.Target          // where all other names lead
	hint     string                    // for a name that leads nowhere
}

// list are the names, sorted. See [Gateway.Models].
func (m *models) list(ctx context.Context) []string {
	set := map[string]bool{}
	for name := range m.table.Names() {
		set[name] = true
	}
	listed := map[string][]string{} // by provider
	add := func(prefix string, t gateway.Target) {
		models, known := listed[t.Provider]
		if !known {
			models = m.engine.Models(ctx, t.Provider)
			listed[t.Provider] = models
		}
		for _, name := range models {
			set[prefix+name] = true
		}
	}
	for prefix, t := range m.direct {
		if slices.Contains(m.unlisted, t.Provider) {
			continue
		}
		add(prefix+"/", t)
	}
	for _, t := range m.others {
		add("", t)
	}
	return slices.Sorted(maps.Keys(set))
}

// has reports whether there is a model of a name. See [Gateway.HasModel].
func (m *models) has(ctx context.Context, name string) bool {
	targets, model, pattern := m.table.Targets(name)
	for _, t := range targets {
		if t.Model != "" {
			return true
		}
		if has, known := m.engine.HasModel(ctx, t.Provider, model); has || pattern && !known {
			return true
		}
	}
	return slices.Contains(m.list(ctx), name)
}

// missing is the error for a name that leads nowhere. It asks no upstream: with a context
// that has ended only providers that know their models by heart answer.
func (m *models) missing(model string) error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for prefix, t := range m.direct {
		if strings.EqualFold(model, prefix) {
			return routing.OnlyProvider(model, prefix, m.examples(ended, t.Provider))
		}
	}
	return routing.NoModel(model, m.list(ended), m.hint)
}

// examples are the first models of a provider, in its own order, which begins with the plainest.
func (m *models) examples(ctx context.Context, provider string) []string {
	const some = 3
	if slices.Contains(m.unlisted, provider) {
		return nil
	}
	all := m.engine.Models(ctx, provider)
	return all[:min(len(all), some)]
}
