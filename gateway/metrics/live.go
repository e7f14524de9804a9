package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/observe"
)

// live is a collector of what is read when somebody looks, so that nothing has to be kept in
// step with it.
type live struct {
	labels []string
	read   func(set setter)
}

// setter gives a metric, by its name and its help, a value for some labels. One whose name ends in
// _total is a counter, all others are gauges.
type setter func(name, help string, value float64, labels ...string)

var _ prometheus.Collector = (*live)(nil)

// Describe implements prometheus.Collector: which metrics there are is known when they are read.
func (l *live) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (l *live) Collect(out chan<- prometheus.Metric) {
	l.read(func(name, help string, value float64, labels ...string) {
		kind := prometheus.GaugeValue
		if strings.HasSuffix(name, "_total") {
			kind = prometheus.CounterValue
		}
		for i := range labels {
			labels[i] = label(labels[i])
		}
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, l.labels, nil), kind, value, labels...)
	})
}

// collected are the collectors of what the options give.
type collected []prometheus.Collector

// add adds a collector, if what it reads is given.
func (c *collected) add(given bool, labels []string, read func(set setter)) {
	if given {
		*c = append(*c, &live{labels, read})
	}
}

func collectorsOf(o Options) []prometheus.Collector {
	var c collected
	c.breakers(o)
	c.targets(o)
	c.sharing(o)
	c.answers(o)
	c.stored(o)
	c.usage(o)
	c.limits(o)
	c.memory(o)
	c.content(o)
	c.tools(o)
	c.keys(o)
	c.rollouts(o)
	c.quality(o)
	c.reloads(o)
	return c
}

func (c *collected) breakers(o Options) {
	c.add(o.Breakers != nil, []string{"provider"}, func(set setter) {
		states := map[breaker.State]float64{breaker.Closed: 0, breaker.HalfOpen: 1}
		for _, s := range o.Breakers() {
			state, known := states[s.State]
			if !known {
				state = 2
			}
			set("callgate_circuit_state", "State of the circuit breaker: 0 closed, 1 half-open, 2 open.", state, s.Name)
			set("callgate_circuit_failure_rate", "Share of failures in failures and successes since the start, 0 to 1.",
				s.FailureRate, s.Name)
			set("callgate_circuit_rejection_rate", "Share of requests that the circuit breaker rejected since the start, 0 to 1.",
				s.RejectionRate, s.Name)
			set("callgate_circuit_requests_total", "Requests that the circuit breaker let through.", float64(s.Totals.Requests), s.Name)
			set("callgate_circuit_failures_total", "Requests that failed.", float64(s.Totals.Failures), s.Name)
			set("callgate_circuit_successes_total", "Requests that were answered to the end.", float64(s.Totals.Successes), s.Name)
			set("callgate_circuit_rejections_total", "Requests that the circuit breaker rejected.", float64(s.Totals.Rejections), s.Name)
			set("callgate_circuit_excluded_total", "Requests whose end says nothing about the provider's health.",
				float64(s.Totals.Excluded), s.Name)
		}
	})
}

func (c *collected) targets(o Options) {
	target := []string{"provider", "model"}
	c.add(o.Targets != nil, target, func(set setter) {
		for _, s := range o.Targets() { // one without recent answers has no latency
			set("callgate_target_running", "Requests in progress at a target; the model * stands for all that the configuration does not name.",
				float64(s.Running), s.Provider, s.Model)
			if s.FirstToken > 0 {
				set("callgate_target_latency_seconds", "Time to the first useful byte of recent answers, a mean in which those of two minutes ago count for a third.",
					s.FirstToken, s.Provider, s.Model)
			}
		}
	})
	c.add(o.Caches != nil, target, func(set setter) {
		for _, t := range o.Caches().Targets {
			provider, model, _ := strings.Cut(t.Target, "/") // a provider's name has no slash
			set("callgate_prefix_blocks", "Blocks of prompts that the target is believed to have in its cache.",
				float64(t.Entries), provider, model)
		}
	})
}

