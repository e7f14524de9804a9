package metrics_test

import (
	"bytes"
	"flag"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/accounts"
	"github.com/callgate/callgate/gateway/answers"
	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/loop"
	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/metrics"
	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/prefix/share"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
	"github.com/callgate/callgate/gateway/quality"
	"github.com/callgate/callgate/gateway/socket"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/catalogue"
)

var update = flag.Bool("update", false, "rewrite testdata/scrape.txt with what is given now")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rich is a request with something for every metric: a broken stream after a retry, a
// fallback and a second question, in a conversation that has come to its limit.
func rich() *gateway.Record {
	return &gateway.Record{
		Protocol: "chat",
		Route:    "qwen3", Status: 200, Stream: true, Took: 1500 * time.Millisecond,
		Summary: &gateway.Summary{
			Origin: gateway.Origin{Provider: "remote", Model: "qwen-max"}, Replay: gateway.Replay{AnswerCache: gateway.AnswerMiss},
			Route: &gateway.RouteChoice{Route: "qwen3", Rule: 2, HasRules: true, Language: "th"},
			Attempts: []gateway.Attempt{
				{Provider: "local", Model: "qwen3", Reason: gateway.First, Outcome: "upstream_rate_limited", Took: 3 * time.Millisecond, RetryAfter: 20 * time.Second},
				{Provider: "local", Model: "qwen3", Reason: gateway.Retry, Outcome: "circuit_open", Wait: 200 * time.Millisecond},
				{Provider: "remote", Model: "qwen-max", Reason: gateway.Fallback, Outcome: "invalid_json", Took: 400 * time.Millisecond},
				{Provider: "remote", Model: "qwen-max", Reason: gateway.Reask, Outcome: "ok", Took: 800 * time.Millisecond},
			},
			Timing: gateway.Timing{FirstToken: 700 * time.Millisecond, Overhead: 40 * time.Microsecond},
			Outcome: gateway.Outcome{
				Calling: gateway.Calling{Calls: 2, Native: 1},
				Findings: gateway.Findings{Repairs: map[string]int{"args_json": 2, "index": 1}, Faults: map[string]int{"invalid_json": 2},
					Warnings: []string{"truncated_call", "dropped:seed", "dropped:logprobs", "plugin:acme:hermes:time_limit"}},
				Usage: gateway.Usage{Reported: true, CacheReported: true, WriteReported: true, Input: 1000, Output: 50, CacheRead: 600, WriteShort: 250, WriteLong: 50},
				Guard: ghost(),
				References: []gateway.Resolution{
					{Tool: "complete_task", Argument: "items[0].id", How: reference.Exact, Ratio: 1},
					{Tool: "complete_task", Argument: "items[1].id", How: reference.Exact, Ratio: 1},
					{Tool: "complete_task", Argument: "items[2].id", How: reference.Fuzzy, Ratio: 0.8},
				},
			},
			PromptCache: gateway.PromptCache{
				Prefix:       &prefix.Decision{Target: "remote/qwen-max", Reason: prefix.Fallback, Expected: 12, Blocks: 14},
				PrefixChange: &gateway.PrefixChange{Part: "messages", Message: 3, Offset: 1536},
			},
			Rounds: &gateway.Rounds{Rounds: 15, Limit: 15, Calls: 16, NewResults: 14, Efficiency: 0.8, Near: true, Stop: loop.Limit},
			Corrections: []gateway.Correction{
				{Tool: "complete_task", Reason: "unresolved_reference"},
				{Tool: "delete_task", Reason: "tool_not_triggered", Verdict: ghost()},
			},
		},
	}
}

// ghost is the verdict on an answer that a question at its end did not save.
func ghost() *gateway.Verdict {
	return &gateway.Verdict{Score: 0.91, Ghost: true, Tool: "delete_task", Signals: []guard.Signal{
		{Name: guard.SignalClaimTool, Weight: 0.9, Detail: "deleted"},
		{Name: guard.SignalToolsUnused, Weight: 0.1},
		{Name: guard.SignalQuestion, Weight: -0.5},
	}}
}

// serve serves metrics over a real listener.
func serve(t *testing.T, m *metrics.Metrics) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(m.Handler())
	t.Cleanup(server.Close)
	return server
}

// get returns the body of a scrape.
func get(t *testing.T, server *httptest.Server, accept string) (body []byte, contentType string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("accept", accept)
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("got status %d, error %v: %s", resp.StatusCode, err, body)
	}
	return body, resp.Header.Get("content-type")
}

