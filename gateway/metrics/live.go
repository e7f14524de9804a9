package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/internal/telemetry"
	"github.com/callgate/callgate/gateway/observe"
)

// live is a collector of what is read when somebody looks, so that nothing has to be kept in
// step with it.
type live struct {
	descs map[string]*prometheus.Desc
	read  func(set setter)
}

// setter gives a metric, by its name, a value for some labels.
type setter func(name string, value float64, labels ...string)

var _ prometheus.Collector = (*live)(nil)

// newLive makes a collector of metrics, each a name and its help. One whose name ends in
// _total is a counter, all others are gauges.
func newLive(labels []string, read func(set setter), names ...string) *live {
	l := &live{descs: map[string]*prometheus.Desc{}, read: read}
	for i := 0; i < len(names); i += 2 {
		l.descs[names[i]] = prometheus.NewDesc(names[i], names[i+1], labels, nil)
	}
	return l
}

// Describe implements prometheus.Collector.
func (l *live) Describe(out chan<- *prometheus.Desc) {
	for _, d := range l.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (l *live) Collect(out chan<- prometheus.Metric) {
	l.read(func(name string, value float64, labels ...string) {
		kind := prometheus.GaugeValue
		if strings.HasSuffix(name, "_total") {
			kind = prometheus.CounterValue
		}
		for i := range labels {
			labels[i] = telemetry.Text(labels[i], maxText)
		}
		out <- prometheus.MustNewConstMetric(l.descs[name], kind, value, labels...)
	})
}

// collected are the collectors of what the options give.
type collected []prometheus.Collector

func (c *collected) add(given bool, labels []string, read func(set setter), names ...string) {
	if given {
		*c = append(*c, newLive(labels, read, names...))
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
			set("callgate_circuit_state", state, s.Name)
			set("callgate_circuit_failure_rate", s.FailureRate, s.Name)
			set("callgate_circuit_rejection_rate", s.RejectionRate, s.Name)
			set("callgate_circuit_requests_total", float64(s.Totals.Requests), s.Name)
			set("callgate_circuit_failures_total", float64(s.Totals.Failures), s.Name)
			set("callgate_circuit_successes_total", float64(s.Totals.Successes), s.Name)
			set("callgate_circuit_rejections_total", float64(s.Totals.Rejections), s.Name)
			set("callgate_circuit_excluded_total", float64(s.Totals.Excluded), s.Name)
		}
	},
		"callgate_circuit_state", "State of the circuit breaker: 0 closed, 1 half-open, 2 open.",
		"callgate_circuit_failure_rate", "Share of failures in failures and successes since the start, 0 to 1.",
		"callgate_circuit_rejection_rate", "Share of requests that the circuit breaker rejected since the start, 0 to 1.",
		"callgate_circuit_requests_total", "Requests that the circuit breaker let through.",
		"callgate_circuit_failures_total", "Requests that failed.",
		"callgate_circuit_successes_total", "Requests that were answered to the end.",
		"callgate_circuit_rejections_total", "Requests that the circuit breaker rejected.",
		"callgate_circuit_excluded_total", "Requests whose end says nothing about the provider's health.")
}

func (c *collected) targets(o Options) {
	target := []string{"provider", "model"}
	c.add(o.Targets != nil, target, func(set setter) {
		for _, s := range o.Targets() { // one without recent answers has no latency
			set("callgate_target_running", float64(s.Running), s.Provider, s.Model)
			if s.FirstToken > 0 {
				set("callgate_target_latency_seconds", s.FirstToken, s.Provider, s.Model)
			}
		}
	},
		"callgate_target_running", "Requests in progress at a target; the model * stands for all that the configuration does not name.",
		"callgate_target_latency_seconds", "Time to the first useful byte of recent answers, a mean in which those of two minutes ago count for a third.")
	c.add(o.Caches != nil, target, func(set setter) {
		for _, t := range o.Caches().Targets {
			provider, model, _ := strings.Cut(t.Target, "/") // a provider's name has no slash
			set("callgate_prefix_blocks", float64(t.Entries), provider, model)
		}
	}, "callgate_prefix_blocks", "Blocks of prompts that the target is believed to have in its cache.")
}

