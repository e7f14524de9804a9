package breaker

import (
	"slices"
	"time"

	"github.com/sony/gobreaker/v2"
)

// State is one of the three states.
type State string

// The states.
const (
	Closed   State = "closed"    // requests are let through
	Open     State = "open"      // none is
	HalfOpen State = "half-open" // one is, as a probe
)

func stateOf(s gobreaker.State) State {
	switch s {
	case gobreaker.StateOpen:
		return Open
	case gobreaker.StateHalfOpen:
		return HalfOpen
	}
	return Closed
}

// Counts count requests. A request that is neither a success nor a failure nor excluded
// is in flight.
type Counts struct {
	Requests   uint64 `json:"requests"` // let through
	Successes  uint64 `json:"successes"`
	Failures   uint64 `json:"failures"`
	Excluded   uint64 `json:"excluded"`
	Rejections uint64 `json:"rejections"` // not let through
}

func (c Counts) minus(d Counts) Counts {
	return Counts{
		Requests:   c.Requests - d.Requests,
		Successes:  c.Successes - d.Successes,
		Failures:   c.Failures - d.Failures,
		Excluded:   c.Excluded - d.Excluded,
		Rejections: c.Rejections - d.Rejections,
	}
}

// Change is a change of state, or a reset of a breaker that was closed.
type Change struct {
	Name string    `json:"-"` // the breaker's
	At   time.Time `json:"at"`
	From State     `json:"from"`
	To   State     `json:"to"`
	// Reason is that of the result or reset that led to it.
	Reason string `json:"reason"`
	// Counts are of the time since the change before this one. Results of requests that
	// began even earlier are among them.
	Counts Counts `json:"counts"`
}

// Reasons where the caller gives none.
const (
	reasonFailures = "failures in a row"
	reasonProbe    = "the probe failed"
	reasonWell     = "the probe succeeded"
	reasonWaited   = "the open time is over"
	reasonReset    = "reset"
)

// maxHistory is how many changes are kept, and how many may wait for OnChange.
const maxHistory = 64

// change notes the new state. It is called with mu held, by gobreaker or Reset, and
// reason says why.
func (b *Breaker) change(to State) {
	now := time.Now()
	c := Change{
		Name: b.settings.Name, At: now.UTC(), From: b.state, To: to,
		Reason: clip(b.reason, maxReason), Counts: b.results.totals.minus(b.results.before),
	}
	if c.Reason == "" {
		c.Reason = defaultReason(c.From, to)
	}
	b.state, b.since, b.results.before = to, c.At, b.results.totals
	b.generation++
	b.done = nil
	if to == Open {
		b.until = now.Add(b.settings.Open)
	}
	b.changes.history = keep(b.changes.history, c)
	if b.settings.OnChange != nil {
		b.changes.waiting = keep(b.changes.waiting, c)
	}
}

func defaultReason(from, to State) string {
	switch {
	case to == Closed:
		return reasonWell
	case from == HalfOpen:
		return reasonProbe
	}
	return reasonFailures
}

// keep appends c; of too many the oldest goes.
func keep(list []Change, c Change) []Change {
	if len(list) == maxHistory {
		list = slices.Delete(list, 0, 1)
	}
	return append(list, c)
}

// unlock gives mu back and then tells OnChange what has changed.
func (b *Breaker) unlock() {
	changed := len(b.changes.waiting) > 0
	b.mu.Unlock()
	for changed {
		changed = b.announce()
	}
}

// announce passes the oldest waiting change to OnChange. It does nothing and returns
// false if there is none, or if another call is doing it: that one goes on until none
// is left, so changes arrive in order.
func (b *Breaker) announce() bool {
	b.mu.Lock()
	if b.changes.announcing || len(b.changes.waiting) == 0 {
		b.mu.Unlock()
		return false
	}
	c := b.changes.waiting[0]
	b.changes.waiting = slices.Delete(b.changes.waiting, 0, 1)
	b.changes.announcing = true
	b.mu.Unlock()
	defer func() { // also if OnChange panics
		b.mu.Lock()
		b.changes.announcing = false
		b.mu.Unlock()
	}()
	b.settings.OnChange(c)
	return true
}

// Snapshot is the state of a breaker at one moment, for people and for metrics. The
// totals never go back.
type Snapshot struct {
	Name  string    `json:"name"`
	State State     `json:"state"`
	Since time.Time `json:"since"` // of the last change, or of the start
	// ReopensIn is the number of seconds until an open breaker lets a probe through, 0 in
	// the other states.
	ReopensIn float64 `json:"reopens_in"`
	// Cooling is the number of seconds that the cool-down still lasts.
	Cooling float64 `json:"cooling"`
	// OpensAfter is how many failures in a row open the breaker.
	OpensAfter int `json:"opens_after"`
	// The results in a row that counted, across changes of state: of a breaker whose
	// probes fail the failures go on growing.
	ConsecutiveFailures  uint64 `json:"consecutive_failures"`
	ConsecutiveSuccesses uint64 `json:"consecutive_successes"`
	// Totals are since the start.
	Totals   Counts `json:"totals"`
	InFlight uint64 `json:"in_flight"`
	// FailureRate is failures by successes and failures, RejectionRate is rejections by
	// requests and rejections, since the start. Both are 0 to 1, and 0 without any.
	FailureRate   float64 `json:"failure_rate"`
	RejectionRate float64 `json:"rejection_rate"`
	// History holds the last 64 changes, the oldest first. It is never nil.
	History []Change `json:"history"`
}

// Snapshot returns the state now.
func (b *Breaker) Snapshot() Snapshot {
	b.mu.Lock()
	defer b.unlock()
	b.look()
	s := Snapshot{
		Name: b.settings.Name, State: b.state, Since: b.since, OpensAfter: b.settings.Failures,
		Cooling:              left(b.cooling).Seconds(),
		ConsecutiveFailures:  b.results.failures,
		ConsecutiveSuccesses: b.results.successes,
		Totals:               b.results.totals,
		History:              append([]Change{}, b.changes.history...),
	}
	if b.state == Open {
		s.ReopensIn = left(b.until).Seconds()
	}
	t := b.results.totals
	s.InFlight = t.Requests - t.Successes - t.Failures - t.Excluded
	s.FailureRate = rate(t.Failures, t.Successes)
	s.RejectionRate = rate(t.Rejections, t.Requests)
	return s
}

// rate returns part by part and rest.
func rate(part, rest uint64) float64 {
	if part == 0 {
		return 0
	}
	return float64(part) / float64(part+rest)
}
