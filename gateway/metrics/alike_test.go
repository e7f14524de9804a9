package metrics_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/metrics"
)

// TestAlikeNames: names of the configuration that differ behind what fits into a label are two
// series, and the scrape is whole.
func TestAlikeNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("deepseek/", 12)
	var log bytes.Buffer
	m := metrics.New(metrics.Options{
		Log:    slog.New(slog.NewTextHandler(&log, nil)),
		Models: []string{long + "a", long + "b"},
		Targets: func() []gateway.TargetState {
			return []gateway.TargetState{{Provider: "p", Model: long + "a", Running: 1}, {Provider: "p", Model: long + "b", Running: 2}}
		},
	})
	for _, model := range []string{long + "a", long + "b", long + "b"} {
		m.Request(&gateway.Record{Route: "*", Status: 200, Summary: &gateway.Summary{Origin: gateway.Origin{Provider: "p", Model: model}}})
	}
	m.Request(&gateway.Record{Route: "*", Status: 200, Summary: &gateway.Summary{Origin: gateway.Origin{Provider: "p", Model: long + "c"}}})
	families := scrape(t, m)
	if log.Len() > 0 {
		t.Errorf("the scrape has failed: %s", &log)
	}
	for name, want := range map[string]int{"callgate_target_running": 2, "callgate_requests_total": 3} {
		if got := len(distinct(families[name], "model")); got != want {
			t.Errorf("%s has %d models, want %d", name, got, want)
		}
	}
	for _, series := range families["callgate_requests_total"].GetMetric() {
		if v := value(series, "model"); len(v) > 100 || v == "*" && series.GetCounter().GetValue() != 1 {
			t.Errorf("got %v", series)
		}
	}
}
