// Package history remembers what the last week brought, for the operator's page: counts and times in
// buckets, by provider and model, what was repaired and what failed by kind, money, and the last
// requests that were not clean. It is fed with finished Records beside the metrics, keeps nothing of
// what prompts and answers say, and lives as long as the process.
//
// All of it is bounded, whatever clients and upstreams write: at most 64 pairs of a provider and a
// model, 64 kinds of each class, 4 currencies and 250 requests, in less than 20 MB.
package history

import (
	"sync"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/telemetry"
)

// Options are what a History is made of. All may be left out.
type Options struct {
	// Now is the clock.
	Now func() time.Time
	// Models are the upstreams' names of the models that the configuration names. Others are
	// counted by the entry that led to them, since clients can write any name there.
	Models []string
}

// History holds what the last week brought. It may be used by many goroutines.
type History struct {
	now   func() time.Time
	since time.Time

	mu      sync.Mutex // guards what follows
	models  map[string]bool
	total   *series
	targets map[targetKey]*target
	kinds   [classes]map[string]*tally
	money   []*purse
	last    ring // not clean
	worst   ring // those of them that failed, or that the client got broken
	seq     uint64
}

type targetKey struct{ provider, model string }

type target struct {
	*series
	seen time.Time
}

// What bounds a history.
const (
	maxTargets    = 64
	maxKinds      = 64
	maxCurrencies = 4
	maxLast       = 200
	maxWorst      = 50
	maxName       = 100 // bytes
	other         = "other"
)

// New makes an empty history.
func New(o Options) *History {
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &History{now: o.Now, since: o.Now(), total: &series{}, targets: map[targetKey]*target{},
		last: newRing(maxLast), worst: newRing(maxWorst)}
	h.Know(o.Models)
	for i := range h.kinds {
		h.kinds[i] = map[string]*tally{}
	}
	return h
}

// Know has the history count models by their own names which a new configuration names, in place of
// those that the one before has named.
func (h *History) Know(models []string) {
	known := map[string]bool{}
	for _, m := range models {
		known[m] = true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.models = known
}

// Since is when the history began.
func (h *History) Since() time.Time { return h.since }

// Request remembers a request that is over. paid is what it has cost and saved, as far as that is
// known. It takes about a microsecond, and of a clean request it keeps nothing but numbers.
func (h *History) Request(r *gateway.Record, paid Money) {
	j := judge(r)
	now := h.now()
	paid.Currency = short(paid.Currency)
	var e *Entry
	if j.marks != 0 {
		e = entryOf(r, &j, now)
		e.Paid = paid
	}
	r.Recording.End(e != nil)
	var first, took time.Duration
	if r.Summary != nil {
		first = r.Summary.FirstToken
	}
	if j.counts[Failed]+j.counts[Refused] == 0 {
		took = r.Took
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.total.add(now, &j.counts, first, took)
	h.pay(now, paid)
	if s := r.Summary; s != nil {
		h.asked(now, r, &j, first, took)
		if j.changed {
			h.countAll(now, Repair, s.Repairs)
		}
		h.countAll(now, Fault, s.Faults)
		for _, w := range s.Warnings {
			h.count(now, Warning, warningKind(w), 1)
		}
	}
	if code := telemetry.ErrorType(r); code != "" {
		h.count(now, Failure, code, 1)
	}
	if e == nil {
		return
	}
	h.seq++
	e.Seq = h.seq
	h.last.push(e)
	if j.marks&(MarkFailed|MarkBroken|MarkGhost) != 0 {
		h.worst.push(e)
	}
}

// Spend adds money that belongs to no answer of its own, such as that of a judge.
func (h *History) Spend(m Money) {
	now := h.now()
	m.Currency = short(m.Currency)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pay(now, m)
}

// asked counts the attempts of a request at their targets, and what became of the answer at the one
// that gave it.
func (h *History) asked(now time.Time, r *gateway.Record, j *judgement, first, took time.Duration) {
	s := r.Summary
	for i := range s.Attempts {
		a := &s.Attempts[i]
		if a.Outcome == circuitOpen { // nobody was asked
			continue
		}
		if a.Outcome != ok && a.Outcome != running {
			h.count(now, Outcome, a.Outcome, 1)
		}
		var c Counts
		c[Requests] = 1
		end := i == len(s.Attempts)-1
		switch {
		case end:
			c[Failed] = j.counts[Failed]
		case a.Outcome != ok && a.Outcome != running && a.Outcome != clientLeft && !corrected(s.Attempts[i+1].Reason):
			c[Failed] = 1
		}
		if i > 0 {
			c[Retried] = one(a.Reason == gateway.Retry)
			c[FellBack] = one(a.Reason == gateway.Fallback)
			c[Reasked] = one(corrected(a.Reason))
		}
		t := h.target(now, a.Provider, h.model(r, a.Model))
		if !end {
			t.add(now, &c, 0, 0)
			continue
		}
		for _, n := range [...]Count{Faulted, Repaired, Broken, Ghosts, GhostsPassed, TextCalls, NativeCalls, Input, Cached, Output} {
			c[n] = j.counts[n]
		}
		t.add(now, &c, first, took)
	}
}

// model is what a model is counted by.
func (h *History) model(r *gateway.Record, model string) string {
	if h.models[model] || r.Route == "" {
		return model
	}
	return r.Route
}

// target is the series of a provider's model.
func (h *History) target(now time.Time, provider, model string) *series {
	key := targetKey{provider, model}
	t, known := h.targets[key]
	if !known {
		t = h.admit(now, key)
	}
	t.seen = now
	return t.series
}

// admit makes a place for a target that is new. If there is none, one that was not asked for a week
// has to go.
func (h *History) admit(now time.Time, key targetKey) *target {
	key.provider, key.model = name(key.provider), name(key.model)
	if t, known := h.targets[key]; known {
		return t
	}
	if len(h.targets) >= maxTargets-1 {
		for k, t := range h.targets {
			if now.Sub(t.seen) > Week.Span() {
				delete(h.targets, k)
			}
		}
	}
	if len(h.targets) >= maxTargets-1 {
		key = targetKey{other, other}
		if t, known := h.targets[key]; known {
			return t
		}
	}
	t := &target{series: &series{}}
	h.targets[key] = t
	return t
}

// Class is what a kind is one of.
type Class int

// The classes.
const (
	Repair  Class = iota // what was repaired: args_json
	Fault                // what was wrong with calls, and with answers that were to be JSON: invalid_json
	Failure              // codes of errors: upstream_timeout
	Warning              // what stands before a warning's first colon
	Outcome              // how attempts ended that did not end well, those behind which another one did among them
	classes
)

func (h *History) countAll(now time.Time, c Class, counts map[string]int) {
	for kind, n := range counts {
		h.count(now, c, kind, n)
	}
}

func (h *History) count(now time.Time, c Class, kind string, n int) {
	if n <= 0 {
		return
	}
	kinds := h.kinds[c]
	t, known := kinds[kind]
	if !known {
		kind = name(kind)
		if len(kinds) >= maxKinds-1 {
			kind = other
		}
		if t = kinds[kind]; t == nil {
			t = &tally{}
			kinds[kind] = t
		}
	}
	t.add(now, uint64(n))
}
