package breaker

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// Settings are what a Breaker is made of. The zero value of each field but Name is its
// default.
type Settings struct {
	// Name is the provider's, for errors and the log. What is over 128 bytes is cut off.
	Name string
	// Failures is how many of them in a row open the breaker. Default 5.
	Failures int
	// Open is how long the breaker stays open before it lets a probe through. Default 60s.
	Open time.Duration
	// ProbeTimeout is how long a probe keeps all others out. After it another request is
	// let through as a probe. It should be the longest that an attempt can take. Default 10m.
	ProbeTimeout time.Duration
	// OnChange is told of every change, in order and one at a time, with no lock held. It
	// may use the breaker. It runs in the goroutine of some request, so it should not
	// block; while it does, later changes wait for it and requests do not. Of more than 64
	// that wait, the oldest are left out. It may be nil.
	OnChange func(Change)
}

const (
	defaultFailures     = 5
	defaultOpen         = 60 * time.Second
	defaultProbeTimeout = 10 * time.Minute

	maxName   = 128 // bytes
	maxReason = 256 // bytes

	// maxCooling bounds what an upstream can ask for. Above it a slip of the upstream's
	// (milliseconds sent as seconds) would shut it out for days.
	maxCooling = 10 * time.Minute
	// probeWait is what a request is told that comes while a probe is under way. How long
	// that takes is not known, but a model that is well again answers in seconds, and
	// asking once too often costs next to nothing.
	probeWait = time.Second
)

// Outcome is what the result of a request says about the provider's health.
type Outcome int

// The outcomes.
const (
	// Success: the answer came, to its end.
	Success Outcome = iota
	// Failure: the provider could not be reached, failed, was too slow, or broke its answer
	// off, in a stream that began well too.
	Failure
	// Excluded: nothing can be said. The client left, its request was refused as its own
	// mistake, the provider limits the rate, or it refuses the gateway's own key.
	Excluded
)

var (
	errFailure  = errors.New("failure")
	errExcluded = errors.New("excluded")
)

// err is what gobreaker is told. What is no known outcome says nothing.
func (o Outcome) err() error {
	switch o {
	case Success:
		return nil
	case Failure:
		return errFailure
	}
	return errExcluded
}

// OpenError is why [Breaker.Allow] did not let a request through.
type OpenError struct {
	Name  string
	State State // Open, or HalfOpen: a probe is under way
	// RetryAfter is when to ask again, always over 0. In the open state no request is let
	// through before.
	RetryAfter time.Duration
}

// Error implements error.
func (e *OpenError) Error() string {
	return fmt.Sprintf("the circuit breaker of %q is %s; retry in %s", e.Name, e.State, e.RetryAfter.Round(time.Millisecond))
}

// Breaker is the circuit breaker of one provider. It is safe for concurrent use.
type Breaker struct {
	settings Settings

	// mu guards all that follows. gobreaker has a lock of its own, but a result, the
	// state it leads to and our counts have to change together.
	mu    sync.Mutex
	inner *gobreaker.TwoStepCircuitBreaker[struct{}]
	state State
	since time.Time
	// generation is another one after every change and for every probe. A result counts
	// if it is that under which its request began.
	generation uint64
	// done takes results to inner. In the half-open state it is the probe's, and nil while
	// none is under way. In the closed state it is nil until there is a result, and then
	// one for all: gobreaker's function holds no more than the generation it is from, and
	// to ask for one for each result would be an allocation for each.
	done    func(error)
	probed  time.Time // when the probe began
	until   time.Time // end of the open state
	cooling time.Time // end of the cool-down
	reason  string    // of the change that a call of inner may lead to

	results tally
	changes changes
}

// tally counts results.
type tally struct {
	totals              Counts
	before              Counts // the totals at the last change
	successes, failures uint64 // in a row
}

// changes are the last ones of the state.
type changes struct {
	history    []Change
	waiting    []Change // for OnChange
	announcing bool
}

// New makes a closed breaker.
func New(s Settings) *Breaker {
	s.Name = clip(s.Name, maxName)
	if s.Failures <= 0 {
		s.Failures = defaultFailures
	}
	if s.Open <= 0 {
		s.Open = defaultOpen
	}
	if s.ProbeTimeout <= 0 {
		s.ProbeTimeout = defaultProbeTimeout
	}
	b := &Breaker{settings: s, state: Closed, since: time.Now().UTC()}
	b.inner = b.newInner()
	return b
}

func (b *Breaker) newInner() *gobreaker.TwoStepCircuitBreaker[struct{}] {
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1,
		Interval:    0, // never clear the counts: see the package comment
		// gobreaker is open until the time has passed by at least a nanosecond, and a client
		// that waits just as long as it was told must get through.
		Timeout:       max(b.settings.Open-1, 1),
		ReadyToTrip:   func(c gobreaker.Counts) bool { return uint64(c.ConsecutiveFailures) >= uint64(b.settings.Failures) },
		IsExcluded:    func(err error) bool { return err == errExcluded },
		OnStateChange: func(_ string, _, to gobreaker.State) { b.change(stateOf(to)) },
	})
}

