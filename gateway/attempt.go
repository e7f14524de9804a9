package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/gateway/prefix"
)

// attempts is a client's request on its way through the targets of its route, until
// one has begun a useful answer or the budget is spent. Retries and fallbacks share
// one budget and one deadline: as many attempts as the retries allow, or one for
// each target if there are more of those.
type attempts struct {
	g        *Gateway
	chain    prefix.Chain     // of the prompt
	decision *prefix.Decision // by it; nil if nobody looked
	noted    *Prompt          // nil if nobody wants it
	asked    *Request         // what the client asked for
	req      *Request         // that, with what was changed for all targets
	conduct  *conduct
	way      *chosen
	choice   toolChoice // of req, before a call is demanded
	guarded  bool       // answers without a call are judged
	remark   string     // to the model, behind the messages; some upstreams refuse it there
	bare     *Request   // req without the remark, if that was not tried yet
	began    time.Time
	prepared time.Duration // spent on the request before any upstream was asked
	targets  []*candidate  // in the order in which they are asked
	current  *candidate
	made     []Attempt
	retries  int            // so far
	refused  int            // targets that were not asked, since a breaker or a bucket was against it
	reasked  int            // corrections of the model, of any sort
	waited   bool           // for a Retry-After where no retries are allowed, which happens once
	last     *Error         // the latest failure that says more than that nobody was asked
	faults   map[string]int // of answers that were thrown away
	// warnings say which targets were left out, and why, and what is odd about the
	// request.
	warnings   []string
	changes    []string // of the request, by kind
	rounds     *Rounds  // of tools; nil if there are none
	references *reference.Resolver
	forced     *Verdict // on an answer without the call that is now demanded
	verdict    *Verdict // on the last answer
	// corrections are what the model was told to do better.
	corrections []Correction
	broken      *PrefixChange // of what the client sent before; nil: none
	hint        HintKind      // that the latest attempt was sent with
	unhinted    bool          // no hint is given any more: one was refused
	hintedAt    *upstream     // which refused it
}

// candidate is a target of the route, with what became of it.
type candidate struct {
	Target
	model    string
	upstream *upstream
	load     *load
	retries  int // how many the request may take, as far as this target goes
	tried    int
	asked    bool      // or refused
	last     *Error    // its latest failure
	notYet   time.Time // until then it wants to be left alone
	failed   time.Time
}

// begin orders the targets of a request.
func (a *attempts) begin() *attempts {
	g, req, targets := a.g, a.req, a.way.targets
	if !a.conduct.Affinity {
		targets = order(targets)
	}
	for _, t := range targets {
		c := &candidate{Target: t, model: resolveModel(t, a.way.model), upstream: g.upstreams[t.Provider]}
		c.load = g.loadOf(c.Provider, c.model)
		c.retries = c.upstream.policy.Retry.Max
		if req.MaxRetries != nil {
			c.retries = *req.MaxRetries
		}
		c.retries = max(c.retries-req.ClientRetries, 0) // what the client's SDK has tried is tried
		a.targets = append(a.targets, c)
	}
	a.postpone()
	a.near()
	a.noted = a.prompt()
	return a
}

// postpone puts the first targets behind the others that are open or want to be left
// alone, and says so. They may be asked nevertheless: they may be all there is.
func (a *attempts) postpone() {
	ready := slices.IndexFunc(a.targets, func(c *candidate) bool { return c.upstream.ready() })
	if ready <= 0 {
		return
	}
	for _, c := range a.targets[:ready] {
		if c.upstream.breaker.Available() {
			a.warn("cooling:" + c.Provider)
			continue
		}
		a.warn("circuit_open:" + c.Provider)
		c.upstream.reject()
	}
	a.targets = slices.Concat(a.targets[ready:], a.targets[:ready])
}

func (a *attempts) warn(w string) {
	if !slices.Contains(a.warnings, w) {
		a.warnings = append(a.warnings, w)
	}
}

// order puts a target in front that is drawn by its weight, if any has one.
func order(targets []Target) []Target {
	total := 0
	for _, t := range targets {
		total += t.Weight
	}
	if total == 0 || len(targets) == 1 {
		return targets
	}
	n := rand.IntN(total) //nolint:gosec // chance, not a secret
	for i, t := range targets {
		if n -= t.Weight; n < 0 {
			return slices.Concat(targets[i:i+1], targets[:i], targets[i+1:])
		}
	}
	return targets
}

