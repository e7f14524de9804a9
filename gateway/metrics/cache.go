package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/accounts"
	"github.com/callgate/callgate/gateway/internal/telemetry"
	"github.com/callgate/callgate/gateway/prefix"
)

// cacheMetrics are those of prompt caches: what was expected of them, what was read and
// written, and what that has saved. Shares and money are sums to be divided, since a
// quotient of this moment says nothing about a day: saved share = 1 - billed / rated.
type cacheMetrics struct {
	prompt, choices  *counters
	expected, missed *counters
	rated, billed    *counters
	listCost, cost   *counters
}

func newCacheMetrics(k maker, model *values) cacheMetrics {
	provider, of := label{name: "provider"}, label{"model", model}
	// An operator's file of prices has any number of currencies.
	currency := label{"currency", newValues()}
	return cacheMetrics{
		prompt: k.counters("callgate_prompt_tokens_total",
			"Tokens of prompts: read from the upstream's cache, written to it, or neither; unknown where the upstream does not count its cache.", provider, of, label{name: "cache"}),
		choices: k.counters("callgate_prefix_choices_total",
			"Answers of routes with routing by prefix, by why their target was asked.", label{name: "route"}, label{name: "reason"}),
		expected: k.counters("callgate_prefix_expected_tokens_total",
			"Tokens of prompts that should have been in the upstream's cache, where it counts what it reads.", provider, of),
		missed: k.counters("callgate_prefix_missed_tokens_total",
			"Those of the expected tokens that were not read from the cache.", provider, of),
		rated: k.counters("callgate_prompt_rated_tokens_total",
			"Prompt tokens for which the prices of the cache are known.", provider, of),
		billed: k.counters("callgate_prompt_billed_tokens_total",
			"The rated tokens, each weighted by its price relative to an uncached one.", provider, of),
		listCost: k.counters("callgate_prompt_list_cost_total",
			"What prompts would have cost without a cache, where the price is known.", provider, of, currency),
		cost: k.counters("callgate_prompt_cost_total",
			"What prompts have cost, where the price is known. What is saved is the list cost less this.", provider, of, currency),
	}
}

// countCaches counts what is known of caches without prices.
func (m *Metrics) countCaches(route string, s *gateway.Summary) {
	if d := s.Prefix; d != nil {
		m.caches.choices.at(labels{route, string(d.Reason)}).Inc()
	}
	u := s.Usage
	fresh := "none"
	if !u.CacheReported && !u.WriteReported {
		fresh = "unknown"
	}
	add(m.caches.prompt, labels{s.Provider, s.Model, fresh}, u.Fresh())
	add(m.caches.prompt, labels{s.Provider, s.Model, "read"}, u.CacheRead)
	add(m.caches.prompt, labels{s.Provider, s.Model, "write"}, u.WriteShort+u.WriteLong)
}

// Account counts the bill of a request whose target was a provider's model. Whoever keeps
// the accounts calls it once for each that is over.
func (m *Metrics) Account(provider, model string, a *accounts.Account) {
	l := labels{provider, model}
	add(m.caches.expected, l, a.Expected)
	add(m.caches.missed, l, a.Missed)
	if a.Rated {
		rated := float64(min(a.Usage.Input, telemetry.MaxTokens))
		m.caches.rated.at(l).Add(rated)
		m.caches.billed.at(l).Add(max(0, (1-a.SavedShare)*rated))
	}
	if money := a.Money; money.Currency != "" {
		l := labels{provider, model, strings.ToUpper(money.Currency)}
		m.caches.listCost.at(l).Add(max(0, money.List))
		m.caches.cost.at(l).Add(max(0, money.Cost))
	}
}

// blocks reads what is remembered of targets' caches when somebody looks. The targets are
// those of the configuration.
type blocks struct {
	snapshot func() prefix.Snapshot
	desc     *prometheus.Desc
}

var _ prometheus.Collector = (*blocks)(nil)

func newBlocks(snapshot func() prefix.Snapshot) *blocks {
	return &blocks{snapshot, prometheus.NewDesc("callgate_prefix_blocks",
		"Blocks of prompts that the target is believed to have in its cache.", []string{"provider", "model"}, nil)}
}

// Describe implements prometheus.Collector.
func (b *blocks) Describe(out chan<- *prometheus.Desc) { out <- b.desc }

// Collect implements prometheus.Collector.
func (b *blocks) Collect(out chan<- prometheus.Metric) {
	for _, t := range b.snapshot().Targets {
		provider, model, _ := strings.Cut(t.Target, "/") // a provider's name has no slash
		out <- prometheus.MustNewConstMetric(b.desc, prometheus.GaugeValue, float64(t.Entries),
			telemetry.Text(provider, maxText), telemetry.Text(model, maxText))
	}
}