func (c *collected) sharing(o Options) {
	c.add(o.Share != nil, nil, func(set setter) {
		if s := o.Share(); s != nil {
			set("callgate_share_up", "Whether gateways could tell each other what they have learned, last time: 1 or 0.", number(s.Up))
			set("callgate_share_lag_seconds", "Age of the oldest batch of the last read.", s.Lag)
		}
	})
	c.add(o.Share != nil, []string{"direction", "outcome"}, func(set setter) {
		batches := func(n uint64, labels ...string) {
			set("callgate_share_batches_total", "Batches of what gateways have learned, by push or pull and what became of them: ok, failed, foreign (of a gateway with another salt) or version.",
				float64(n), labels...)
		}
		if s := o.Share(); s != nil {
			batches(s.Pushed.OK, "push", observe.OK)
			batches(s.Pushed.Failed, "push", "failed")
			batches(s.Pulled.OK, "pull", observe.OK)
			batches(s.Pulled.Foreign, "pull", "foreign")
			batches(s.Pulled.Version, "pull", "version")
			batches(s.Pulled.Failed, "pull", "failed")
		}
	})
}

func (c *collected) answers(o Options) {
	c.add(o.AnswerMemory != nil, nil, func(set setter) {
		s := o.AnswerMemory()
		set("callgate_answer_cache_bytes", "Bytes of the answers in memory.", float64(s.Bytes))
		set("callgate_answer_cache_entries", "Answers in memory.", float64(s.Entries))
		set("callgate_answer_cache_evicted_total", "Answers in memory that made room for others before they expired.", float64(s.Evicted))
	})
	c.add(o.AnswerRedis != nil, nil, func(set setter) {
		s := o.AnswerRedis()
		set("callgate_answer_cache_redis_up", "Whether the last call for an answer in Redis was answered in time.", number(!s.Away))
		set("callgate_answer_cache_redis_failures_total", "Calls for answers in Redis that failed or took too long.", float64(s.Failures))
		set("callgate_answer_cache_redis_spared_total", "Calls for answers in Redis that were skipped because earlier ones had failed.",
			float64(s.Spared))
		set("callgate_answer_cache_redis_foreign_total", "Values in Redis that this gateway did not write, or that were changed.",
			float64(s.Foreign))
	})
}

func (c *collected) stored(o Options) {
	c.add(o.Sockets != nil, nil, func(set setter) {
		set("callgate_websockets", "WebSockets of clients that are open.", float64(o.Sockets().Open))
	})
	c.add(o.Sockets != nil, []string{"code"}, func(set setter) {
		for code, n := range o.Sockets().Refused {
			set("callgate_websocket_refusals_total", "WebSockets and messages over them that were refused before anything was asked, by error code; dropped are those whose connection had ended.",
				float64(n), code)
		}
	})
	c.add(o.Stored != nil, nil, func(set setter) {
		s := o.Stored()
		set("callgate_store_bytes", "Bytes of the responses and conversations that are stored.", float64(s.Bytes))
		set("callgate_store_entries", "Responses and conversations that are stored.", float64(s.Entries))
		set("callgate_store_evicted_total", "Responses that this gateway has deleted to make room before they expired.", float64(s.Evicted))
		set("callgate_background_responses", "Responses that wait or run in the background of this gateway.", float64(s.Background))
	})
}

