package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/internal/telemetry"
)

// circuits reads the breakers when somebody looks, so that nothing has to be kept in
// step with them.
type circuits struct {
	breakers func() []breaker.Snapshot

	state, failureRate, rejectionRate                     *prometheus.Desc
	requests, failures, successes, rejections, exclusions *prometheus.Desc
}

var _ prometheus.Collector = (*circuits)(nil)

func newCircuits(breakers func() []breaker.Snapshot) *circuits {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("callgate_circuit_"+name, help, []string{"provider"}, nil)
	}
	return &circuits{
		breakers:      breakers,
		state:         desc("state", "State of the circuit breaker: 0 closed, 1 half-open, 2 open."),
		failureRate:   desc("failure_rate", "Share of failures in failures and successes since the start, 0 to 1."),
		rejectionRate: desc("rejection_rate", "Share of requests that the circuit breaker rejected since the start, 0 to 1."),
		requests:      desc("requests_total", "Requests that the circuit breaker let through."),
		failures:      desc("failures_total", "Requests that failed."),
		successes:     desc("successes_total", "Requests that were answered to the end."),
		rejections:    desc("rejections_total", "Requests that the circuit breaker rejected."),
		exclusions:    desc("excluded_total", "Requests whose end says nothing about the provider's health."),
	}
}

// Describe implements prometheus.Collector.
func (c *circuits) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.state, c.failureRate, c.rejectionRate,
		c.requests, c.failures, c.successes, c.rejections, c.exclusions} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *circuits) Collect(out chan<- prometheus.Metric) {
	for _, s := range c.breakers() {
		name := telemetry.Text(s.Name, maxText)
		send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64) {
			out <- prometheus.MustNewConstMetric(d, kind, value, name)
		}
		send(c.state, prometheus.GaugeValue, stateNumber(s.State))
		send(c.failureRate, prometheus.GaugeValue, s.FailureRate)
		send(c.rejectionRate, prometheus.GaugeValue, s.RejectionRate)
		send(c.requests, prometheus.CounterValue, float64(s.Totals.Requests))
		send(c.failures, prometheus.CounterValue, float64(s.Totals.Failures))
		send(c.successes, prometheus.CounterValue, float64(s.Totals.Successes))
		send(c.rejections, prometheus.CounterValue, float64(s.Totals.Rejections))
		send(c.exclusions, prometheus.CounterValue, float64(s.Totals.Excluded))
	}
}

func stateNumber(s breaker.State) float64 {
	switch s {
	case breaker.Closed:
		return 0
	case breaker.HalfOpen:
		return 1
	}
	return 2
}