// run asks until there is an answer to give.
func (a *attempts) run(ctx context.Context) (*Response, error) {
	s := step{target: a.targets[0], reason: First}
	for {
		a.current = s.target
		resp, err := a.try(ctx, s)
		if err == nil {
			a.answeredUnhinted(s.target.upstream)
			return resp, nil
		}
		e := AsError(err)
		a.note(s.target, e)
		failed := s.target
		if a.reask(e) {
			s.reason, s.wait = Reask, 0
		} else if a.force(e) {
			s.reason, s.wait = Forced, 0
		} else if a.unhint(e) || a.strip(e) {
			s.reason, s.wait = Retry, 0
		} else if next, ok := a.after(ctx, e); ok {
			s = next
		} else {
			return nil, a.failed(e)
		}
		a.g.log.WarnContext(ctx, "target failed", "id", a.req.ID, "provider", failed.Provider, "upstream_model", failed.model,
			"code", e.CodeOrDefault(), "error", e.Error(), "next", s.reason, "next_provider", s.target.Provider, "wait", s.wait)
		if err := sleep(ctx, s.wait); err != nil {
			return nil, a.failed(err)
		}
	}
}

// strip prepares the next attempt without our remark, where an upstream refuses the request
// with it: some want a message of the model's behind every result.
func (a *attempts) strip(e *Error) bool {
	if a.bare == nil || e.Kind != Rejected {
		return false
	}
	a.req, a.bare = a.bare, nil
	return true
}

// try makes one attempt at a target, if its breaker lets it.
func (a *attempts) try(ctx context.Context, s step) (*Response, error) {
	c := s.target
	c.asked = true
	r := &Response{gateway: a.g, ctx: ctx, req: a.req,
		Summary: Summary{Route: &a.way.RouteChoice, Provider: c.Provider, Model: c.model},
		attempt: attempt{upstream: c.upstream, target: c.Target, faults: maps.Clone(a.faults), requested: a.began, of: a}}
	var err error
	if r.permit, err = c.upstream.breaker.Allow(); err != nil {
		return nil, a.open(c, err)
	}
	kept := false
	defer func() {
		if !kept { // also if something panicked: the breaker must hear how it ended
			r.Close()
		}
	}()
	if s.reason == Retry || s.reason == Fallback && len(a.made) > 0 {
		if r.further = true; !c.upstream.bucket.allows() {
			return nil, a.throttled(c)
		}
	}
	c.tried++
	c.load.begins()
	r.load = c.load
	r.Summary.Prompt = a.noted
	r.Summary.Prefix, r.expected = a.expects(c.name())
	a.made = append(a.made, Attempt{Provider: c.Provider, Model: c.model, Reason: s.reason, Outcome: "running", Wait: s.wait})
	r.began, r.Summary.Attempts = time.Now(), slices.Clone(a.made)
	for _, w := range a.warnings {
		r.Summary.Warn(w)
	}
	for _, kind := range a.changes {
		r.repaired(kind)
	}
	r.Summary.Rounds, r.Summary.Corrections, r.Summary.PrefixChange = a.rounds, a.corrections, a.broken
	if err = r.open(); err == nil {
		err = r.commit()
	}
	if err != nil {
		r.settle(err)
		a.made[len(a.made)-1] = r.Summary.Attempts[len(a.made)-1]
		r.summarise()
		a.faults = r.Summary.Faults
		if r.further && AsError(err).next() == again {
			c.upstream.bucket.failed()
		}
		return nil, err
	}
	kept, r.told = true, len(r.Summary.own)
	c.upstream.bucket.succeeded()
	return r, nil
}

// open is the failure of a target whose breaker is open.
func (a *attempts) open(c *candidate, err error) *Error {
	a.refused++
	a.warn("circuit_open:" + c.Provider)
	e := &Error{Kind: CircuitOpen, Message: fmt.Sprintf("Provider %q has failed too often and is left alone for a while.", c.Provider)}
	var open *breaker.OpenError
	if errors.As(err, &open) {
		e.RetryAfter = open.RetryAfter
	}
	return e
}

// throttled is the failure of a target that is not asked, since what is asked beyond
// first attempts has failed there too often.
func (a *attempts) throttled(c *candidate) *Error {
	a.refused++
	a.warn("retry_budget:" + c.Provider)
	return &Error{Kind: CircuitOpen, Code: "retry_budget_spent", RetryAfter: time.Second,
		Message: fmt.Sprintf("Provider %q fails so often that nothing is tried again there for now.", c.Provider)}
}

