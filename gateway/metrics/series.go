package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/callgate/callgate/gateway/internal/telemetry"
)

// What bounds the number of series. Labels that a client or an upstream can choose are
// memory that it can take, in this process and in whatever scrapes it.
const (
	maxValues   = 200    // of one label, beside those of the configuration
	maxText     = 100    // bytes of a value
	maxCounters = 10_000 // series of one counter
	maxHistos   = 2_000  // series of one histogram; each has some twenty lines
	other       = "other"
)

// values are the values that a label has. A nil *values takes any: it is for labels
// that the configuration or the gateway itself chooses.
type values struct {
	mu    sync.RWMutex
	known map[string]bool // true: reserved
	room  int
}

// newValues makes a set with values that always have a place.
func newValues(reserved ...string) *values {
	v := &values{known: map[string]bool{"": true, other: true}, room: maxValues}
	for _, s := range reserved {
		v.known[telemetry.Text(s, maxText)] = true
	}
	return v
}

// admit is s as a label: made fit, and "other" if the set is full.
func (v *values) admit(s string) string {
	s = telemetry.Text(s, maxText)
	if v == nil {
		return s
	}
	if known, _ := v.has(s); known {
		return s
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.known[s]; known {
		return s
	}
	if v.room == 0 {
		return other
	}
	v.room--
	v.known[s] = false
	return s
}

func (v *values) has(s string) (known, reserved bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	reserved, known = v.known[s]
	return known, reserved
}

// label is a label's name and what bounds its values.
type label struct {
	name   string
	values *values
}

// labels are the values of a series, in the order of the metric's labels.
type labels [4]string

// family is one metric with labels, whose series are bounded. It remembers them by
// their values, which is several times faster than the vectors' own hashing.
type family[M any] struct {
	labels []label
	limit  int
	create func(labelValues ...string) M

	mu    sync.RWMutex
	known map[labels]M
}

type (
	counters   = family[prometheus.Counter]
	histograms = family[prometheus.Observer]
)

// at returns the series for the values, which may be raw.
func (f *family[M]) at(l labels) M {
	for i, s := range l {
		if len(s) > maxText { // or each look-up would read a megabyte that somebody sent
			l[i] = telemetry.Text(s, maxText)
		}
	}
	if m, ok := f.find(l); ok {
		return m
	}
	return f.admit(l)
}

// admit returns the series of values that are new, or are counted as others. It is
// apart from at because its labels need a place on the heap.
func (f *family[M]) admit(l labels) M {
	for i, label := range f.labels {
		l[i] = label.values.admit(l[i])
	}
	if m, ok := f.find(l); ok {
		return m
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.known) >= f.limit {
		l = f.narrow(l)
	}
	m, ok := f.known[l]
	if !ok {
		m = f.create(l[:len(f.labels)]...)
		f.known[l] = m
	}
	return m
}

func (f *family[M]) find(l labels) (M, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	m, ok := f.known[l]
	return m, ok
}

// narrow leaves the values that nobody outside can choose: how many series they make
// is up to the configuration.
func (f *family[M]) narrow(l labels) labels {
	for i, label := range f.labels {
		if label.values == nil {
			continue
		}
		if _, reserved := label.values.has(l[i]); !reserved {
			l[i] = other
		}
	}
	return l
}

// maker makes the metrics of one registry.
type maker struct{ registry *prometheus.Registry }

func (k maker) counters(name, help string, ls ...label) *counters {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, names(ls))
	k.registry.MustRegister(vec)
	return &counters{labels: ls, limit: maxCounters, create: vec.WithLabelValues, known: map[labels]prometheus.Counter{}}
}

func (k maker) histograms(name, help string, buckets []float64, ls ...label) *histograms {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, names(ls))
	k.registry.MustRegister(vec)
	return &histograms{labels: ls, limit: maxHistos, create: vec.WithLabelValues, known: map[labels]prometheus.Observer{}}
}

func (k maker) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	k.registry.MustRegister(h)
	return h
}

func (k maker) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	k.registry.MustRegister(g)
	return g
}

func names(ls []label) []string {
	out := make([]string, len(ls))
	for i, l := range ls {
		out[i] = l.name
	}
	return out
}