// scrape reads the metrics as Prometheus would.
func scrape(t *testing.T, m *metrics.Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	body, _ := get(t, serve(t, m), "text/plain")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("not what Prometheus reads: %v", err)
	}
	return families
}

// ours are the lines of a scrape that are about the gateway, without the buckets.
func ours(body []byte) string {
	var out strings.Builder
	for line := range strings.Lines(string(body)) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if (strings.HasPrefix(name, "callgate_") || strings.HasPrefix(name, "gen_ai_")) && !strings.Contains(name, "_bucket{") {
			out.WriteString(line)
		}
	}
	return out.String()
}

func snapshots() []breaker.Snapshot {
	return []breaker.Snapshot{
		{Name: "local", State: breaker.Open, FailureRate: 0.75, RejectionRate: 0.2,
			Totals: breaker.Counts{Requests: 8, Successes: 1, Failures: 3, Excluded: 4, Rejections: 2}},
		{Name: "probing", State: breaker.HalfOpen},
		{Name: "remote", State: breaker.Closed},
		{Name: "remote", State: breaker.Open}, // a defect of the wiring; the scrape must live
	}
}

func shared() *share.Snapshot {
	return &share.Snapshot{Up: true, Lag: 0.4,
		Pushed: share.Pushed{OK: 7, Failed: 1}, Pulled: share.Pulled{OK: 20, Foreign: 3, Version: 2, Failed: 1}}
}

func states() []gateway.TargetState {
	return []gateway.TargetState{
		{Provider: "local", Model: "*"},
		{Provider: "local", Model: "qwen3", Running: 2, FirstToken: 0.25, Answer: 2},
		{Provider: "local", Model: "qwen3", Running: 3}, // a defect, as above
	}
}

func remembered() prefix.Snapshot {
	return prefix.Snapshot{Targets: []prefix.TargetSnapshot{{Target: "local/qwen3", Entries: 42}, {Target: "remote/org/qwen-max", Entries: 7}, {Target: "any/"}}}
}

// bill is an account with something for every metric.
func bill() accounts.Account {
	return accounts.Account{Usage: gateway.Usage{Reported: true, CacheReported: true, Input: 1000, CacheRead: 600}, Expected: 800, Missed: 200, Rated: true, SavedShare: 0.3,
		Money: accounts.Money{Currency: "USD", Requests: 1, List: 0.002, Cost: 0.0014, Saved: 0.0006}}
}

// judged is a request of which little is known but what the guard made of its answer.
func judged(route string, v *gateway.Verdict) *gateway.Record {
	return &gateway.Record{Route: route, Status: 200, Took: time.Millisecond, Summary: &gateway.Summary{Origin: gateway.Origin{Provider: "local", Model: "qwen3"}, Outcome: gateway.Outcome{Guard: v}}}
}

