// Package metrics counts what the gateway does and shows it to Prometheus.
//
// What happened to a request is taken from its [gateway.Record] when it is over, by the
// measures of package observe; the state of the circuit breakers, targets and stores is read
// when somebody looks. No label holds a user, a key or the name of a tool, and none a model's name
// that only a client has written: that is counted by the entry of the configuration that it led
// to. Labels that an upstream can choose, such as an error's code, have at most 200 values; the
// others are counted as "other". Of a value of more than 100 bytes a hash stands for what does not fit.
package metrics

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/accounts"
	"github.com/callgate/callgate/gateway/answers"
	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/content"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/observe"
	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/prefix/share"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
	"github.com/callgate/callgate/gateway/quality"
	"github.com/callgate/callgate/gateway/rollout"
	"github.com/callgate/callgate/gateway/socket"
	"github.com/callgate/callgate/gateway/toolserver/catalogue"
)

// Options are what Metrics are made of. All may be left out.
type Options struct {
	// Breakers returns the state of all circuit breakers. It is called for every scrape.
	Breakers func() []breaker.Snapshot
	// Share returns how gateways tell each other what they have learned, nil if they do
	// not. It is called for every scrape.
	Share func() *share.Snapshot
	// Targets returns the state of all targets. It is called for every scrape.
	Targets func() []gateway.TargetState
	// Caches returns what is believed to be in the caches of targets. It is called for every
	// scrape.
	Caches func() prefix.Snapshot
	// Models are the upstreams' names of the models that the configuration names. They have a
	// label of their own; others are counted by the entry that led to them.
	Models []string
	// Limits says what limits have let pass and refused. It may be nil.
	Limits func() limit.Stats
	// Sockets says how many WebSockets are open, and what was refused. It may be nil.
	Sockets func() socket.Stats
	// Stored says what the store of responses and conversations holds. It may be nil.
	Stored func() state.Stats
	// Usage says what became of the rows of usage, and Costs what they add up to. They are called for every
	// scrape; without them there is no ledger.
	Usage func() billing.Stats
	Costs func() []billing.Cost
	// AnswerMemory says what the store of answers in memory holds, and AnswerRedis how the one
	// in a Redis does. They are called for every scrape; without one there is no such store.
	AnswerMemory func() answers.MemoryStats
	AnswerRedis  func() answers.SharedStats
	// Content says how much of what requests say is kept. It may be nil.
	Content func() content.Stats
	// Memory returns what requests in progress have claimed. It is called for every scrape.
	Memory func() inflight.Stats
	// Tools returns how the servers are whose tools the gateway runs. It is called for every
	// scrape.
	Tools func() []catalogue.Status
	// Keys says how the book of keys does. It is called for every scrape.
	Keys func() keys.State
	// Rollouts returns how the arms of rollouts do. It is called for every scrape.
	Rollouts func() []rollout.Snapshot
	// Reloads says how the configuration was read. It is called for every scrape.
	Reloads func() Reloads
	// Quality returns how well targets call tools. It is called for every scrape.
	Quality func() quality.Snapshot
	// Log is told of scrapes that fail.
	Log *slog.Logger
}

// Metrics holds the collectors of one gateway, in a registry of its own. It is safe
// for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	log      *slog.Logger

	models               *values // that the configuration names, and what bounds all others
	inFlight             prometheus.Gauge
	measures             []measure
	plugins, transitions *family
	prompts              prompts
}

// measure is one of package observe's, with its series.
type measure struct {
	scope observe.Scope
	of    func(r *gateway.Record, to observe.Series)
	to    *family
}

// prompts are what prompts have cost. Shares and money are sums to be divided, since a
// quotient of this moment says nothing about a day: saved share = 1 - billed / rated.
type prompts struct {
	expected, missed *family
	rated, billed    *family
	listCost, cost   *family
}

