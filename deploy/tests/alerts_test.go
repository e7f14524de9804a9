package tests

import (
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/callgate/callgate/internal/redistest"
)

// What Prometheus has seen: a page of metrics every step, for so long.
const (
	step  = 30 * time.Second
	steps = 420
)

// line is a series of a page, and what becomes of it from step to step.
type line struct {
	labels map[string]string // with __name__
	first  float64
	grows  float64
}

func (l *line) at(k int) float64 { return l.first + l.grows*float64(k) }

// page is what the gateway has printed.
type page []line

// readPage reads the text that Prometheus gets. What counts grows by what it is with each step, as in traffic that
// stays what it is.
func readPage(t *testing.T, text io.Reader) (out page) {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f := families[name]
		for _, m := range f.GetMetric() {
			add := func(name string, value float64, counts bool, more ...string) {
				l := line{labels: map[string]string{model.MetricNameLabel: name, "job": "callgate", "instance": "a:8081"}, first: value}
				for _, pair := range m.GetLabel() {
					l.labels[pair.GetName()] = pair.GetValue()
				}
				for i := 0; i < len(more); i += 2 {
					l.labels[more[i]] = more[i+1]
				}
				if counts {
					l.grows = value
				}
				out = append(out, l)
			}
			switch f.GetType() {
			case dto.MetricType_HISTOGRAM:
				h := m.GetHistogram()
				for _, b := range h.GetBucket() {
					add(name+"_bucket", float64(b.GetCumulativeCount()), true, "le", fmt.Sprint(b.GetUpperBound()))
				}
				add(name+"_count", float64(h.GetSampleCount()), true)
				add(name+"_sum", h.GetSampleSum(), true)
			case dto.MetricType_COUNTER:
				add(name, m.GetCounter().GetValue(), true)
			case dto.MetricType_GAUGE:
				add(name, m.GetGauge().GetValue(), false)
			}
		}
	}
	return append(out, line{labels: map[string]string{model.MetricNameLabel: "up", "job": "callgate", "instance": "a:8081"}, first: 1})
}

// takes says how long what a histogram counts has taken: a moment, or too long for all its buckets. How long this
// machine takes says nothing.
func (p page) takes(histogram string, long bool) page {
	p = slices.Clone(p)
	counts := 0.0
	for i := range p {
		if p[i].labels[model.MetricNameLabel] == histogram+"_count" {
			counts = max(counts, p[i].grows)
		}
	}
	for i := range p {
		if l := &p[i]; l.labels[model.MetricNameLabel] == histogram+"_bucket" {
			if l.first, l.grows = 0, 0; !long || l.labels["le"] == "+Inf" {
				l.grows = counts
			}
		}
	}
	return p
}

// fault is what goes wrong with a series of a page: it has a value, or grows by so much with each step.
type fault struct {
	name  string
	where map[string]string // values that its labels have then; the gateway has labels of these names
	is    float64
	grows float64
	slow  bool // it is a histogram
}