func (c *collected) usage(o Options) {
	c.add(o.Usage != nil, nil, func(set setter) {
		s := o.Usage()
		set("callgate_usage_rows_total", "Rows of usage: one for each answer of an upstream.", float64(s.Recorded))
		set("callgate_usage_rows_written_total", "Rows that the ledger has taken.", float64(s.Written))
		set("callgate_usage_rows_known_total", "Rows that the ledger had already: they count once.", float64(s.Known))
		set("callgate_usage_rows_late_total", "Rows that are older than what the ledger keeps, and not in it.", float64(s.Late))
		set("callgate_usage_rows_dropped_total", "Rows that are lost but for their line in the log.", float64(s.Dropped))
		set("callgate_usage_rows_estimated_total", "Rows whose usage the upstream has not reported.", float64(s.Estimated))
		set("callgate_usage_rows_unpriced_total", "Rows whose price is not known.", float64(s.Unpriced))
		set("callgate_usage_rows_unfinished_total", "Rows made at the start of answers that a process had begun which was killed: estimates.",
			float64(s.Unfinished))
		set("callgate_usage_rows_queued", "Rows that wait for the ledger.", float64(s.Queued))
		set("callgate_usage_queue_bytes", "Bytes of the rows that wait for the ledger.", float64(s.QueuedBytes))
		set("callgate_usage_journal_errors_total", "Times that the journal of rows could not be written.", float64(s.JournalErrors))
		set("callgate_usage_ledger_errors_total", "Times that the ledger did not take rows.", float64(s.LedgerErrors))
		set("callgate_usage_ledger_up", "Whether the ledger took rows the last time: 1 or 0.", number(!s.Away))
	})
	c.add(o.Costs != nil, []string{"team", "model"}, func(set setter) {
		for _, cost := range o.Costs() {
			set("callgate_usage_cost_usd_total", "What answers have cost in US dollars, where the price is known, by the team and the upstream's model.",
				float64(cost.Nano)/1e9, cost.Team, cost.Model)
		}
	})
}

func (c *collected) limits(o Options) {
	c.add(o.Limits != nil, []string{"scope", "kind", "outcome"}, func(set setter) {
		decided := func(n int64, labels ...string) {
			set("callgate_limit_requests_total", "Requests that limits have let pass, and refused, by the scope of the limit (key, team, model, and key_model and team_model for some models of those; all without keys) and what it counts: requests, tokens, concurrency, usd or token_budget.",
				float64(n), labels...)
		}
		for _, f := range o.Limits().Figures {
			decided(f.Admitted, f.Of, f.Kind, "admitted")
			decided(f.Refused, f.Of, f.Kind, "refused")
		}
	})
	c.add(o.Limits != nil, []string{"scope", "name", "models", "kind", "window"}, func(set setter) {
		for _, b := range o.Limits().Budgets {
			set("callgate_budget_used_ratio", "How much of a budget is spent and held, as this gateway's last request found it; 1 is all of it. At most 500 budgets.",
				b.Share(), b.Scope.Of, b.Scope.Name, b.Scope.Models, b.Kind, string(b.Window))
		}
	})
	c.add(o.Limits != nil, nil, func(set setter) {
		s := o.Limits()
		set("callgate_limit_holds", "Requests in progress that hold some of their limits.", float64(s.Running))
		set("callgate_limit_cut_total", "Answers that were cut because a budget ended (on_exceed: cut).", float64(s.Cut))
		set("callgate_limit_away_total", "Times that limits could not be looked at, because the Redis was away.", float64(s.Away))
		if r := s.Redis; r != nil {
			set("callgate_limit_redis_up", "Whether the Redis that limits are counted in is there: 1 or 0.", number(r.Up))
			set("callgate_limit_gateways", "Gateways that count in the Redis, as of when it was last there.", float64(r.Replicas))
			set("callgate_limit_journal", "Requests that are to be settled when the Redis is back.", float64(r.Journal))
			set("callgate_limit_lost_total", "Requests that could not be settled, because too many waited for the Redis.", float64(r.Lost))
			set("callgate_limit_unsure_total", "Requests whose end the Redis was told again after half an hour without an answer: what they used may count twice.",
				float64(r.Unsure))
		}
	})
}

func (c *collected) content(o Options) {
	c.add(o.Content != nil, nil, func(set setter) {
		s := o.Content()
		set("callgate_content_requests", "Requests whose text is kept for operators (admin.content).", float64(s.Requests))
		set("callgate_content_bytes", "Bytes of it, with that of requests in progress.", float64(s.Bytes))
		set("callgate_content_short_total", "Requests whose text is kept in part, since there was no memory for all of it.",
			float64(s.Short))
	})
}