// note keeps what a failure says about its target.
func (a *attempts) note(c *candidate, e *Error) {
	c.failed, c.last = time.Now(), e
	if e.RetryAfter > 0 && e.Kind != CircuitOpen {
		c.notYet = c.failed.Add(e.RetryAfter)
		c.upstream.breaker.CoolDown(e.RetryAfter)
	}
	switch {
	case a.last == nil || e.Kind != CircuitOpen:
		a.last = e
	case a.last.Kind == CircuitOpen && e.RetryAfter < a.last.RetryAfter: // the earliest to close
		a.last = e
	}
}

// step is what follows a failure: an attempt at a target, after a wait.
type step struct {
	target *candidate
	reason Reason
	wait   time.Duration
}

// after decides what follows a failure, if anything: a target that was not asked yet, at
// once; or else one that was, after a while.
func (a *attempts) after(ctx context.Context, e *Error) (s step, ok bool) {
	if e.next() == giveUp || a.forced != nil || ctx.Err() != nil {
		return step{}, false
	}
	for _, c := range a.targets {
		if !c.asked {
			return step{target: c, reason: Fallback}, true
		}
	}
	if s.target = a.earliest(); s.target == nil {
		return step{}, false
	}
	if s.wait = time.Until(s.target.notYet); s.wait <= 0 {
		s.wait = s.target.upstream.policy.Retry.backoff(a.retries)
	}
	if deadline, limited := ctx.Deadline(); limited && time.Until(deadline) < s.wait {
		return step{}, false
	}
	a.waited = a.waited || s.target.retries == 0
	a.retries++
	if s.reason = Retry; s.target != a.current {
		s.reason = Fallback
	}
	return s, true
}

// earliest is the target that may be asked once more, and first; nil if there is none.
func (a *attempts) earliest() *candidate {
	var best *candidate
	now := time.Now()
	for _, c := range a.targets {
		wait := max(c.notYet.Sub(now), 0)
		if c.last.next() != again || !a.allows(c) || wait > c.upstream.policy.Retry.Cap || !c.upstream.breaker.Available() {
			continue
		}
		if best == nil || wait < max(best.notYet.Sub(now), 0) || wait == 0 && c.failed.Before(best.failed) && !best.notYet.After(now) {
			best = c
		}
	}
	return best
}

// allows reports whether the budget lets a target be asked once more. Where it allows
// no retries at all, a 429 that says how long to wait is waited for once, unless it was
// the client's SDK that came back.
func (a *attempts) allows(c *candidate) bool {
	if c.retries == 0 {
		return !a.waited && a.req.ClientRetries == 0 && c.last.Kind == Limited && c.last.RetryAfter > 0
	}
	most := 0
	for _, t := range a.targets {
		most = max(most, t.retries)
	}
	return c.tried-a.reasked <= c.retries && len(a.made)-a.reasked < max(1+most, len(a.targets)-a.refused)
}

// failed is the error for the client when nothing more is tried.
func (a *attempts) failed(e *Error) error {
	if e.Kind == CircuitOpen {
		e = a.last
	}
	out := *a.unforced(e)
	verdict := a.verdict
	if out.Kind == Ghost && (verdict == nil || !verdict.Ghost) {
		verdict = a.forced
	}
	out.Summary = &Summary{Route: &a.way.RouteChoice, Provider: a.current.Provider, Model: a.current.model, Attempts: a.made, Faults: a.faults,
		Report: a.report(), Rounds: a.rounds, Guard: verdict, Corrections: a.corrections, PrefixChange: a.broken}
	for _, c := range a.targets { // the earliest that something may have changed
		if d := time.Until(c.notYet); out.Kind == Limited && d > 0 && d < out.RetryAfter && c != a.current {
			out.RetryAfter = d
		}
	}
	if len(a.made) > 1 && out.Body == nil && out.Kind != Ghost {
		var tried []string
		for _, m := range a.made {
			tried = append(tried, fmt.Sprintf("%s/%s (%s)", m.Provider, m.Model, m.Outcome))
		}
		out.Message = strings.TrimRight(out.Message, ". ") + ". Tried: " + strings.Join(tried, ", ") + "."
	}
	return &out
}

// report is what there is to say of a request that has no answer.
func (a *attempts) report() chain.Report {
	r := chain.Report{Warnings: a.warnings}
	for _, kind := range a.changes {
		r.Repairs = count(r.Repairs, kind)
	}
	return r
}

// sleep waits, or ends with the request.
func sleep(ctx context.Context, d time.Duration) *Error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}