// Allow lets a request through, or says in an [*OpenError] why not. Whoever gets a pass
// calls its Done when the result is known. A cool-down does not keep requests out.
func (b *Breaker) Allow() (Pass, error) {
	b.mu.Lock()
	defer b.unlock()
	// Without an interval the closed state ends by a result only, so gobreaker need not
	// be asked before there is one.
	if b.state != Closed {
		if err := b.startProbe(time.Now()); err != nil {
			b.results.totals.Rejections++
			return Pass{}, err
		}
	}
	b.results.totals.Requests++
	return Pass{breaker: b, generation: b.generation}, nil
}

// startProbe makes the request at hand the probe, if it is time for one and none is
// under way.
func (b *Breaker) startProbe(now time.Time) error {
	if b.done != nil && b.probeOver(now) {
		b.done(errExcluded) // gives the place back
		b.done = nil
	}
	b.reason = reasonWaited
	done, err := b.inner.Allow()
	if err != nil {
		return b.rejection(now)
	}
	b.done, b.probed = done, now
	b.generation++
	return nil
}

func (b *Breaker) rejection(now time.Time) *OpenError {
	wait := b.until.Sub(now)
	if b.state == HalfOpen {
		wait = min(probeWait, b.probed.Add(b.settings.ProbeTimeout).Sub(now))
	}
	// gobreaker reads the clock for itself, a moment earlier or later.
	return &OpenError{Name: b.settings.Name, State: b.state, RetryAfter: max(wait, time.Millisecond)}
}

func (b *Breaker) probeOver(now time.Time) bool {
	return now.Sub(b.probed) >= b.settings.ProbeTimeout
}

// Pass is the right to send one request. Its zero value is none, and its Done does
// nothing. It is not to be copied: keep what Allow returned where it is, or a pointer
// to it.
type Pass struct {
	breaker    *Breaker
	generation uint64
	done       atomic.Bool
}

// Done says how the request ended. It is called at the end of the answer, a stream's
// too, and on every way out; only the first call counts, whichever goroutine makes it.
// The reason is for the history and the log, such as the code of an error, and may be
// empty; of more than 256 bytes the rest is cut off.
func (p *Pass) Done(o Outcome, reason string) {
	if p.breaker == nil || !p.done.CompareAndSwap(false, true) {
		return
	}
	b := p.breaker
	b.mu.Lock()
	defer b.unlock()
	switch o {
	case Success:
		b.results.totals.Successes++
	case Failure:
		b.results.totals.Failures++
	default:
		b.results.totals.Excluded++
	}
	if p.generation == b.generation {
		b.report(o, reason)
	}
}

// report takes in a result that counts.
func (b *Breaker) report(o Outcome, reason string) {
	switch o {
	case Success:
		b.results.successes, b.results.failures = b.results.successes+1, 0
	case Failure:
		b.results.successes, b.results.failures = 0, b.results.failures+1
	}
	b.reason = reason
	if b.done == nil { // the first result in the closed state, which refuses none
		b.done, _ = b.inner.Allow()
	}
	done := b.done
	if b.state == HalfOpen {
		b.done = nil
	}
	done(o.err())
}

// Available says whether Allow would let a request through now. It takes nobody's place
// as the probe. It is for the order in which targets are tried.
func (b *Breaker) Available() bool {
	b.mu.Lock()
	defer b.unlock()
	b.look()
	return b.state == Closed || b.state == HalfOpen && (b.done == nil || b.probeOver(time.Now()))
}

// State returns the state now.
func (b *Breaker) State() State {
	b.mu.Lock()
	defer b.unlock()
	b.look()
	return b.state
}

// look makes an open breaker half-open if it is time.
func (b *Breaker) look() {
	if b.state == Open {
		b.reason = reasonWaited
		b.inner.State()
	}
}

// CoolDown notes that the provider limits the rate and will do so for d: what a 429
// says in Retry-After. The later of two ends holds, and none is more than 10 minutes
// from now. No request is kept out by it.
func (b *Breaker) CoolDown(d time.Duration) {
	if d <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if end := time.Now().Add(min(d, maxCooling)); end.After(b.cooling) {
		b.cooling = end
	}
}

// Cooling returns how long the cool-down still lasts, 0 without one.
func (b *Breaker) Cooling() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return left(b.cooling)
}

// left returns how long it is until t, 0 if it is past.
func left(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return max(0, time.Until(t))
}

// Reset closes the breaker at once, whatever its state, and ends a cool-down: somebody
// knows that the provider is well. The results of requests that began before are
// ignored. The totals stay. An empty reason is "reset".
func (b *Breaker) Reset(reason string) {
	if reason == "" {
		reason = reasonReset
	}
	b.mu.Lock()
	defer b.unlock()
	b.inner = b.newInner()
	b.cooling = time.Time{}
	b.results.successes, b.results.failures = 0, 0
	b.reason = reason
	b.change(Closed)
}

// clip makes text fit for a snapshot: valid UTF-8 of at most limit bytes.
func clip(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "?") // no longer than what it stands for
}