// faults are what each alert is for.
var faults = map[string]fault{
	"CallgateDown":           {name: "up", is: 0},
	"CallgateConfigRefused":  {name: "callgate_config_last_reload_success", is: 0},
	"CallgateRestartNeeded":  {name: "callgate_config_restart_needed", is: 1},
	"CallgateFails":          {name: "callgate_requests_total", where: map[string]string{"code": "upstream_error"}, grows: 100},
	"CallgateCircuitOpen":    {name: "callgate_circuit_state", is: 2},
	"CallgateRateLimited":    {name: "callgate_upstream_attempts_total", where: map[string]string{"outcome": "upstream_rate_limited"}, grows: 100},
	"CallgateKeyRefused":     {name: "callgate_upstream_attempts_total", where: map[string]string{"outcome": "upstream_auth_error"}, grows: 0.1},
	"CallgateSlowFirstToken": {name: "callgate_time_to_first_token_seconds", slow: true},
	"CallgateOverhead":       {name: "callgate_overhead_seconds", slow: true},
	"CallgateMemorySpent":    {name: "callgate_requests_total", where: map[string]string{"code": "memory_spent"}, grows: 0.1},
	"CallgateParserFails":    {name: "callgate_plugin_failures_total", grows: 1},
	"CallgateToolFaults":     {name: "callgate_tool_faults_total", grows: 100},
	"CallgateGhosts":         {name: "callgate_guard_verdicts_total", where: map[string]string{"verdict": "suspected"}, grows: 100},
	"CallgateToolServerAway": {name: "callgate_tool_server_up", is: 0},
	"CallgateToolsChanged":   {name: "callgate_tool_server_quarantined", is: 2},
	"CallgateRedisAway":      {name: "callgate_limit_redis_up", is: 0},
	"CallgateStoreFull":      {name: "callgate_store_evicted_total", grows: 1},
	"CallgateLedgerAway":     {name: "callgate_usage_ledger_up", is: 0},
	"CallgateUsageLost":      {name: "callgate_usage_rows_dropped_total", grows: 0.1},
	"CallgateBudgetNearEnd":  {name: "callgate_budget_used_ratio", is: 0.93},
}

// with is a page with a fault. others are pages where the series is, if the page has it not.
func (p page) with(f fault, others ...page) (page, error) {
	if f.slow {
		return p.takes(f.name, true), nil
	}
	p = slices.Clone(p)
	for i := range p {
		if p[i].labels[model.MetricNameLabel] == f.name && f.where == nil {
			p[i].first, p[i].grows = f.is, f.grows
			return p, nil
		}
	}
	for _, from := range append([]page{p}, others...) {
		for _, l := range from {
			if l.labels[model.MetricNameLabel] != f.name {
				continue
			}
			made := line{labels: maps.Clone(l.labels), first: f.is, grows: f.grows}
			for name, value := range f.where {
				if made.labels[name] == "" {
					return nil, fmt.Errorf("%s has no label %s", f.name, name)
				}
				made.labels[name] = value
			}
			p = slices.DeleteFunc(p, func(l line) bool { return maps.Equal(l.labels, made.labels) })
			return append(p, made), nil
		}
	}
	return nil, fmt.Errorf("no page has %s", f.name)
}

// sample implements chunks.Sample for a number.
type sample struct {
	t int64
	v float64
}

func (s sample) T() int64                      { return s.t }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.v }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// series is what a Prometheus has stored. It is the engine's storage.
type series []storage.Series

func (s series) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		found := &found{at: -1}
		for _, one := range s {
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.Labels().Get(m.Name)) }) {
				found.list = append(found.list, one)
			}
		}
		slices.SortFunc(found.list, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
		return found
	}}, nil
}

// found implements storage.SeriesSet.
type found struct {
	list []storage.Series
	at   int
}

func (f *found) Next() bool                        { f.at++; return f.at < len(f.list) }
func (f *found) At() storage.Series                { return f.list[f.at] }
func (f *found) Err() error                        { return nil }
func (f *found) Warnings() annotations.Annotations { return nil }

var began = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

// stored is what has come of a page in all steps.
func (p page) stored() (out series) {
	for i := range p {
		var list []chunks.Sample
		for k := range steps {
			list = append(list, sample{began.Add(time.Duration(k) * step).UnixMilli(), p[i].at(k)})
		}
		out = append(out, storage.NewListSeries(labels.FromMap(p[i].labels), list))
	}
	return out
}

