package metrics_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/metrics"
)

// attack is a request in which everything that a client, an upstream or a plugin can
// choose is new.
func attack(i int) *gateway.Record {
	word := fmt.Sprintf("%06d", i) + strings.Repeat("x", i%200)
	return &gateway.Record{
		Route: "*", Status: 502, Code: "code" + word, Took: time.Second,
		Summary: &gateway.Summary{
			Origin: gateway.Origin{Provider: "local", Model: "model" + word}, Timing: gateway.Timing{FirstToken: time.Second},
			Attempts: []gateway.Attempt{{Provider: "local", Reason: gateway.Reask, Outcome: "outcome" + word, Took: 1}},
			Outcome: gateway.Outcome{Calling: gateway.Calling{Calls: 1, Native: 1}, Findings: gateway.Findings{Repairs: map[string]int{"repair" + word: 1},
				Warnings: []string{"warning" + word, "dropped:" + word, "plugin:p" + word + ":r" + word},
				Faults:   map[string]int{"fault" + word: 1}}, Usage: gateway.Usage{Input: 1, Output: 1},
				Guard: &gateway.Verdict{Ghost: true, Signals: []guard.Signal{{Name: "signal" + word, Weight: 1}}}},
			Corrections: []gateway.Correction{{Tool: "tool" + word, Reason: "reason" + word}},
		},
	}
}

// TestCardinality sends 50,000 requests that are all different. The number of series
// must stay bounded, and every request be counted all the same.
func TestCardinality(t *testing.T) {
	t.Parallel()
	const requests = 50_000
	m := metrics.New(metrics.Options{Models: []string{"qwen3"}})
	for i := range requests {
		r := attack(i)
		if i%2 == 0 {
			r.Route = "" // nobody knows what led to it
		}
		m.Request(r)
	}
	known := rich()
	known.Summary.Model = "qwen3"
	m.Request(known)
	families := scrape(t, m)

	for name, f := range families {
		if !strings.HasPrefix(name, "callgate_") && !strings.HasPrefix(name, "gen_ai_") {
			continue
		}
		limit := 10_500
		if f.GetType() == dto.MetricType_HISTOGRAM {
			limit = 2_500
		}
		if n := len(f.GetMetric()); n > limit {
			t.Errorf("%s has %d series, want at most %d", name, n, limit)
		}
		for _, label := range []string{"model", "code", "outcome", "kind", "class", "plugin", "reason", "result", "signal", "verdict", "how",
			"gen_ai_request_model", "error_type"} {
			if n := len(distinct(f, label)); n > 205 {
				t.Errorf("%s has %d values of %s, want at most 205", name, n, label)
			}
		}
	}
	var total float64
	for _, series := range families["callgate_requests_total"].GetMetric() {
		total += series.GetCounter().GetValue()
	}
	if total != requests+1 {
		t.Errorf("got %g requests, want %d", total, requests+1)
	}
	models := distinct(families["callgate_requests_total"], "model")
	if !slices.Contains(models, "other") || !slices.Contains(models, "qwen3") || !slices.Contains(models, "*") {
		t.Errorf("got models %v, want other, the configured one and the entry among them", models)
	}
	if kinds := distinct(families["callgate_warnings_total"], "kind"); !slices.Contains(kinds, "dropped") {
		t.Errorf("got kinds %v, want dropped", kinds)
	}
}

func distinct(f *dto.MetricFamily, label string) []string {
	set := map[string]bool{}
	var out []string
	for _, m := range f.GetMetric() {
		if v := value(m, label); v != "" && !set[v] {
			set[v] = true
			out = append(out, v)
		}
	}
	return out
}

// TestSeriesLimit tries to reach the product of several labels, each of which keeps to
// its own limit.
func TestSeriesLimit(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Options{Models: []string{"model0"}})
	for i := range 200 {
		for j := range 200 {
			r := &gateway.Record{Code: fmt.Sprint("code", j), Summary: &gateway.Summary{Origin: gateway.Origin{Provider: "p", Model: fmt.Sprint("model", i)}}}
			m.Request(r)
		}
	}
	m.Request(&gateway.Record{Status: 200, Summary: &gateway.Summary{Origin: gateway.Origin{Provider: "new", Model: "model0"}}})
	families := scrape(t, m)
	for name, limit := range map[string]int{"callgate_requests_total": 10_000, "gen_ai_server_request_duration_seconds": 2_000} {
		// A few more are those whose labels are all the configuration's or "other".
		if n := len(families[name].GetMetric()); n < limit || n > limit+300 {
			t.Errorf("%s has %d series, want %d", name, n, limit)
		}
		if providers := distinct(families[name], "provider"); name == "callgate_requests_total" && !slices.Contains(providers, "new") {
			t.Errorf("got providers %v, want the new one too", providers)
		}
	}
	for _, series := range families["callgate_requests_total"].GetMetric() {
		if value(series, "provider") == "new" && (value(series, "model") != "model0" || value(series, "code") != "ok") {
			t.Errorf("got %v, want the labels that are reserved as they are", series)
		}
	}
}