// New makes the metrics.
func New(o Options) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), log: o.Log}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(collectorsOf(o)...)
	m.inFlight = prometheus.NewGauge(prometheus.GaugeOpts{Name: "callgate_requests_in_flight", Help: "Requests in progress."})
	m.registry.MustRegister(m.inFlight)

	m.models = newValues(o.Models...)
	k := maker{m.registry, m.models, newValues(observe.OK)}
	for d := range observe.Measures() {
		m.measures = append(m.measures, measure{d.Scope, d.Of, k.family(d.Name, d.Help, d.Buckets, d.Labels...)})
	}
	provider, model := observe.Label{Name: "provider"}, observe.Label{Name: "model", Bound: observe.Models}
	plugin := observe.Label{Name: "plugin", Bound: observe.Open}
	currency := observe.Label{Name: "currency", Bound: observe.Open} // an operator's file of prices has any number of them
	m.plugins = k.family("callgate_plugin_duration_seconds", "Time that a parser's plugin worked on a region of text.", observe.OverheadBuckets, plugin)
	m.transitions = k.family("callgate_circuit_transitions_total", "Changes of a circuit breaker's state.", nil, provider, observe.Label{Name: "to"})
	m.prompts = prompts{
		expected: k.family("callgate_prefix_expected_tokens_total",
			"Tokens of prompts that should have been in the upstream's cache, where it counts what it reads.", nil, provider, model),
		missed: k.family("callgate_prefix_missed_tokens_total",
			"Those of the expected tokens that were not read from the cache.", nil, provider, model),
		rated: k.family("callgate_prompt_rated_tokens_total",
			"Prompt tokens for which the prices of the cache are known.", nil, provider, model),
		billed: k.family("callgate_prompt_billed_tokens_total",
			"The rated tokens, each weighted by its price relative to an uncached one.", nil, provider, model),
		listCost: k.family("callgate_prompt_list_cost_total",
			"What prompts would have cost without a cache, where the price is known.", nil, provider, model, currency),
		cost: k.family("callgate_prompt_cost_total",
			"What prompts have cost, where the price is known. What is saved is the list cost less this.", nil, provider, model, currency),
	}
	return m
}

// Know has the models of a configuration that was read later labels of their own, by the upstreams'
// names. Those of earlier ones keep theirs: a counter does not go away.
func (m *Metrics) Know(models []string) { m.models.reserve(models...) }

// Collect adds what the options give to what is read for every scrape. It is for what was not
// there at the start, and is called once for each.
func (m *Metrics) Collect(o Options) { m.registry.MustRegister(collectorsOf(o)...) }

// Bounds of one scrape. Prometheus itself gives up after 10 seconds.
const (
	maxScrapes   = 4
	scrapeBudget = 10 * time.Second
)

// Handler serves the metrics in Prometheus's text format or as OpenMetrics, whichever
// is asked for. Whoever mounts it decides who may see them. Of more than 4 scrapes at
// once the others get 503, and so does one that takes over 10 seconds.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry:            m.registry,
		ErrorLog:            slog.NewLogLogger(m.log.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError, // one bad collector must not hide the others
		EnableOpenMetrics:   true,
		MaxRequestsInFlight: maxScrapes,
		Timeout:             scrapeBudget,
	})
}

// Begin counts a request as under way. The HTTP server calls it when a request comes,
// and End when it is over, whatever became of it.
func (m *Metrics) Begin() { m.inFlight.Inc() }

// End takes back what Begin counted.
func (m *Metrics) End() { m.inFlight.Dec() }

// Request counts a request that is over. The HTTP server calls it once for each. It
// keeps nothing of r.
func (m *Metrics) Request(r *gateway.Record) {
	scope := observe.ScopeOf(r)
	r.Model = m.Model(r)
	for i := range m.measures {
		if d := &m.measures[i]; d.scope <= scope {
			d.of(r, d.to)
		}
	}
}

// Model is what a request's model is counted by: its own name if the configuration has it, and
// else the entry that led to it, such as "*" or "local/*". A client can write any name there.
func (m *Metrics) Model(r *gateway.Record) string {
	if r.Summary == nil {
		return ""
	}
	model := label(r.Summary.Model)
	if _, reserved := m.models.has(model); reserved || r.Route == "" {
		return model
	}
	return r.Route
}

// Account counts the bill of a request whose target was a provider's model. Whoever keeps
// the accounts calls it once for each that is over.
func (m *Metrics) Account(provider, model string, a *accounts.Account) {
	l := observe.Labels{provider, model}
	observe.AddCount(m.prompts.expected, l, a.Expected)
	observe.AddCount(m.prompts.missed, l, a.Missed)
	if a.Rated {
		rated := float64(min(a.Usage.Input, observe.MaxTokens))
		m.prompts.rated.Add(l, rated)
		m.prompts.billed.Add(l, max(0, (1-a.SavedShare)*rated))
	}
	if money := a.Money; money.Currency != "" {
		l[2] = strings.ToUpper(money.Currency)
		m.prompts.listCost.Add(l, max(0, money.List))
		m.prompts.cost.Add(l, max(0, money.Cost))
	}
}

// Plugin notes how long a parser's plugin has worked on a region of text.
func (m *Metrics) Plugin(parser string, d time.Duration) {
	m.plugins.Add(observe.Labels{parser}, observe.Seconds(d))
}

// Transition counts a change of a circuit breaker's state. It is for the OnChange of
// [breaker.Settings].
func (m *Metrics) Transition(c breaker.Change) {
	m.transitions.Add(observe.Labels{c.Name, string(c.To)}, 1)
}