// TestGolden shows what one request of each sort leaves: testdata/scrape.txt is the
// list of all names and labels.
func TestGolden(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Options{Models: []string{"qwen3", "qwen-max"},
		Breakers: snapshots, Share: shared, Targets: states, Caches: remembered,
		Sockets: func() socket.Stats { return socket.Stats{Open: 2, Refused: map[string]int64{"too_many_turns": 3}} },
		Stored: func() state.Stats {
			return state.Stats{Stats: store.Stats{Entries: 5, Bytes: 8192, Evicted: 2}, Background: 4}
		},
		Keys: func() keys.State {
			return keys.State{Keys: 3, Teams: 1, Refused: map[keys.Reason]uint64{keys.Blocked: 2}}
		},
		Limits: func() limit.Stats {
			return limit.Stats{Figures: []limit.Figure{{Of: "key", Kind: "usd", Admitted: 5, Refused: 1}}, Running: 2, Cut: 1, Away: 3, Redis: &limit.AwayStats{Up: true, Replicas: 2, Journal: 1, Unsure: 4},
				Budgets: []limit.BudgetFigure{{Scope: limit.Scope{Of: "team", Name: "red"}, Kind: "usd", Window: limit.Month, Used: 3, Max: 4}, {Scope: limit.Scope{Of: "key_model", Name: "app", Models: "gpt-*"}, Kind: "token_budget", Window: limit.Total}}}
		},
		Usage: func() billing.Stats {
			return billing.Stats{Recorded: 10, Written: 7, Known: 1, Late: 1, Dropped: 1, Estimated: 2, Unpriced: 3, Unfinished: 2, JournalErrors: 4, LedgerErrors: 5, Queued: 6, QueuedBytes: 3000, Away: true}
		},
		Costs:        func() []billing.Cost { return []billing.Cost{{Team: "search", Model: "qwen3", Nano: 1_234_567_891}} },
		AnswerMemory: func() answers.MemoryStats { return answers.MemoryStats{Entries: 3, Bytes: 4096, Evicted: 1} },
		AnswerRedis:  func() answers.SharedStats { return answers.SharedStats{Failures: 2, Spared: 40, Foreign: 1} },
		Quality: func() quality.Snapshot {
			return quality.Snapshot{
				Targets: []quality.TargetScore{
					{Provider: "local", Model: "qwen3", Parser: "hermes", Score: quality.Score{Score: .82, Turns: 200}, Totals: map[string]uint64{"clean": 164, "invalid": 36}, NotScored: map[string]uint64{"upstream": 3}},
					{Provider: "cloud", Model: "*", Parser: "native", NotScored: map[string]uint64{"no_call": 1}},
				},
				Tools:  []quality.ToolScore{{Tool: "never a label", Blamed: time.Unix(1, 0)}, {Tool: "nor this"}},
				Routes: []quality.RouteScore{{Route: "m", Arms: []quality.ArmScore{{Provider: "local", Model: "qwen3", Parser: "hermes", Base: .5, Share: .05, Factor: .1}, {Provider: "fallback"}}}},
			}
		},
		Tools: func() []catalogue.Status {
			return []catalogue.Status{{Name: "github", Up: true, Tools: []catalogue.ToolStatus{{}, {Quarantine: "changed"}}, Missing: make([]toolserver.Missing, 1), Running: 2,
				Health: catalogue.Health{Calls: 7, Errors: map[toolserver.Kind]int64{toolserver.Timeout: 1}, P95: 250 * time.Millisecond}}}
		},
		Reloads: func() metrics.Reloads {
			return metrics.Reloads{SHA256: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", At: time.UnixMilli(1_750_000_000_500),
				Outcomes: map[string]uint64{"applied": 3, "refused": 1, "unchanged": 2}, Restart: true, Draining: 2}
		},
	})
	m.Begin()
	m.Begin()
	m.End()
	m.Request(rich())
	m.Request(judged("fine", &gateway.Verdict{Score: 0.1, Signals: []guard.Signal{{Name: guard.SignalToolsUnused, Weight: 0.1}}}))
	none := judged("routed", nil)
	none.Summary.Route = &gateway.RouteChoice{Route: "routed", HasRules: true}
	m.Request(none)
	m.Request(judged("denied", &gateway.Verdict{Contradiction: true, Signals: []guard.Signal{{Name: guard.SignalContradiction}}}))
	m.Request(&gateway.Record{Status: 401, Code: "invalid_api_key", Took: time.Millisecond})
	m.Request(&gateway.Record{Status: 404, Took: time.Millisecond})
	m.Request(&gateway.Record{Route: "own", Status: 200, Summary: &gateway.Summary{Origin: gateway.Origin{Provider: "local", Model: "qwen3"}, Outcome: gateway.Outcome{Usage: gateway.Usage{Reported: true, Input: 70}}}})
	bill := bill()
	m.Account("remote", "qwen-max", &bill)
	m.Plugin("hermes", 50*time.Microsecond)
	m.Transition(breaker.Change{Name: "local", From: breaker.Closed, To: breaker.Open})
	body, _ := get(t, serve(t, m), "text/plain")

	file := filepath.Join("testdata", "scrape.txt")
	got := ours(body)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got other metrics than %s:\n%s", file, difference(got, string(want)))
	}
}

// difference lists the lines that are on one side only.
func difference(got, want string) string {
	var out strings.Builder
	list := func(sign, of, without string) {
		lines := strings.Split(without, "\n")
		for line := range strings.SplitSeq(of, "\n") {
			if !slices.Contains(lines, line) {
				out.WriteString(sign + line + "\n")
			}
		}
	}
	list("- ", want, got)
	list("+ ", got, want)
	return out.String()
}

