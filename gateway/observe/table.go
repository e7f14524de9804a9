package observe

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/headers"
	"github.com/callgate/callgate/gateway/internal/telemetry"
)

// facts is the table, in the order in which they are said.
var facts = []fact{ //nolint:gochecknoglobals // a table
	{counts: []Measure{
		counter("callgate_requests_total", "Completed requests, by the error's code, or ok.", func(r *gateway.Record, to Series) {
			code := telemetry.ErrorType(r)
			if code == "" {
				code = OK
			}
			provider := ""
			if r.Summary != nil {
				provider = r.Summary.Provider
			}
			to.Add(Labels{r.Route, provider, r.Model, code}, 1)
		}, route, provider, model, Label{"code", Codes}).of(All),
		counter("callgate_client_requests_total", "Completed requests, by the protocol or endpoint that the client speaks.", func(r *gateway.Record, to Series) {
			to.Add(Labels{r.Protocol}, 1)
		}, Label{"protocol", Open}).of(All),
		histogram("callgate_request_duration_seconds", "Time from the request to the end of its answer.", waitBuckets, func(r *gateway.Record, to Series) {
			provider := ""
			if r.Summary != nil {
				provider = r.Summary.Provider
			}
			to.Add(Labels{r.Route, provider, strconv.FormatBool(r.Stream)}, Seconds(r.Took))
		}, route, provider, Label{Name: "stream"}).of(All),
		histogram(telemetry.Prometheus(telemetry.RequestDuration)+"_seconds", "Generative AI server request duration.", genDuration, func(r *gateway.Record, to Series) {
			to.Add(Labels{telemetry.Operation(r.Protocol), r.Summary.Provider, r.Model, telemetry.ErrorType(r)}, Seconds(r.Took))
		}, operation, genName, genModel, Label{telemetry.Prometheus(telemetry.Error), Codes}).of(Answered),
	}},
	{log: "provider", trace: telemetry.ProviderName, empty: true, value: func(s *gateway.Summary) any { return s.Provider }},
	{log: "upstream_model", trace: telemetry.RequestModel, empty: true, value: func(s *gateway.Summary) any { return s.Model }},
	{log: "overhead", trace: "callgate.overhead_ms", value: func(s *gateway.Summary) any { return s.Overhead }, counts: []Measure{
		histogram("callgate_overhead_seconds", "Time that a request spent in the gateway itself, before and between the upstream's frames.", OverheadBuckets, func(r *gateway.Record, to Series) { to.Add(Labels{}, Seconds(r.Summary.Overhead)) }).of(Answered),
	}},
	{member: "calls", value: func(s *gateway.Summary) any { return append([]string{}, s.Called...) }},
	{log: "calls", value: func(s *gateway.Summary) any { return s.Calls + s.Native }},
	{trace: "callgate.tool_calls.text", value: func(s *gateway.Summary) any { return s.Calls }, counts: []Measure{
		counter("callgate_tool_calls_total", "Tool calls of answers, by how they came: native, or as text.", func(r *gateway.Record, to Series) {
			AddCount(to, Labels{r.Model, "native"}, r.Summary.Native)
			AddCount(to, Labels{r.Model, "text"}, r.Summary.Calls)
		}, model, Label{Name: "outcome"}),
	}},
	{trace: "callgate.tool_calls.native", value: func(s *gateway.Summary) any { return s.Native }},
	{member: "calls_retried", value: retriedCalls},
	{member: "attempts", trace: "callgate.attempts", value: func(s *gateway.Summary) any { return len(s.Attempts) }, counts: []Measure{
		counter("callgate_upstream_attempts_total", "Requests to upstreams, by why they were made and how they ended.", func(r *gateway.Record, to Series) {
			for _, a := range r.Summary.Attempts {
				to.Add(Labels{a.Provider, string(a.Reason), a.Outcome}, 1)
			}
		}, provider, Label{Name: "reason"}, Label{"outcome", Codes}),
		histogram("callgate_upstream_attempt_duration_seconds", "Time that a request to an upstream took.", waitBuckets, func(r *gateway.Record, to Series) {
			// What a circuit breaker kept back took no time, and says nothing about the upstream's.
			for _, a := range r.Summary.Attempts {
				addTime(to, Labels{a.Provider}, a.Took)
			}
		}, provider),
		histogram("callgate_retry_delay_seconds", "Time waited before an attempt.", waitBuckets, func(r *gateway.Record, to Series) {
			for _, a := range r.Summary.Attempts {
				addTime(to, Labels{a.Provider}, a.Wait)
			}
		}, provider),
		histogram("callgate_retry_after_seconds", "Time that upstreams asked to wait (Retry-After).", waitBuckets, func(r *gateway.Record, to Series) {
			for _, a := range r.Summary.Attempts {
				addTime(to, Labels{}, a.RetryAfter)
			}
		}),
		counter("callgate_upstream_headers_withheld_total", "Headers of upstreams' answers that clients did not get, by why: connection, site, unknown, secret, type, retry or too_much.", func(r *gateway.Record, to Series) {
			for _, a := range r.Summary.Attempts {
				for class, n := range a.Withheld.Counts {
					AddCount(to, Labels{a.Provider, headers.Class(class).String()}, n)
				}
			}
		}, provider, Label{Name: "class"}),
		counter("callgate_fallbacks_total", "Attempts at another target than the one before, by the targets' providers.", func(r *gateway.Record, to Series) {
			for i, a := range r.Summary.Attempts {
				if a.Reason == gateway.Fallback && i > 0 {
					to.Add(Labels{r.Summary.Attempts[i-1].Provider, a.Provider}, 1)
				}
			}
		}, Label{Name: "from"}, Label{Name: "to"}),
		counter("callgate_tool_reask_total", "Answers that a model was asked for again because a call was refused.", func(r *gateway.Record, to Series) {
			for _, a := range r.Summary.Attempts {
				if a.Reason == gateway.Reask {
					to.Add(Labels{a.Outcome}, 1)
				}
			}
		}, Label{"result", Codes}),
	}},
	{trace: "callgate.fallbacks", value: func(s *gateway.Summary) any { return s.Fallbacks() }},
	{trace: "callgate.retry_delay_ms", value: func(s *gateway.Summary) any { return s.RetryDelay() }},
	{trace: "callgate.changed", value: func(s *gateway.Summary) any { return s.Changed }},
	{log: "attempts", value: ifSeveral(func(s *gateway.Summary) any { return attemptList(s.Attempts) })},
	{log: "retry_delay", value: ifSeveral(func(s *gateway.Summary) any { return s.RetryDelay() })},
	{member: "latency_ms", value: func(s *gateway.Summary) any { return milliseconds(time.Since(s.Requested)) }},
	{log: "first_token", value: ifAny(func(s *gateway.Summary) time.Duration { return s.FirstToken }), counts: []Measure{
		histogram("callgate_time_to_first_token_seconds", "Time from the request to the first useful byte of the answer.", waitBuckets, func(r *gateway.Record, to Series) {
			if s := r.Summary; s.FirstToken > 0 {
				to.Add(Labels{s.Provider, r.Model}, Seconds(s.FirstToken))
			}
		}, provider, model),
		histogram(telemetry.Prometheus(telemetry.TimeToFirstToken)+"_seconds", "Time to generate the first token.", genFirstToken, func(r *gateway.Record, to Series) {
			if s := r.Summary; s.FirstToken > 0 {
				to.Add(Labels{telemetry.Operation(r.Protocol), s.Provider, r.Model}, Seconds(s.FirstToken))
			}
		}, operation, genName, genModel),
	}},
	{trace: telemetry.TimeToFirstChunk, value: ifAny(func(s *gateway.Summary) float64 { return s.FirstToken.Seconds() })},
	{trace: "callgate.headers_withheld", value: withheldNames},
	{member: "first_token_ms", streams: true, value: ifAny(func(s *gateway.Summary) float64 { return milliseconds(s.FirstToken) })},
	{log: "tools_called", value: ifAny(func(s *gateway.Summary) int { return len(s.Called) })},
	{log: "references", value: ifAny(func(s *gateway.Summary) int { return len(s.References) }), counts: []Measure{
		counter("callgate_tool_references_total", "Arguments that referred to an earlier result, by how it was found.", func(r *gateway.Record, to Series) {
			for _, d := range r.Summary.References {
				to.Add(Labels{string(d.How)}, 1)
			}
		}, Label{Name: "how"}),
	}},
	{log: "prompt_tokens", value: ifCached(func(u *gateway.Usage) any { return u.Input }), counts: []Measure{
		counter("callgate_tokens_total", "Tokens that upstreams report. The cached ones are part of the prompt's.", func(r *gateway.Record, to Series) {
			s := r.Summary
			AddCount(to, Labels{s.Provider, "prompt"}, s.Usage.Input)
			AddCount(to, Labels{s.Provider, "completion"}, s.Usage.Output)
			AddCount(to, Labels{s.Provider, "cached"}, s.Usage.CacheRead)
		}, provider, Label{Name: "type"}),
		histogram(telemetry.Prometheus(telemetry.TokenUsage), "Number of input and output tokens used.", []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, MaxTokens}, func(r *gateway.Record, to Series) {
			s := r.Summary
			AddCount(to, Labels{telemetry.Operation(r.Protocol), s.Provider, r.Model, telemetry.Input}, s.Usage.Input)
			AddCount(to, Labels{telemetry.Operation(r.Protocol), s.Provider, r.Model, telemetry.Output}, s.Usage.Output)
		}, operation, genName, genModel, Label{Name: telemetry.Prometheus(telemetry.TokenType)}),
		counter("callgate_prompt_tokens_total", "Tokens of prompts: read from the upstream's cache, written to it, or neither; unknown where the upstream does not count its cache.", func(r *gateway.Record, to Series) {
			s, u := r.Summary, r.Summary.Usage
			fresh := "none"
			if !u.CacheReported && !u.WriteReported {
				fresh = "unknown"
			}
			AddCount(to, Labels{s.Provider, r.Model, fresh}, u.Fresh())
			AddCount(to, Labels{s.Provider, r.Model, "read"}, u.CacheRead)
			AddCount(to, Labels{s.Provider, r.Model, "write"}, u.WriteShort+u.WriteLong)
		}, provider, model, Label{Name: "cache"}),
	}},
	{log: "cached_tokens", value: ifCached(func(u *gateway.Usage) any { return u.CacheRead })},
	{trace: telemetry.InputTokens, value: ifAny(func(s *gateway.Summary) int { return s.Usage.Input })},
	{trace: telemetry.OutputTokens, value: ifAny(func(s *gateway.Summary) int { return s.Usage.Output })},
	{trace: telemetry.CachedTokens, value: ifAny(func(s *gateway.Summary) int { return s.Usage.CacheRead })},
	{header: "X-Callgate-Cache", start: true, late: "cache", value: cacheText, counts: []Measure{
		counter("callgate_answer_cache_total", "Requests where answers are kept: hit, shared with one under way, miss, or bypass.", func(r *gateway.Record, to Series) {
			if outcome := r.Summary.AnswerCache; outcome != "" {
				to.Add(Labels{string(outcome)}, 1)
			}
		}, Label{Name: "outcome"}).of(Answered),
	}},
	{log: "answer_cache", value: func(s *gateway.Summary) any { return string(s.AnswerCache) }},
	{header: "Age", start: true, late: "age", log: "age", value: ageText},
	{header: "X-Callgate-Route", start: true, late: "route", log: "route", value: func(s *gateway.Summary) any { return RouteText(s) }, counts: []Measure{
		counter("callgate_route_rules_total", "Requests for models with rules, by the number of the rule that they met, or none.", func(r *gateway.Record, to Series) {
			c := r.Summary.Route
			if c == nil || !c.HasRules {
				return
			}
			rule := "none"
			if c.Rule > 0 {
				rule = strconv.Itoa(c.Rule)
			}
			to.Add(Labels{c.Route, rule}, 1)
		}, route, Label{Name: "rule"}).of(Answered),
	}},
	{header: "X-Callgate-Arm", start: true, late: "arm", log: "arm", trace: "callgate.arm", value: func(s *gateway.Summary) any { return armText(s) }, counts: []Measure{
		counter("callgate_rollout_requests_total", "Requests of an arm, by how they ended: plain (no call), clean, repaired, reasked or failed; and those that are not compared: canceled, refused, mixed (another arm's target has answered), forced (by the client) or replayed.", func(r *gateway.Record, to Series) {
			if a := r.Summary.Arm(); a != nil {
				to.Add(Labels{a.Rollout.Name(), a.Arm(), r.Turn().Result.String()}, 1)
			}
		}, rolloutName, armName, Label{Name: "result"}).of(Answered),
		counter("callgate_rollout_ghosts_total", "Requests of an arm in which the model claimed an action and called nothing, also where that was put right.", func(r *gateway.Record, to Series) {
			if a := r.Summary.Arm(); a != nil && r.Turn().Ghost {
				to.Add(Labels{a.Rollout.Name(), a.Arm()}, 1)
			}
		}, rolloutName, armName),
		counter("callgate_rollout_loops_total", "Requests of an arm that have reached a limit of the loop guard.", func(r *gateway.Record, to Series) {
			if a := r.Summary.Arm(); a != nil && r.Turn().Loop {
				to.Add(Labels{a.Rollout.Name(), a.Arm()}, 1)
			}
		}, rolloutName, armName),
		counter("callgate_rollout_tool_errors_total", "Calls of an arm's requests that the gateway made itself and that failed.", func(r *gateway.Record, to Series) {
			if a := r.Summary.Arm(); a != nil {
				AddCount(to, Labels{a.Rollout.Name(), a.Arm()}, r.Turn().ToolErrors)
			}
		}, rolloutName, armName),
		histogram("callgate_rollout_time_to_first_token_seconds", "Time from an arm's request to the first useful byte of its answer.", waitBuckets, func(r *gateway.Record, to Series) {
			if a := r.Summary.Arm(); a != nil {
				addTime(to, Labels{a.Rollout.Name(), a.Arm()}, r.Summary.FirstToken)
			}
		}, rolloutName, armName),
	}},
	{header: "X-Callgate-Prefix", start: true, log: "prefix", value: func(s *gateway.Summary) any { return PrefixText(s) }, counts: []Measure{
		counter("callgate_prefix_choices_total", "Answers of routes with routing by prefix, by why their target was asked.", func(r *gateway.Record, to Series) {
			if d := r.Summary.Prefix; d != nil {
				to.Add(Labels{r.Route, string(d.Reason)}, 1)
			}
		}, route, Label{Name: "reason"}),
		counter("callgate_prefix_changed_total", "Requests whose beginning differs from that of the request before, by the first part that differs.", func(r *gateway.Record, to Series) {
			if c := r.Summary.PrefixChange; c != nil {
				to.Add(Labels{r.Route, string(c.Part)}, 1)
			}
		}, route, Label{Name: "part"}),
	}},
	{header: "X-Callgate-Tool-Rounds", start: true, late: "rounds", log: "tool_rounds", value: roundsText, counts: []Measure{
		histogram("callgate_tool_rounds", "Rounds of tools since the user's last message, of requests that have any.", []float64{1, 2, 3, 5, 8, 12, 15, 20, 30, 50, 100}, func(r *gateway.Record, to Series) {
			if rounds := r.Summary.Rounds; rounds != nil {
				to.Add(Labels{}, float64(rounds.Rounds))
			}
		}),
		counter("callgate_tool_loops_total", "Requests that have reached a limit of the loop guard, by the reason.", func(r *gateway.Record, to Series) {
			if rounds := r.Summary.Rounds; rounds != nil && rounds.Stop != "" {
				to.Add(Labels{string(rounds.Stop)}, 1)
			}
		}, Label{Name: "reason"}),
	}},
	{member: "rounds", value: roundsMember},
	{header: "X-Callgate-Tool-Run", end: "tool_run", log: "tool_run", trace: "callgate.tool_run", value: toolRunText, counts: []Measure{
		counter("callgate_tool_runs_total", "Requests whose tools the gateway ran, by why their rounds ended.", func(r *gateway.Record, to Series) {
			if run := r.Summary.ToolRun; run != nil && len(run.Calls) > 0 {
				to.Add(Labels{string(run.Stop)}, 1)
			}
		}, Label{Name: "stop"}),
		histogram("callgate_tool_run_rounds", "How often the model was asked in a request whose tools the gateway ran.", []float64{1, 2, 3, 5, 8, 12, 16, 24, 50, 101}, func(r *gateway.Record, to Series) {
			if run := r.Summary.ToolRun; run != nil && len(run.Calls) > 0 {
				to.Add(Labels{}, float64(run.Rounds))
			}
		}),
		counter("callgate_tool_run_calls_total", "Calls that the gateway made itself, by how they ended: ok, failed where the result says so, or the kind of the error. A name that nobody offers has no server.", func(r *gateway.Record, to Series) {
			if run := r.Summary.ToolRun; run != nil {
				for i := range run.Calls {
					to.Add(Labels{run.Calls[i].Server, run.Calls[i].Outcome}, 1)
				}
			}
		}, Label{Name: "server"}, Label{Name: "outcome"}),
		histogram("callgate_tool_run_call_duration_seconds", "Time that calls took which the gateway made itself, with all attempts.", waitBuckets, func(r *gateway.Record, to Series) {
			if run := r.Summary.ToolRun; run != nil {
				for i := range run.Calls {
					addTime(to, Labels{run.Calls[i].Server}, run.Calls[i].Took)
				}
			}
		}, Label{Name: "server"}),
	}},
	{header: "X-Callgate-Tool-Limits", start: true, trace: "callgate.tool_limits", value: toolLimitsText},
	{member: "tools", value: toolRunMember},
	{header: "X-Callgate-Parser", end: "parser", log: "parser", trace: "callgate.parsers", value: func(s *gateway.Summary) any { return list(s.Parsers) }},
	{end: "calls", value: callsText},
	{header: "X-Callgate-Faults", end: "faults", log: "faults", trace: "callgate.faults", value: func(s *gateway.Summary) any { return s.FaultList() }, counts: []Measure{
		counter("callgate_tool_faults_total", "Tool calls that were broken.", func(r *gateway.Record, to Series) { addEach(to, r.Summary.Faults) }, Label{"class", Open}),
	}},
	{header: "X-Callgate-Repairs", end: "repairs", log: "repairs", trace: "callgate.repairs", value: func(s *gateway.Summary) any { return s.RepairList() }, counts: []Measure{
		counter("callgate_tool_repairs_total", "Repairs of tool calls.", func(r *gateway.Record, to Series) { addEach(to, r.Summary.Repairs) }, Label{"kind", Open}),
	}},
	{header: "X-Callgate-Warnings", start: true, late: "warnings", end: "warnings", log: "warnings", trace: "callgate.warnings", value: func(s *gateway.Summary) any { return list(s.Warnings) }, counts: []Measure{
		counter("callgate_warnings_total", "Warnings, by what stands before their first colon.", func(r *gateway.Record, to Series) {
			for _, w := range r.Summary.Warnings {
				kind, _, _ := strings.Cut(w, ":")
				to.Add(Labels{kind}, 1)
			}
		}, Label{"kind", Open}),
		counter("callgate_plugin_failures_total", "Failures of plugins.", func(r *gateway.Record, to Series) {
			for _, w := range r.Summary.Warnings {
				kind, rest, _ := strings.Cut(w, ":")
				if kind != "plugin" {
					continue
				}
				plugin, reason := rest, "" // "plugin:NAME:reason", and a name may have colons
				if i := strings.LastIndexByte(rest, ':'); i >= 0 {
					plugin, reason = rest[:i], rest[i+1:]
				}
				to.Add(Labels{plugin, reason}, 1)
			}
		}, Label{"plugin", Open}, Label{"reason", Open}),
	}},
	{header: "X-Callgate-Guard", late: "guard", end: "guard", log: "guard", value: func(s *gateway.Summary) any { return guardText(s) }, counts: []Measure{
		counter("callgate_guard_verdicts_total", "Answers that the execution guard has judged, also those that were thrown away: ok, ghost or contradiction.", func(r *gateway.Record, to Series) {
			for v := range verdicts(r.Summary) {
				verdict := OK
				switch {
				case v.Ghost:
					verdict = "ghost"
				case v.Contradiction:
					verdict = "contradiction"
				}
				to.Add(Labels{r.Route, verdict}, 1)
			}
		}, route, Label{Name: "verdict"}),
		counter("callgate_guard_judge_total", "Answers that the guard's judge was asked about, by what it said: ghost, ok, timeout, error or unclear.", func(r *gateway.Record, to Series) {
			for ruling := range Rulings(r.Summary) {
				to.Add(Labels{r.Route, ruling.Verdict()}, 1)
			}
		}, route, Label{Name: "verdict"}),
		counter("callgate_guard_signals_total", "Signals in answers that were found to lack a call, or to contradict a result.", func(r *gateway.Record, to Series) {
			for v := range verdicts(r.Summary) {
				for i := range v.Signals { // not v.For, which allocates
					if s := &v.Signals[i]; (v.Ghost || v.Contradiction) && s.Weight >= 0 {
						to.Add(Labels{s.Name}, 1)
					}
				}
			}
		}, Label{"signal", Open}),
	}},
	{member: "guard", value: guardMember},
	{member: "references", value: referencesMember},
	{header: "X-Callgate-Structured", end: "structured", log: "structured", trace: "callgate.structured", value: func(s *gateway.Summary) any { return structuredText(s) }, counts: []Measure{
		counter("callgate_structured_answers_total", "Answers that were asked to be JSON, by what became of them: ok, repaired, invalid, cut, refused, called (a tool instead) or unchecked.", func(r *gateway.Record, to Series) {
			if o := r.Summary.Structured; o != nil {
				to.Add(Labels{r.Route, string(o.Result)}, 1)
			}
		}, route, Label{Name: "result"}),
	}},
	{member: "structured", value: structuredMember},
	{header: "X-Callgate-Corrections", start: true, late: "corrections", end: "corrections", log: "corrections", value: correctionText, counts: []Measure{
		counter("callgate_tool_corrections_total", "Answers that were thrown away and asked for again, by what was wrong with their calls.", func(r *gateway.Record, to Series) {
			for _, c := range r.Summary.Corrections {
				to.Add(Labels{c.Reason}, 1)
			}
		}, Label{"reason", Open}),
	}},
	{header: "X-Ratelimit-Limit-Requests", start: true, value: rateLimit(requestLimit, limitText)},
	{header: "X-Ratelimit-Remaining-Requests", start: true, value: rateLimit(requestLimit, remainingText)},
	{header: "X-Ratelimit-Reset-Requests", start: true, value: rateLimit(requestLimit, resetText)},
	{header: "X-Ratelimit-Limit-Tokens", start: true, value: rateLimit(tokenLimit, limitText)},
	{header: "X-Ratelimit-Remaining-Tokens", start: true, value: rateLimit(tokenLimit, remainingText)},
	{header: "X-Ratelimit-Reset-Tokens", start: true, value: rateLimit(tokenLimit, resetText)},
	{header: "X-Callgate-Cached-Tokens", value: ifCached(func(u *gateway.Usage) any { return fmt.Sprintf("%d/%d", u.CacheRead, u.Input) })},
	{header: "X-Callgate-Cost", end: "cost", log: "cost", value: func(s *gateway.Summary) any { return costText(s.Spent) }},
	{header: "X-Callgate-Saved", end: "saved", log: "saved", value: func(s *gateway.Summary) any { return savedText(s) }},
}
