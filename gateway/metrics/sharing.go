package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/callgate/callgate/gateway/prefix/share"
)

// sharing reads how the sharing of prefixes goes when somebody looks.
type sharing struct {
	snapshot         func() *share.Snapshot
	up, lag, batches *prometheus.Desc
}

var _ prometheus.Collector = (*sharing)(nil)

func newSharing(snapshot func() *share.Snapshot) *sharing {
	return &sharing{
		snapshot: snapshot,
		up:       prometheus.NewDesc("callgate_share_up", "Whether gateways could tell each other what they have learned, last time: 1 or 0.", nil, nil),
		lag: prometheus.NewDesc("callgate_share_lag_seconds",
			"Age of the oldest batch of the last read.", nil, nil),
		batches: prometheus.NewDesc("callgate_share_batches_total",
			"Batches of what gateways have learned, by push or pull and what became of them: ok, failed, foreign (of a gateway with another salt) or version.",
			[]string{"direction", "outcome"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *sharing) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.up, c.lag, c.batches} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *sharing) Collect(out chan<- prometheus.Metric) {
	s := c.snapshot()
	if s == nil {
		return
	}
	up := 0.0
	if s.Up {
		up = 1
	}
	out <- prometheus.MustNewConstMetric(c.up, prometheus.GaugeValue, up)
	out <- prometheus.MustNewConstMetric(c.lag, prometheus.GaugeValue, s.Lag)
	count := func(n uint64, direction, outcome string) {
		out <- prometheus.MustNewConstMetric(c.batches, prometheus.CounterValue, float64(n), direction, outcome)
	}
	count(s.Pushed.OK, "push", ok)
	count(s.Pushed.Failed, "push", "failed")
	count(s.Pulled.OK, "pull", ok)
	count(s.Pulled.Foreign, "pull", "foreign")
	count(s.Pulled.Version, "pull", "version")
	count(s.Pulled.Failed, "pull", "failed")
}
