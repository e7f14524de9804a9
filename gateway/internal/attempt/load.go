package attempt

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/callgate/callgate/gateway"
)

// targetKey is a model of a provider; no model stands for all that are not named otherwise.
type targetKey struct{ provider, model string }

// load is what a target has to do, and how it has done lately.
type load struct {
	running atomic.Int64

	mu      sync.Mutex
	first   average // to the first useful byte
	whole   average
	outcome string // of the last attempt that ended, "" if none has
	at      time.Time
}

// newLoads makes one for every target that is named, and for every provider one for all other
// models.
func newLoads(targets []gateway.Target, providers iter.Seq[string]) map[targetKey]*load {
	loads := map[targetKey]*load{}
	add := func(provider, model string) {
		if at := (targetKey{provider, model}); loads[at] == nil {
			loads[at] = &load{}
		}
	}
	for _, t := range targets {
		if t.Model != gateway.AnyModel { // which stands for all others, here and in metrics
			add(t.Provider, t.Model)
		}
	}
	for provider := range providers {
		add(provider, "")
	}
	return loads
}

// loadOf is the load of a target under the upstream's own name of its model.
func (e *Engine) loadOf(provider, model string) *load {
	if l := e.loads[targetKey{provider, model}]; l != nil {
		return l
	}
	return e.loads[targetKey{provider: provider}]
}

// ends notes how an attempt ended. first is how long its first useful byte took, 0 if none
// came; an attempt that failed says nothing of how fast the target is.
func (l *load) ends(outcome string, first, whole time.Duration) {
	l.running.Add(-1)
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcome, l.at = outcome, now
	if outcome != "ok" {
		return
	}
	l.whole.add(whole.Seconds(), now)
	if first > 0 {
		l.first.add(first.Seconds(), now)
	}
}

// average is the mean of recent values, each of which counts less the older it is: after
// memory for a third. Unlike a plain exponential average it takes values that come at once
// for alike, so that one of a burst does not stand for all.
type average struct {
	sum, weight float64
	at          time.Time
}

const (
	memory = 2 * time.Minute
	// forgotten is when an average says nothing any more.
	forgotten = 5 * memory
)

// add takes a value.
func (a *average) add(x float64, now time.Time) {
	fade := 0.0
	if age := now.Sub(a.at); age <= forgotten {
		fade = math.Exp(-age.Seconds() / memory.Seconds())
	}
	a.sum, a.weight, a.at = a.sum*fade+x, a.weight*fade+1, now
}

// value is the mean, or 0 if there was nothing lately.
func (a *average) value(now time.Time) float64 {
	if a.weight == 0 || now.Sub(a.at) > forgotten {
		return 0
	}
	return a.sum / a.weight
}

// Targets returns the state of every target that the configuration names, and of each
// provider for other models, sorted by provider and model.
func (e *Engine) Targets() []gateway.TargetState {
	now := time.Now()
	out := make([]gateway.TargetState, 0, len(e.loads))
	detours := e.detours.all(func(at targetKey) bool { return e.loads[at] != nil })
	for at, l := range e.loads {
		b := e.upstreams[at.provider].breaker
		s := gateway.TargetState{Provider: at.provider, Model: cmp.Or(at.model, gateway.AnyModel), Running: l.running.Load(),
			Breaker: b.Snapshot().State, Cooling: b.Cooling().Seconds()}
		s.Tools = detours[at]
		l.mu.Lock()
		s.FirstToken, s.Answer, s.LastOutcome, s.LastAt = l.first.value(now), l.whole.value(now), l.outcome, l.at
		l.mu.Unlock()
		out = append(out, s)
	}
	slices.SortFunc(out, func(x, y gateway.TargetState) int {
		return cmp.Or(cmp.Compare(x.Provider, y.Provider), cmp.Compare(x.Model, y.Model))
	})
	return out
}