func (c *collected) sharing(o Options) {
	c.add(o.Share != nil, nil, func(set setter) {
		if s := o.Share(); s != nil {
			set("callgate_share_up", number(s.Up))
			set("callgate_share_lag_seconds", s.Lag)
		}
	},
		"callgate_share_up", "Whether gateways could tell each other what they have learned, last time: 1 or 0.",
		"callgate_share_lag_seconds", "Age of the oldest batch of the last read.")
	c.add(o.Share != nil, []string{"direction", "outcome"}, func(set setter) {
		const batches = "callgate_share_batches_total"
		if s := o.Share(); s != nil {
			set(batches, float64(s.Pushed.OK), "push", observe.OK)
			set(batches, float64(s.Pushed.Failed), "push", "failed")
			set(batches, float64(s.Pulled.OK), "pull", observe.OK)
			set(batches, float64(s.Pulled.Foreign), "pull", "foreign")
			set(batches, float64(s.Pulled.Version), "pull", "version")
			set(batches, float64(s.Pulled.Failed), "pull", "failed")
		}
	}, "callgate_share_batches_total",
		"Batches of what gateways have learned, by push or pull and what became of them: ok, failed, foreign (of a gateway with another salt) or version.")
}

func (c *collected) answers(o Options) {
	c.add(o.AnswerMemory != nil, nil, func(set setter) {
		s := o.AnswerMemory()
		set("callgate_answer_cache_bytes", float64(s.Bytes))
		set("callgate_answer_cache_entries", float64(s.Entries))
		set("callgate_answer_cache_evicted_total", float64(s.Evicted))
	},
		"callgate_answer_cache_bytes", "Bytes of the answers in memory.",
		"callgate_answer_cache_entries", "Answers in memory.",
		"callgate_answer_cache_evicted_total", "Answers in memory that made room for others before they expired.")
	c.add(o.AnswerRedis != nil, nil, func(set setter) {
		s := o.AnswerRedis()
		set("callgate_answer_cache_redis_up", number(!s.Away))
		set("callgate_answer_cache_redis_failures_total", float64(s.Failures))
		set("callgate_answer_cache_redis_spared_total", float64(s.Spared))
		set("callgate_answer_cache_redis_foreign_total", float64(s.Foreign))
	},
		"callgate_answer_cache_redis_up", "Whether the last call for an answer in Redis was answered in time.",
		"callgate_answer_cache_redis_failures_total", "Calls for answers in Redis that failed or took too long.",
		"callgate_answer_cache_redis_spared_total", "Calls for answers in Redis that were skipped because earlier ones had failed.",
		"callgate_answer_cache_redis_foreign_total", "Values in Redis that this gateway did not write, or that were changed.")
}

func (c *collected) stored(o Options) {
	c.add(o.Sockets != nil, nil, func(set setter) { set("callgate_websockets", float64(o.Sockets().Open)) },
		"callgate_websockets", "WebSockets of clients that are open.")
	c.add(o.Sockets != nil, []string{"code"}, func(set setter) {
		for code, n := range o.Sockets().Refused {
			set("callgate_websocket_refusals_total", float64(n), code)
		}
	}, "callgate_websocket_refusals_total",
		"WebSockets and messages over them that were refused before anything was asked, by error code; dropped are those whose connection had ended.")
	c.add(o.Stored != nil, nil, func(set setter) {
		s := o.Stored()
		set("callgate_store_bytes", float64(s.Bytes))
		set("callgate_store_entries", float64(s.Entries))
		set("callgate_store_evicted_total", float64(s.Evicted))
		set("callgate_background_responses", float64(s.Background))
	},
		"callgate_store_bytes", "Bytes of the responses and conversations that are stored.",
		"callgate_store_entries", "Responses and conversations that are stored.",
		"callgate_store_evicted_total", "Responses that this gateway has deleted to make room before they expired.",
		"callgate_background_responses", "Responses that wait or run in the background of this gateway.")
}