func (c *collected) memory(o Options) {
	c.add(o.Memory != nil, nil, func(set setter) {
		s := o.Memory()
		set("callgate_memory_limit_bytes", "Memory for all requests in progress (limits.memory).", float64(s.Limit))
		set("callgate_memory_claimed_bytes", "Memory that requests in progress have claimed for their bodies and for answers that are held.",
			float64(s.Taken))
		set("callgate_memory_refused_total", "Claims of memory that were refused, because all was taken or one request wanted more than its share.",
			float64(s.Refused))
	})
}

func (c *collected) tools(o Options) {
	server := []string{"server"}
	c.add(o.Tools != nil, server, func(set setter) {
		for _, s := range o.Tools() {
			held := 0
			for _, t := range s.Tools {
				if t.Quarantine != "" {
					held++
				}
			}
			set("callgate_tool_server_up", "Whether the list of the server's tools is known and not too old.", number(s.Up), s.Name)
			set("callgate_tool_server_tools", "Tools of the server that are offered.", float64(len(s.Tools)-held), s.Name)
			set("callgate_tool_server_quarantined", "Tools of the server that have changed, or are new, since its tools were pinned.",
				float64(held), s.Name)
			set("callgate_tool_server_missing", "Tools of the server that are configured and not offered, those in quarantine among them; 1 if it is away.",
				float64(len(s.Missing)), s.Name)
			set("callgate_tool_server_running", "Calls of the server in progress.", float64(s.Running), s.Name)
			set("callgate_tool_server_calls_total", "Calls that the server was sent.", float64(s.Calls), s.Name)
			set("callgate_tool_server_p95_seconds", "Time that 95 of 100 of the server's last 256 calls took at most; 0 without any.",
				s.P95.Seconds(), s.Name)
		}
	})
	c.add(o.Tools != nil, []string{"server", "type"}, func(set setter) {
		for _, s := range o.Tools() {
			for kind, n := range s.Errors {
				set("callgate_tool_server_errors_total", "Calls of the server without a result, by the type of the error.",
					float64(n), s.Name, string(kind))
			}
		}
	})
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (c *collected) rollouts(o Options) {
	c.add(o.Rollouts != nil, []string{"rollout", "arm"}, func(set setter) {
		for _, r := range o.Rollouts() {
			for _, a := range r.Arms {
				set("callgate_rollout_weight", "Share of the units that the arm has now, 0 to 1.", a.Live/100, r.Name, a.Name)
				set("callgate_rollout_stopped", "Whether the arm is stopped, so that its units get the control: 1 or 0.",
					number(a.Stopped != nil), r.Name, a.Name)
				set("callgate_rollout_stops_total", "How often the arm was stopped, by its figures or the operator.",
					float64(a.Stops), r.Name, a.Name)
				set("callgate_rollout_cost_usd_total", "What the arm's requests have cost whose prices are known, since the figures began.",
					a.CostUSD, r.Name, a.Name)
			}
		}
	})
	c.add(o.Rollouts != nil, []string{"rollout", "result"}, func(set setter) {
		for _, r := range o.Rollouts() {
			mirrors := func(n int64, result string) {
				set("callgate_rollout_mirrors_total", "Copies of requests for an arm: taken by the queue or dropped; of those taken failed or compared, and of the latter the same tools and the same arguments as the live answer.",
					float64(n), r.Name, result)
			}
			mirrors(r.MirrorQueue.Taken, "taken")
			mirrors(r.MirrorQueue.Dropped, "dropped")
			mirrors(int64(r.Pairs.Failed), "failed")
			mirrors(int64(r.Pairs.Pairs), "compared")
			mirrors(int64(r.Pairs.SameTools), "same_tools")
			mirrors(int64(r.Pairs.SameArguments), "same_arguments")
		}
	})
	c.add(o.Rollouts != nil, []string{"rollout", "kind"}, func(set setter) {
		for _, r := range o.Rollouts() {
			texts := func(n float64, kind string) {
				set("callgate_rollout_shadow_total", "Texts that another parser has read too, by how that differs from the live reading (same: not at all), and those dropped since the queue was full.",
					n, r.Name, kind)
			}
			texts(float64(r.ShadowQueue.Dropped), "dropped")
			for kind, n := range r.Diffs.Kinds {
				texts(float64(n), kind)
			}
		}
	})
}
