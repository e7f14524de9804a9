package metrics

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/callgate/callgate/gateway/internal/telemetry"
	"github.com/callgate/callgate/gateway/observe"
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

// Of a value that is too long a hash stands for what is cut off: names of a configuration that begin
// alike are different series, and two series with the same labels are an error in each scrape.
const (
	hashed    = len("~") + 16
	maxHashed = 4 << 10 // bytes that the hash is of: a client can send megabytes
)

// label is s as the value of a label.
func label(s string) string {
	if len(s) <= maxText {
		return telemetry.Text(s, maxText)
	}
	return fmt.Sprintf("%s~%016x", telemetry.Text(s, maxText-hashed), xxhash.Sum64String(s[:min(len(s), maxHashed)]))
}

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
		v.known[label(s)] = true
	}
	return v
}

// reserve gives values a place that they always have, as long as there are fewer than one counter
// could have.
func (v *values) reserve(values ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range values {
		if len(v.known) < maxCounters {
			v.known[label(s)] = true
		}
	}
}

// admit is s as a label: made fit, and "other" if the set is full.
func (v *values) admit(s string) string {
	s = label(s)
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

// family is one metric, whose series are bounded. It remembers them by the values of their
// labels, which is several times faster than the vectors' own hashing, and some of the latest apart,
// which is several times faster than that: requests of the same sort come one behind the other.
type family struct {
	labels []*values // what bounds each label
	limit  int
	create func(labelValues ...string) func(n float64)
	latest [8]atomic.Pointer[series] // by slot

	mu    sync.RWMutex
	known map[observe.Labels]*series
}

// series is one of a family.
type series struct {
	labels observe.Labels // by which it was asked for
	add    func(n float64)
}

var _ observe.Series = (*family)(nil)

// Add implements observe.Series.
func (f *family) Add(l observe.Labels, n float64) {
	latest := &f.latest[slot(&l)%len(f.latest)]
	one := latest.Load()
	if one == nil || one.labels != l {
		one = f.at(l)
		latest.Store(one)
	}
	one.add(n)
}

// slot tells apart what one request adds to: prompt, completion, cached.
func slot(l *observe.Labels) (n int) {
	for _, s := range l {
		if len(s) > 0 {
			n += len(s) + int(s[len(s)-1])
		}
	}
	return n
}

// at returns the series for the values, which may be raw.
func (f *family) at(l observe.Labels) *series {
	for i, s := range l {
		if len(s) > maxText { // or each look-up would read a megabyte that somebody sent
			l[i] = label(s)
		}
	}
	if one, ok := f.find(l); ok {
		return one
	}
	return f.admit(l)
}

// admit returns the series of values that are new, or are counted as others. It is
// apart from at because its labels need a place on the heap.
func (f *family) admit(l observe.Labels) *series {
	for i, v := range f.labels {
		l[i] = v.admit(l[i])
	}
	if one, ok := f.find(l); ok {
		return one
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.known) >= f.limit {
		l = f.narrow(l)
	}
	one, ok := f.known[l]
	if !ok {
		one = &series{l, f.create(l[:len(f.labels)]...)}
		f.known[l] = one
	}
	return one
}

func (f *family) find(l observe.Labels) (*series, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	one, ok := f.known[l]
	return one, ok
}

// narrow leaves the values that nobody outside can choose: how many series they make
// is up to the configuration.
func (f *family) narrow(l observe.Labels) observe.Labels {
	for i, v := range f.labels {
		if v == nil {
			continue
		}
		if _, reserved := v.has(l[i]); !reserved {
			l[i] = other
		}
	}
	return l
}

// maker makes the metrics of one registry.
type maker struct {
	registry      *prometheus.Registry
	models, codes *values
}

// family makes a counter, or a histogram if there are buckets. One without labels is there
// from the beginning.
func (k maker) family(name, help string, buckets []float64, labels ...observe.Label) *family {
	f := &family{limit: maxCounters, known: map[observe.Labels]*series{}}
	names := make([]string, len(labels))
	for i, l := range labels {
		names[i] = l.Name
		f.labels = append(f.labels, k.values(l.Bound))
	}
	if buckets == nil {
		vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, names)
		k.registry.MustRegister(vec)
		f.create = func(values ...string) func(n float64) { return vec.WithLabelValues(values...).Add }
	} else {
		vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, names)
		k.registry.MustRegister(vec)
		f.limit, f.create = maxHistos, func(values ...string) func(n float64) { return vec.WithLabelValues(values...).Observe }
	}
	if len(labels) == 0 {
		f.admit(observe.Labels{})
	}
	return f
}

// values are what bounds a label, nil for nothing.
func (k maker) values(b observe.Bound) *values {
	switch b {
	case observe.Models:
		return k.models
	case observe.Codes:
		return k.codes
	case observe.Open:
		return newValues()
	}
	return nil
}