func (c *collected) usage(o Options) {
	c.add(o.Usage != nil, nil, func(set setter) {
		s := o.Usage()
		set("callgate_usage_rows_total", float64(s.Recorded))
		set("callgate_usage_rows_written_total", float64(s.Written))
		set("callgate_usage_rows_known_total", float64(s.Known))
		set("callgate_usage_rows_late_total", float64(s.Late))
		set("callgate_usage_rows_dropped_total", float64(s.Dropped))
		set("callgate_usage_rows_estimated_total", float64(s.Estimated))
		set("callgate_usage_rows_unpriced_total", float64(s.Unpriced))
		set("callgate_usage_rows_unfinished_total", float64(s.Unfinished))
		set("callgate_usage_rows_queued", float64(s.Queued))
		set("callgate_usage_queue_bytes", float64(s.QueuedBytes))
		set("callgate_usage_journal_errors_total", float64(s.JournalErrors))
		set("callgate_usage_ledger_errors_total", float64(s.LedgerErrors))
		set("callgate_usage_ledger_up", number(!s.Away))
	},
		"callgate_usage_rows_total", "Rows of usage: one for each answer of an upstream.",
		"callgate_usage_rows_written_total", "Rows that the ledger has taken.",
		"callgate_usage_rows_known_total", "Rows that the ledger had already: they count once.",
		"callgate_usage_rows_late_total", "Rows that are older than what the ledger keeps, and not in it.",
		"callgate_usage_rows_dropped_total", "Rows that are lost but for their line in the log.",
		"callgate_usage_rows_estimated_total", "Rows whose usage the upstream has not reported.",
		"callgate_usage_rows_unpriced_total", "Rows whose price is not known.",
		"callgate_usage_rows_unfinished_total", "Rows made at the start of answers that a process had begun which was killed: estimates.",
		"callgate_usage_rows_queued", "Rows that wait for the ledger.",
		"callgate_usage_queue_bytes", "Bytes of the rows that wait for the ledger.",
		"callgate_usage_journal_errors_total", "Times that the journal of rows could not be written.",
		"callgate_usage_ledger_errors_total", "Times that the ledger did not take rows.",
		"callgate_usage_ledger_up", "Whether the ledger took rows the last time: 1 or 0.")
	c.add(o.Costs != nil, []string{"team", "model"}, func(set setter) {
		for _, cost := range o.Costs() {
			set("callgate_usage_cost_usd_total", float64(cost.Nano)/1e9, cost.Team, cost.Model)
		}
	}, "callgate_usage_cost_usd_total", "What answers have cost in US dollars, where the price is known, by the team and the upstream's model.")
}

func (c *collected) limits(o Options) {
	c.add(o.Limits != nil, []string{"scope", "kind", "outcome"}, func(set setter) {
		const decided = "callgate_limit_requests_total"
		for _, f := range o.Limits().Figures {
			set(decided, float64(f.Admitted), f.Of, f.Kind, "admitted")
			set(decided, float64(f.Refused), f.Of, f.Kind, "refused")
		}
	}, "callgate_limit_requests_total", "Requests that limits have let pass, and refused, by the scope of the limit (key, team, model, and key_model and team_model for some models of those; all without keys) and what it counts: requests, tokens, concurrency, usd or token_budget.")
	c.add(o.Limits != nil, []string{"scope", "name", "models", "kind", "window"}, func(set setter) {
		for _, b := range o.Limits().Budgets {
			set("callgate_budget_used_ratio", b.Share(), b.Scope.Of, b.Scope.Name, b.Scope.Models, b.Kind, string(b.Window))
		}
	}, "callgate_budget_used_ratio", "How much of a budget is spent and held, as this gateway's last request found it; 1 is all of it. At most 500 budgets.")
	c.add(o.Limits != nil, nil, func(set setter) {
		s := o.Limits()
		set("callgate_limit_holds", float64(s.Running))
		set("callgate_limit_cut_total", float64(s.Cut))
		set("callgate_limit_away_total", float64(s.Away))
		if r := s.Redis; r != nil {
			set("callgate_limit_redis_up", number(r.Up))
			set("callgate_limit_gateways", float64(r.Replicas))
			set("callgate_limit_journal", float64(r.Journal))
			set("callgate_limit_lost_total", float64(r.Lost))
			set("callgate_limit_unsure_total", float64(r.Unsure))
		}
	},
		"callgate_limit_holds", "Requests in progress that hold some of their limits.",
		"callgate_limit_cut_total", "Answers that were cut because a budget ended (on_exceed: cut).",
		"callgate_limit_away_total", "Times that limits could not be looked at, because the Redis was away.",
		"callgate_limit_redis_up", "Whether the Redis that limits are counted in is there: 1 or 0.",
		"callgate_limit_gateways", "Gateways that count in the Redis, as of when it was last there.",
		"callgate_limit_journal", "Requests that are to be settled when the Redis is back.",
		"callgate_limit_lost_total", "Requests that could not be settled, because too many waited for the Redis.",
		"callgate_limit_unsure_total", "Requests whose end the Redis was told again after half an hour without an answer: what they used may count twice.")
}

func (c *collected) content(o Options) {
	c.add(o.Content != nil, nil, func(set setter) {
		s := o.Content()
		set("callgate_content_requests", float64(s.Requests))
		set("callgate_content_bytes", float64(s.Bytes))
		set("callgate_content_short_total", float64(s.Short))
	},
		"callgate_content_requests", "Requests whose text is kept for operators (admin.content).",
		"callgate_content_bytes", "Bytes of it, with that of requests in progress.",
		"callgate_content_short_total", "Requests whose text is kept in part, since there was no memory for all of it.")
}