// TestBuckets checks that a request falls between the bounds it should.
func TestBuckets(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Options{})
	m.Request(rich())
	families := scrape(t, m)
	for _, row := range []struct {
		name      string
		low, high float64 // the value is over the one, and not over the other
		first     float64
		last      float64
	}{
		{"callgate_request_duration_seconds", 1, 2.5, 0.005, 600},
		{"callgate_time_to_first_token_seconds", 0.5, 1, 0.005, 600},
		{"callgate_overhead_seconds", 2.5e-5, 5e-5, 1e-6, 1},
		{"callgate_tool_rounds", 12, 15, 1, 100},
		{"gen_ai_server_request_duration_seconds", 1.28, 2.56, 0.01, 81.92},
		{"gen_ai_server_time_to_first_token_seconds", 0.5, 0.75, 0.001, 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := families[row.name].GetMetric()[0].GetHistogram()
			counts := map[float64]uint64{}
			var bounds []float64
			for _, b := range h.GetBucket() {
				counts[b.GetUpperBound()] = b.GetCumulativeCount()
				if !math.IsInf(b.GetUpperBound(), 1) {
					bounds = append(bounds, b.GetUpperBound())
				}
			}
			if counts[row.low] != 0 || counts[row.high] != 1 {
				t.Errorf("got %d below %g and %d below %g, want 0 and 1", counts[row.low], row.low, counts[row.high], row.high)
			}
			if bounds[0] != row.first || bounds[len(bounds)-1] != row.last {
				t.Errorf("got bounds %g to %g, want %g to %g", bounds[0], bounds[len(bounds)-1], row.first, row.last)
			}
		})
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Options{})
	m.Request(rich())
	server := serve(t, m)
	for _, row := range []struct{ name, accept, want string }{
		{"text", "text/plain", "text/plain"},
		{"openmetrics", "application/openmetrics-text; version=1.0.0", "application/openmetrics-text"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			body, contentType := get(t, server, row.accept)
			if !strings.HasPrefix(contentType, row.want) {
				t.Errorf("got content type %q, want %q", contentType, row.want)
			}
			for _, name := range []string{"callgate_requests_total{", "go_goroutines ", "process_start_time_seconds "} {
				if !bytes.Contains(body, []byte("\n"+name)) {
					t.Errorf("got no line with %q", name)
				}
			}
			if eof := bytes.HasSuffix(body, []byte("# EOF\n")); eof != (row.name == "openmetrics") {
				t.Errorf("got an end mark: %v", eof)
			}
		})
	}
}

// TestNames holds the names to Prometheus's rules: a base unit, and _total for
// counters alone.
func TestNames(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Options{Breakers: snapshots})
	m.Request(rich())
	unit := regexp.MustCompile(`_(seconds|usage|rounds)$`)
	for name, f := range scrape(t, m) {
		if !strings.HasPrefix(name, "callgate_") && !strings.HasPrefix(name, "gen_ai_") {
			continue
		}
		if counter := f.GetType() == dto.MetricType_COUNTER; counter != strings.HasSuffix(name, "_total") {
			t.Errorf("%s is a %s", name, f.GetType())
		}
		if f.GetType() == dto.MetricType_HISTOGRAM && !unit.MatchString(name) {
			t.Errorf("%s has no unit", name)
		}
		if len(f.GetHelp()) < 10 {
			t.Errorf("%s has the help %q", name, f.GetHelp())
		}
	}
}

// TestBreakersLive checks that a scrape shows the breakers as they are then.
func TestBreakersLive(t *testing.T) {
	t.Parallel()
	var m *metrics.Metrics
	b := breaker.New(breaker.Settings{Name: "local", Failures: 1, OnChange: func(c breaker.Change) { m.Transition(c) }})
	m = metrics.New(metrics.Options{Breakers: func() []breaker.Snapshot { return []breaker.Snapshot{b.Snapshot()} }})
	state := func() float64 { return scrape(t, m)["callgate_circuit_state"].GetMetric()[0].GetGauge().GetValue() }
	if got := state(); got != 0 {
		t.Errorf("got state %g before, want 0", got)
	}
	pass, err := b.Allow()
	if err != nil {
		t.Fatal(err)
	}
	pass.Done(breaker.Failure, "timeout")
	if got := state(); got != 2 {
		t.Errorf("got state %g after a failure, want 2", got)
	}
	transitions := scrape(t, m)["callgate_circuit_transitions_total"].GetMetric()
	if len(transitions) != 1 || transitions[0].GetCounter().GetValue() != 1 || value(transitions[0], "to") != "open" {
		t.Errorf("got transitions %v, want one to open", transitions)
	}
}

func value(m *dto.Metric, label string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == label {
			return pair.GetValue()
		}
	}
	return ""
}

// TestScrapeError checks that a collector that fails is logged, and hides nothing else.
func TestScrapeError(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	m := metrics.New(metrics.Options{
		Log:      slog.New(slog.NewTextHandler(&log, nil)),
		Breakers: func() []breaker.Snapshot { panic("boom") },
	})
	m.Request(rich())
	body, _ := get(t, serve(t, m), "text/plain")
	if !bytes.Contains(body, []byte("callgate_requests_total{")) {
		t.Errorf("got no other metrics: %s", body)
	}
	if !strings.Contains(log.String(), "boom") {
		t.Errorf("got the log %q, want the failure", log.String())
	}
}
