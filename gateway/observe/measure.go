package observe

import (
	"iter"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/telemetry"
)

// Measure is a number that there is to say of a request: a counter, or a histogram if it has
// buckets.
type Measure struct {
	Name, Help string
	Labels     []Label
	Buckets    []float64 // bounds, in the unit of the name
	Scope      Scope
	// Of adds what a record says of it. It allocates nothing.
	Of func(r *gateway.Record, to Series)
}

// counter is a measure of the answers that were made; histogram is one with buckets.
func counter(name, help string, of func(r *gateway.Record, to Series), labels ...Label) Measure {
	return histogram(name, help, nil, of, labels...)
}

func histogram(name, help string, buckets []float64, of func(r *gateway.Record, to Series), labels ...Label) Measure {
	return Measure{Name: name, Help: help, Buckets: buckets, Of: of, Labels: labels, Scope: Made}
}

// of is the measure for requests of another scope.
func (m Measure) of(s Scope) Measure {
	m.Scope = s
	return m
}

// Series are those of one measure, by their labels.
type Series interface{ Add(l Labels, n float64) }

// Labels are the values of a series, in the order of the measure's labels. They may be raw.
type Labels [4]string

// Label is a label's name, and who chooses its values.
type Label struct {
	Name  string
	Bound Bound
}

// Bound says who chooses a label's values, and so what bounds them.
type Bound int

// The bounds.
const (
	Fixed  Bound = iota // the configuration or the gateway itself
	Models              // the configuration, as far as metrics know it: names of models
	Codes               // upstreams: codes of errors
	Open                // a client, an upstream or a plugin
)

// Scope says which requests a measure is about.
type Scope int

// The scopes, each a part of the one before it.
const (
	All      Scope = iota
	Answered       // an upstream was asked, so that there is a Summary
	Made           // the answer was made for it; of a stored one there is nothing more to say
)

// ScopeOf is the narrowest scope of a record.
func ScopeOf(r *gateway.Record) Scope {
	switch {
	case r.Summary == nil:
		return All
	case r.Summary.Replayed():
		return Answered
	}
	return Made
}

// Measures are those of all facts.
func Measures() iter.Seq[Measure] {
	return func(yield func(Measure) bool) {
		for _, f := range facts {
			for _, m := range f.counts {
				if !yield(m) {
					return
				}
			}
		}
	}
}

// OK is the code of a request, and the outcome of an attempt, that did not fail.
const OK = "ok"

// Labels that several measures have.
var (
	route = Label{Name: "route"}

	rolloutName = Label{Name: "rollout"}
	provider    = Label{Name: "provider"}
	armName     = Label{Name: "arm"}
	model       = Label{"model", Models}
	operation   = Label{Name: telemetry.Prometheus(telemetry.OperationName)}
	genModel    = Label{telemetry.Prometheus(telemetry.RequestModel), Models}
	genName     = Label{Name: telemetry.Prometheus(telemetry.ProviderName)}
)

// Bounds of buckets in seconds: for what a model may take, for what the gateway may take, and
// those that OpenTelemetry's conventions give for a request and for its first token.
var (
	waitBuckets     = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600}
	OverheadBuckets = []float64{1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1}
	genDuration     = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	genFirstToken   = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
)

// verdicts are the guard's on the answers of a request, those that were thrown away first.
func verdicts(s *gateway.Summary) iter.Seq[*gateway.Verdict] {
	return func(yield func(*gateway.Verdict) bool) {
		for _, c := range s.Corrections {
			if c.Verdict != nil && !yield(c.Verdict) {
				return
			}
		}
		if n := len(s.Corrections); s.Guard != nil && (n == 0 || s.Corrections[n-1].Verdict != s.Guard) {
			yield(s.Guard)
		}
	}
}

// Rulings are those of the guard's judge on the answers of a request, those that were thrown away
// first.
func Rulings(s *gateway.Summary) iter.Seq[*gateway.Ruling] {
	return func(yield func(*gateway.Ruling) bool) {
		for v := range verdicts(s) {
			if v.Judged != nil && !yield(v.Judged) {
				return
			}
		}
	}
}

// MaxTokens is the highest bucket that the conventions give for tokens. No request has more; an
// upstream that says so is wrong.
const MaxTokens = 67108864

// AddCount adds a number that an upstream may have given. A counter panics if it is made
// smaller, and one that was made huge is of no use any more.
func AddCount(to Series, l Labels, n int) {
	if n > 0 {
		to.Add(l, float64(min(n, MaxTokens)))
	}
}

func addEach(to Series, counts map[string]int) {
	for name, n := range counts {
		AddCount(to, Labels{name}, n)
	}
}

func addTime(to Series, l Labels, d time.Duration) {
	if d > 0 {
		to.Add(l, d.Seconds())
	}
}

// Seconds is d for a histogram. A clock that was set back must not make its sum smaller.
func Seconds(d time.Duration) float64 { return max(d, 0).Seconds() }