func (c *collected) memory(o Options) {
	c.add(o.Memory != nil, nil, func(set setter) {
		s := o.Memory()
		set("callgate_memory_limit_bytes", float64(s.Limit))
		set("callgate_memory_claimed_bytes", float64(s.Taken))
		set("callgate_memory_refused_total", float64(s.Refused))
	},
		"callgate_memory_limit_bytes", "Memory for all requests in progress (limits.memory).",
		"callgate_memory_claimed_bytes", "Memory that requests in progress have claimed for their bodies and for answers that are held.",
		"callgate_memory_refused_total", "Claims of memory that were refused, because all was taken or one request wanted more than its share.")
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
			set("callgate_tool_server_up", number(s.Up), s.Name)
			set("callgate_tool_server_tools", float64(len(s.Tools)-held), s.Name)
			set("callgate_tool_server_quarantined", float64(held), s.Name)
			set("callgate_tool_server_missing", float64(len(s.Missing)), s.Name)
			set("callgate_tool_server_running", float64(s.Running), s.Name)
			set("callgate_tool_server_calls_total", float64(s.Calls), s.Name)
			set("callgate_tool_server_p95_seconds", s.P95.Seconds(), s.Name)
		}
	},
		"callgate_tool_server_up", "Whether the list of the server's tools is known and not too old.",
		"callgate_tool_server_tools", "Tools of the server that are offered.",
		"callgate_tool_server_quarantined", "Tools of the server that have changed, or are new, since its tools were pinned.",
		"callgate_tool_server_missing", "Tools of the server that are configured and not offered, those in quarantine among them; 1 if it is away.",
		"callgate_tool_server_running", "Calls of the server in progress.",
		"callgate_tool_server_calls_total", "Calls that the server was sent.",
		"callgate_tool_server_p95_seconds", "Time that 95 of 100 of the server's last 256 calls took at most; 0 without any.")
	c.add(o.Tools != nil, []string{"server", "type"}, func(set setter) {
		for _, s := range o.Tools() {
			for kind, n := range s.Errors {
				set("callgate_tool_server_errors_total", float64(n), s.Name, string(kind))
			}
		}
	}, "callgate_tool_server_errors_total", "Calls of the server without a result, by the type of the error.")
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
				set("callgate_rollout_weight", a.Live/100, r.Name, a.Name)
				set("callgate_rollout_stopped", number(a.Stopped != nil), r.Name, a.Name)
				set("callgate_rollout_stops_total", float64(a.Stops), r.Name, a.Name)
				set("callgate_rollout_cost_usd_total", a.CostUSD, r.Name, a.Name)
			}
		}
	},
		"callgate_rollout_weight", "Share of the units that the arm has now, 0 to 1.",
		"callgate_rollout_stopped", "Whether the arm is stopped, so that its units get the control: 1 or 0.",
		"callgate_rollout_stops_total", "How often the arm was stopped, by its figures or the operator.",
		"callgate_rollout_cost_usd_total", "What the arm's requests have cost whose prices are known, since the figures began.")
	c.add(o.Rollouts != nil, []string{"rollout", "result"}, func(set setter) {
		for _, r := range o.Rollouts() {
			const mirrors = "callgate_rollout_mirrors_total"
			set(mirrors, float64(r.MirrorQueue.Taken), r.Name, "taken")
			set(mirrors, float64(r.MirrorQueue.Dropped), r.Name, "dropped")
			set(mirrors, float64(r.Pairs.Failed), r.Name, "failed")
			set(mirrors, float64(r.Pairs.Pairs), r.Name, "compared")
			set(mirrors, float64(r.Pairs.SameTools), r.Name, "same_tools")
			set(mirrors, float64(r.Pairs.SameArguments), r.Name, "same_arguments")
		}
	}, "callgate_rollout_mirrors_total",
		"Copies of requests for an arm: taken by the queue or dropped; of those taken failed or compared, and of the latter the same tools and the same arguments as the live answer.")
	c.add(o.Rollouts != nil, []string{"rollout", "kind"}, func(set setter) {
		for _, r := range o.Rollouts() {
			set("callgate_rollout_shadow_total", float64(r.ShadowQueue.Dropped), r.Name, "dropped")
			for kind, n := range r.Diffs.Kinds {
				set("callgate_rollout_shadow_total", float64(n), r.Name, kind)
			}
		}
	}, "callgate_rollout_shadow_total",
		"Texts that another parser has read too, by how that differs from the live reading (same: not at all), and those dropped since the queue was full.")
}
