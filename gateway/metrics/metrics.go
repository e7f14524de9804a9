// Package metrics counts what the gateway does and shows it to Prometheus.
//
// What happened to a request is taken from its [gateway.Record] when it is over; the
// state of the circuit breakers is read when somebody looks. No label holds a user, a
// key or the name of a tool. Labels that a client or an upstream can choose, such as
// the model's name, have at most 200 values beside those that the configuration names;
// the others are counted as "other".
package metrics

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/answers"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/internal/telemetry"
	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/prefix/share"
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
	// Models are the upstreams' names of the models that the configuration names. They
	// have a label of their own however many names clients invent.
	Models []string
	// AnswerMemory says what the store of answers in memory holds, and AnswerRedis how the one
	// in a Redis does. They are called for every scrape; without one there is no such store.
	AnswerMemory func() answers.MemoryStats
	AnswerRedis  func() answers.SharedStats
	// Log is told of scrapes that fail.
	Log *slog.Logger
}

// Metrics holds the collectors of one gateway, in a registry of its own. It is safe
// for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	log      *slog.Logger

	inFlight prometheus.Gauge
	overhead prometheus.Histogram

	requests, rules        *counters
	duration, firstToken   *histograms
	genDuration, genFirst  *histograms
	attempts, fallbacks    *counters
	attemptTime, retryWait *histograms
	retryAfter             prometheus.Histogram
	transitions            *counters

	calls, faults, repairs, reasks *counters
	warnings, pluginFailures       *counters
	pluginTime                     *histograms
	verdicts, signals, corrections *counters
	roundsStopped, references      *counters
	prefixChanges                  *counters
	rounds                         prometheus.Histogram
	answerCache                    *counters
	tokens                         *counters
	genTokens                      *histograms
	caches                         cacheMetrics
}

// New makes the metrics.
func New(o Options) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), log: o.Log}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if o.Breakers != nil {
		m.registry.MustRegister(newCircuits(o.Breakers))
	}
	if o.Share != nil {
		m.registry.MustRegister(newSharing(o.Share))
	}
	if o.Targets != nil {
		m.registry.MustRegister(newTargets(o.Targets))
	}
	if o.Caches != nil {
		m.registry.MustRegister(newBlocks(o.Caches))
	}
	k := maker{m.registry}
	model, code := newValues(o.Models...), newValues(ok)
	m.requestMetrics(k, model, code)
	m.attemptMetrics(k, code)
	m.toolMetrics(k, model, code)
	m.guardMetrics(k)
	m.caches = newCacheMetrics(k, model)
	m.answerMetrics(k, o)
	m.genMetrics(k, model, code)
	return m
}

// ok is the code of a request, and the outcome of an attempt, that did not fail.
const ok = "ok"

func (m *Metrics) requestMetrics(k maker, model, code *values) {
	route, provider, stream := label{name: "route"}, label{name: "provider"}, label{name: "stream"}
	m.inFlight = k.gauge("callgate_requests_in_flight", "Requests in progress.")
	m.overhead = k.histogram("callgate_overhead_seconds",
		"Time that a request spent in the gateway itself, before and between the upstream's frames.", overheadBuckets())
	m.requests = k.counters("callgate_requests_total",
		"Completed requests, by the error's code, or ok.", route, provider, label{"model", model}, label{"code", code})
	m.rules = k.counters("callgate_route_rules_total",
		"Requests for models with rules, by the number of the rule that they met, or none.", route, label{name: "rule"})
	m.duration = k.histograms("callgate_request_duration_seconds",
		"Time from the request to the end of its answer.", waitBuckets(), route, provider, stream)
	m.firstToken = k.histograms("callgate_time_to_first_token_seconds",
		"Time from the request to the first useful byte of the answer.", waitBuckets(), provider, label{"model", model})
}