// evaluate evaluates the rules over a page as Prometheus does, and says which alerts fire.
func evaluate(t *testing.T, groups *rulefmt.RuleGroups, p page) (firing []string) {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: patience, LookbackDelta: 5 * time.Minute, Parser: parser.NewParser(parser.Options{})})
	defer engine.Close()
	all := p.stored()
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			q, err := engine.NewRangeQuery(t.Context(), all, nil, r.Expr, began, began.Add((steps-1)*step), step)
			if err != nil {
				t.Fatalf("%s%s: %v", r.Record, r.Alert, err)
			}
			result, err := q.Exec(t.Context()).Matrix()
			if err != nil {
				t.Fatalf("%s%s: %v", r.Record, r.Alert, err)
			}
			fires := false
			for _, s := range result {
				if r.Record != "" {
					var list []chunks.Sample
					for _, point := range s.Floats {
						if !math.IsNaN(point.F) {
							list = append(list, sample{point.T, point.F})
						}
					}
					l := labels.NewBuilder(s.Metric)
					l.Set(model.MetricNameLabel, r.Record)
					all = append(all, storage.NewListSeries(l.Labels(), list))
					continue
				}
				since := int64(0)
				for i, point := range s.Floats {
					if i == 0 || point.T != s.Floats[i-1].T+step.Milliseconds() {
						since = point.T
					}
					fires = fires || point.T-since >= time.Duration(r.For).Milliseconds()
				}
			}
			if fires {
				firing = append(firing, r.Alert)
			}
			q.Close()
		}
	}
	return firing
}

// healthy is the page of a gateway that has what the alerts look at, and with which nothing is wrong.
func healthy(t *testing.T) page {
	t.Helper()
	redis := redistest.Start(t)
	notes := answering(t, `{"notes": []}`)
	g := serve(t, writeFile(t, "callgate.yaml", fmt.Sprintf(`
cache_salt: pepper
redis: {url: %q, key_prefix: %q}
defaults: {guard: report}
assume_price: {input: 1, output: 1}
key_limits: [{usd: 1000000, per: month}]
providers: {demo: {type: demo}}
models: {kept: {answer_cache: redis, targets: [{provider: demo, model: hermes}]}}
tool_servers:
  notes: {type: http, private_network: true, requests: [{name: list, description: Lists notes., parameters: {type: object}, url: "%s/notes"}]}
`, redis.URL(), redis.KeyPrefix(), notes)))
	const tools = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`
	for _, model := range []string{"demo/hermes", "kept"} {
		for _, stream := range []string{"true", "false"} {
			if status, _, text := g.post("/v1/chat/completions", "", fmt.Sprintf(`{"model":%q,"stream":%s,"temperature":0,"messages":[{"role":"user","content":"What is the weather in Oslo?"}],%s}`, model, stream, tools)); status != http.StatusOK {
				t.Fatalf("got status %d and %s", status, text)
			}
		}
	}
	status, _, text := g.ask(http.MethodGet, g.admin+"/metrics", "", nil)
	if status != http.StatusOK {
		t.Fatalf("got status %d and %s", status, text)
	}
	return readPage(t, strings.NewReader(text)).takes("callgate_time_to_first_token_seconds", false).takes("callgate_overhead_seconds", false)
}

// TestAlerts evaluates the rules with Prometheus' own engine over what the gateway prints: on a healthy one nothing
// fires, and each alert does when what it is for goes wrong.
func TestAlerts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}), nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	known, err := os.Open("../../gateway/metrics/testdata/scrape.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer known.Close()
	golden, well := readPage(t, known), healthy(t)
	if firing := evaluate(t, groups, well); len(firing) > 0 {
		t.Errorf("%q fire on a healthy gateway", firing)
	}
	alerts := 0
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" {
				continue
			}
			alerts++
			f, ok := faults[r.Alert]
			if !ok {
				t.Errorf("%s: there is no fault for it", r.Alert)
				continue
			}
			bad, err := well.with(f, golden)
			if err != nil {
				t.Errorf("%s: %v", r.Alert, err)
				continue
			}
			firing := evaluate(t, groups, bad)
			if !slices.Contains(firing, r.Alert) {
				t.Errorf("%s does not fire when %+v; %q do", r.Alert, f, firing)
			}
			t.Logf("%-24s %q fire", r.Alert, firing)
		}
	}
	if alerts != len(faults) {
		t.Errorf("there are %d alerts, and faults for %d", alerts, len(faults))
	}
}