// TestHostileValues sends what would make a collector panic or a scrape fail.
func TestHostileValues(t *testing.T) {
	t.Parallel()
	const negative = math.MinInt64
	m := metrics.New(metrics.Options{Breakers: func() []breaker.Snapshot { return []breaker.Snapshot{{Name: "bad\xff\n\"", State: "no such state"}} }})
	m.Transition(breaker.Change{Name: "bad\xff", To: "bad\xff"})
	m.Request(&gateway.Record{})
	m.Request(&gateway.Record{
		Route: "bad\xff\n\"\\", Code: "\xf0\x9f", Took: negative,
		Summary: &gateway.Summary{
			Origin: gateway.Origin{Provider: "bad\xff\n", Model: strings.Repeat("é", 1<<20)}, Timing: gateway.Timing{FirstToken: time.Second, Overhead: negative},
			Attempts: []gateway.Attempt{{Reason: gateway.Fallback, Wait: negative, Took: negative}, {Reason: "\xff", Outcome: "\xff"}},
			Outcome: gateway.Outcome{Calling: gateway.Calling{Calls: negative, Native: negative}, Findings: gateway.Findings{Repairs: map[string]int{"a": negative, "b": math.MaxInt64},
				Warnings: []string{"", ":", "plugin", "plugin:", "plugin::", "plugin:\xff", strings.Repeat(":", 1000)},
				Faults:   map[string]int{"": 1}}, Usage: gateway.Usage{Input: negative, Output: math.MaxInt64, CacheRead: -1}},
		},
	})
	families := scrape(t, m)
	for name, f := range families {
		for _, series := range f.GetMetric() {
			for _, label := range series.GetLabel() {
				if v := label.GetValue(); !utf8.ValidString(v) || len(v) > 100 {
					t.Errorf("%s has the label %s=%q", name, label.GetName(), v)
				}
			}
			if h := series.GetHistogram(); h != nil && strings.HasPrefix(name, "callgate_") && h.GetSampleSum() < 0 {
				t.Errorf("%s has the sum %g", name, h.GetSampleSum())
			}
		}
	}
	tokens := families["callgate_tokens_total"].GetMetric()
	if len(tokens) != 1 || value(tokens[0], "type") != "completion" || tokens[0].GetCounter().GetValue() != 67108864 {
		t.Errorf("got tokens %v, want those of the completion, cut", tokens)
	}
	if got := families["callgate_circuit_state"].GetMetric()[0].GetGauge().GetValue(); got != 2 {
		t.Errorf("got %g for a state that nobody knows, want 2: nothing is known to get through", got)
	}
}

// TestConcurrent counts from many goroutines while others scrape; the race detector
// watches.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Options{Breakers: snapshots})
	server := serve(t, m)
	const workers, each = 8, 300
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range each {
				m.Begin()
				m.Request(attack(w*each + i))
				m.Request(rich())
				m.End()
			}
		})
	}
	group.Go(func() {
		for range 3 {
			get(t, server, "text/plain")
		}
	})
	group.Wait()
	families := scrape(t, m)
	var total float64
	for _, series := range families["callgate_requests_total"].GetMetric() {
		total += series.GetCounter().GetValue()
	}
	if total != 2*workers*each {
		t.Errorf("got %g requests, want %d", total, 2*workers*each)
	}
	if got := families["callgate_requests_in_flight"].GetMetric()[0].GetGauge().GetValue(); got != 0 {
		t.Errorf("got %g requests in flight, want 0", got)
	}
}

// TestScrapesBounded checks that scrapes which hang do not pile up.
func TestScrapesBounded(t *testing.T) {
	t.Parallel()
	release, entered := make(chan struct{}), make(chan struct{}, 10)
	m := metrics.New(metrics.Options{Breakers: func() []breaker.Snapshot {
		entered <- struct{}{}
		<-release
		return nil
	}})
	server := serve(t, m)
	statuses := make(chan int, 10)
	ask := func() {
		resp, err := server.Client().Get(server.URL)
		if err != nil {
			t.Error(err)
			statuses <- 0
			return
		}
		resp.Body.Close()
		statuses <- resp.StatusCode
	}
	for range 4 {
		go ask()
	}
	for range 4 {
		<-entered
	}
	ask()
	if got := <-statuses; got != 503 {
		t.Errorf("got status %d for the fifth, want 503", got)
	}
	close(release)
	for range 4 {
		if got := <-statuses; got != 200 {
			t.Errorf("got status %d, want 200", got)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	m := metrics.New(metrics.Options{})
	plain := rich()
	plain.Summary.Attempts = plain.Summary.Attempts[3:]
	plain.Summary.Repairs, plain.Summary.Faults, plain.Summary.Warnings = nil, nil, nil
	fresh := make([]*gateway.Record, 1000)
	for i := range fresh {
		fresh[i] = attack(i)
	}
	for _, row := range []struct {
		name    string
		records []*gateway.Record
	}{
		{"plain", []*gateway.Record{plain}},
		{"everything", []*gateway.Record{rich()}},
		{"attack", fresh},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				m.Request(row.records[i%len(row.records)])
			}
		})
	}
}

// TestAllocs: a request whose series are known allocates nothing.
func TestAllocs(t *testing.T) {
	m := metrics.New(metrics.Options{})
	r := rich()
	if got := testing.AllocsPerRun(100, func() { m.Request(r) }); got != 0 {
		t.Errorf("got %g allocations, want 0", got)
	}
	account := bill()
	if got := testing.AllocsPerRun(100, func() { m.Account("remote", "qwen-max", &account) }); got != 0 {
		t.Errorf("got %g allocations for an account, want 0", got)
	}
}