func (m *Metrics) attemptMetrics(k maker, code *values) {
	provider := label{name: "provider"}
	m.attempts = k.counters("callgate_upstream_attempts_total",
		"Requests to upstreams, by why they were made and how they ended.", provider, label{name: "reason"}, label{"outcome", code})
	m.attemptTime = k.histograms("callgate_upstream_attempt_duration_seconds",
		"Time that a request to an upstream took.", waitBuckets(), provider)
	m.retryWait = k.histograms("callgate_retry_delay_seconds",
		"Time waited before an attempt.", waitBuckets(), provider)
	m.retryAfter = k.histogram("callgate_retry_after_seconds",
		"Time that upstreams asked to wait (Retry-After).", waitBuckets())
	m.fallbacks = k.counters("callgate_fallbacks_total",
		"Attempts at another target than the one before, by the targets' providers.", label{name: "from"}, label{name: "to"})
	m.transitions = k.counters("callgate_circuit_transitions_total",
		"Changes of a circuit breaker's state.", provider, label{name: "to"})
}

func (m *Metrics) toolMetrics(k maker, model, code *values) {
	open := func(name string) label { return label{name, newValues()} }
	m.calls = k.counters("callgate_tool_calls_total",
		"Tool calls of answers, by how they came: native, or as text.", label{"model", model}, label{name: "outcome"})
	m.faults = k.counters("callgate_tool_faults_total", "Tool calls that were broken.", open("class"))
	m.repairs = k.counters("callgate_tool_repairs_total", "Repairs of tool calls.", open("kind"))
	m.reasks = k.counters("callgate_tool_reask_total",
		"Answers that a model was asked for again because a call was refused.", label{"result", code})
	m.warnings = k.counters("callgate_warnings_total",
		"Warnings, by what stands before their first colon.", open("kind"))
	m.pluginFailures = k.counters("callgate_plugin_failures_total", "Failures of plugins.", open("plugin"), open("reason"))
	m.pluginTime = k.histograms("callgate_plugin_duration_seconds",
		"Time that a parser's plugin worked on a region of text.", overheadBuckets(), open("plugin"))
	m.tokens = k.counters("callgate_tokens_total",
		"Tokens that upstreams report. The cached ones are part of the prompt's.", label{name: "provider"}, label{name: "type"})
}

// genMetrics are those with OpenTelemetry's names, for dashboards that know them.
func (m *Metrics) genMetrics(k maker, model, code *values) {
	attribute := func(name string, v *values) label { return label{telemetry.Prometheus(name), v} }
	operation, provider := attribute(telemetry.OperationName, nil), attribute(telemetry.ProviderName, nil)
	requested := attribute(telemetry.RequestModel, model)
	m.genDuration = k.histograms(telemetry.Prometheus(telemetry.RequestDuration)+"_seconds",
		"Generative AI server request duration.", telemetry.DurationBuckets(),
		operation, provider, requested, attribute(telemetry.Error, code))
	m.genFirst = k.histograms(telemetry.Prometheus(telemetry.TimeToFirstToken)+"_seconds",
		"Time to generate the first token.", telemetry.FirstTokenBuckets(), operation, provider, requested)
	m.genTokens = k.histograms(telemetry.Prometheus(telemetry.TokenUsage),
		"Number of input and output tokens used.", telemetry.TokenBuckets(),
		operation, provider, requested, attribute(telemetry.TokenType, nil))
}

// waitBuckets are the bounds, in seconds, for what a model may take.
func waitBuckets() []float64 {
	return []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600}
}

// overheadBuckets are the bounds, in seconds, for what the gateway may take.
func overheadBuckets() []float64 {
	return []float64{1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1}
}

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

// Plugin notes how long a parser's plugin has worked on a region of text.
func (m *Metrics) Plugin(parser string, d time.Duration) {
	m.pluginTime.at(labels{parser}).Observe(seconds(d))
}

// Transition counts a change of a circuit breaker's state. It is for the OnChange of
// [breaker.Settings].
func (m *Metrics) Transition(c breaker.Change) {
	m.transitions.at(labels{c.Name, string(c.To)}).Inc()
}
