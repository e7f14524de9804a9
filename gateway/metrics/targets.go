package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/telemetry"
)

// targets reads what targets have to do when somebody looks.
type targets struct {
	states           func() []gateway.TargetState
	running, latency *prometheus.Desc
}

var _ prometheus.Collector = (*targets)(nil)

func newTargets(states func() []gateway.TargetState) *targets {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("callgate_target_"+name, help, []string{"provider", "model"}, nil)
	}
	return &targets{
		states:  states,
		running: desc("running", "Requests in progress at a target; the model * stands for all that the configuration does not name."),
		latency: desc("latency_seconds", "Time to the first useful byte of recent answers, a mean in which those of two minutes ago count for a third."),
	}
}

// Describe implements prometheus.Collector.
func (t *targets) Describe(out chan<- *prometheus.Desc) {
	out <- t.running
	out <- t.latency
}

// Collect implements prometheus.Collector. A target without recent answers has no latency.
func (t *targets) Collect(out chan<- prometheus.Metric) {
	for _, s := range t.states() {
		provider, model := telemetry.Text(s.Provider, maxText), telemetry.Text(s.Model, maxText)
		out <- prometheus.MustNewConstMetric(t.running, prometheus.GaugeValue, float64(s.Running), provider, model)
		if s.FirstToken > 0 {
			out <- prometheus.MustNewConstMetric(t.latency, prometheus.GaugeValue, s.FirstToken, provider, model)
		}
	}
}

// countRule counts which rule of its route a request has met, if the route has rules.
func (m *Metrics) countRule(r *gateway.RouteChoice) {
	if r == nil || !r.HasRules {
		return
	}
	rule := "none"
	if r.Rule > 0 {
		rule = strconv.Itoa(r.Rule)
	}
	m.rules.at(labels{r.Route, rule}).Inc()
}
