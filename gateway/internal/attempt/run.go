package attempt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/internal/toolway"
	"github.com/callgate/callgate/gateway/quality"
)

// run is a client's request on its way through the targets of its route, until one has begun
// a useful answer or the budget is spent. Retries and fallbacks share one budget and one
// deadline: as many attempts as the retries allow, or one for each target if there are more
// of those.
type run struct {
	*Engine
	plan     *Plan
	targets  []*candidate // in the order in which they are asked
	current  *candidate
	made     []gateway.Attempt
	warnings []string       // which targets were left out, and why, and what is odd about the request
	faults   map[string]int // of answers that were thrown away
	verdict  *gateway.Verdict
	last     *gateway.Error // the latest failure that says more than that nobody was asked
	spent    spent
	redo     *gateway.Redo // the latest that was heeded
	redone   []gateway.Correction
	remarks  []*gateway.Redo // what the model is told besides the client's messages
	withdrew withdrawals
	quality  *gateway.Error // the first failure that another target was asked behind, by FallbackOn
}

// spent is how much of the budget a request has used.
type spent struct {
	retries int  // so far
	refused int  // targets that were not asked, since a breaker or a bucket was against it
	reasked int  // corrections of the model, of any sort
	waited  bool // for a Retry-After where no retries are allowed, which happens once
}

// candidate is a target of the route, with what became of it.
type candidate struct {
	gateway.Target
	model    string
	upstream *upstream
	load     *load
	retries  int                 // how many the request may take, as far as this target goes
	waits    gateway.RetryPolicy // how long between them
	tried    int
	asked    bool           // or refused
	last     *gateway.Error // its latest failure
	notYet   time.Time      // until then it wants to be left alone
	failed   time.Time
	way      toolway.Refusal // how it is asked for calls, if it refuses tools
	found    bool            // this request has found that out
	arm      int             // its place among the plan's targets
	owed     *quality.Turn   // whose first answer failed, while the model is asked again
}

// Do sends a request to one target after the other, as far as need be. An error is an
// *gateway.Error that says what was tried.
func (e *Engine) Do(ctx context.Context, p *Plan) (*gateway.Response, error) {
	r := &run{Engine: e, plan: p, warnings: slices.Clone(p.Warnings)}
	for _, arm := range e.arrange(p) {
		t := p.Targets[arm]
		c := &candidate{Target: t, arm: arm, model: t.Model, upstream: e.upstreams[t.Provider]}
		if c.model == "" {
			c.model = p.Model
		}
		c.load = e.loadOf(c.Provider, c.model)
		c.retries = c.upstream.retry.Max
		if p.Asked.Wishes.MaxRetries != nil {
			c.retries = *p.Asked.Wishes.MaxRetries
		}
		c.waits = waits(c.upstream.retry, p.Asked.Wishes)
		c.retries = max(c.retries-p.Asked.Wishes.ClientRetries, 0) // what the client's SDK has tried is tried
		if adapts(&c.Target) && p.Base.Reading.OffersTools() {
			r.warn(c.detour(e.detours.of(r.detourKey(c))))
		}
		r.targets = append(r.targets, c)
	}
	r.postpone()
	r.order()
	return r.ask(ctx)
}

// waits are those of a provider's retries, unless the client says others.
func waits(p gateway.RetryPolicy, asked gateway.Wishes) gateway.RetryPolicy {
	if asked.MaxDelay > 0 {
		p.Cap = asked.MaxDelay
	}
	if asked.BaseDelay > 0 {
		p.Base, p.Cap = asked.BaseDelay, max(p.Cap, asked.BaseDelay)
	}
	p.Base = min(p.Base, p.Cap)
	return p
}

// weighted draws the target that is asked first by its weight, if any has one; else it is the first.
func weighted(targets []gateway.Target) int {
	total := 0
	for i := range targets {
		total += targets[i].Weight
	}
	if total == 0 || len(targets) == 1 {
		return 0
	}
	n := rand.IntN(total) //nolint:gosec // chance, not a secret
	for i := range targets {
		if n -= targets[i].Weight; n < 0 {
			return i
		}
	}
	return 0
}

// postpone puts the first targets behind the others that are open or want to be left
// alone, and says so. They may be asked nevertheless: they may be all there is.
func (r *run) postpone() {
	ready := slices.IndexFunc(r.targets, func(c *candidate) bool { return c.upstream.ready() })
	if ready <= 0 {
		return
	}
	for _, c := range r.targets[:ready] {
		if c.upstream.breaker.Available() {
			r.warn("cooling:" + c.Provider)
			continue
		}
		r.warn("circuit_open:" + c.Provider)
		if pass, err := c.upstream.breaker.Allow(); err == nil { // this counts it, or it has just become ready
			pass.Done(breaker.Excluded, "not asked")
		}
	}
	r.targets = slices.Concat(r.targets[ready:], r.targets[:ready])
}

// order lets the affinity say which targets come first.
func (r *run) order() {
	if r.plan.Affinity == nil {
		return
	}
	list := make([]gateway.Candidate, len(r.targets))
	for i, c := range r.targets {
		list[i] = gateway.Candidate{Target: c.Target, Running: int(c.load.running.Load()), Ready: c.upstream.ready()}
	}
	r.pass(list)
	ordered := make([]*candidate, len(r.targets))
	for i, place := range r.plan.Affinity.Order(list) {
		ordered[i] = r.targets[place]
	}
	r.targets = ordered
}

func (r *run) warn(w string) {
	if w != "" && !slices.Contains(r.warnings, w) {
		r.warnings = append(r.warnings, w)
	}
}

// step is what follows a failure: an attempt at a target, after a wait.
type step struct {
	target *candidate
	reason gateway.Reason
	wait   time.Duration
}

// ask asks until there is an answer to give.
func (r *run) ask(ctx context.Context) (*gateway.Response, error) {
	s := step{target: r.targets[0], reason: gateway.First}
	for {
		r.current = s.target
		resp, err := r.try(ctx, s)
		if err == nil {
			r.withdrew.confirm(s.target.upstream)
			r.detoured(s.target)
			return resp, nil
		}
		e := gateway.AsError(err)
		r.note(s.target, e)
		failed := s.target
		if reason, again := r.correct(e); again {
			s.reason, s.wait = reason, 0
		} else if next, ok := r.after(ctx, e); ok {
			s = next
		} else {
			return nil, r.failed(e)
		}
		r.log.WarnContext(ctx, "target failed", "id", r.plan.Asked.ID, "provider", failed.Provider, "upstream_model", failed.model,
			"code", e.CodeOrDefault(), "error", e.Error(), "next", s.reason, "next_provider", s.target.Provider, "wait", s.wait)
		if err := sleep(ctx, s.wait); err != nil {
			return nil, r.failed(err)
		}
	}
}

// maxCorrections is how often the model is corrected in a request: told that its call is
// refused, or that it has to make one.
const maxCorrections = 1

// mayCorrect reports whether the model may be corrected yet.
func (r *run) mayCorrect() bool {
	return r.spent.reasked < maxCorrections && r.plan.Base.Reading.HasMessages()
}

// correct prepares the next attempt at the same target: one in which the model is told what was
// wrong, or one without something of ours that the upstream refuses.
func (r *run) correct(e *gateway.Error) (reason gateway.Reason, again bool) {
	if e.Redo != nil && r.mayCorrect() {
		r.spent.reasked++
		r.redo = e.Redo
		r.redone, r.remarks = append(r.redone, e.Redo.Notes...), append(r.remarks, e.Redo)
		r.verdict = nil
		return e.Redo.Reason, true
	}
	if r.detour(e) {
		return gateway.Retry, true
	}
	if warning, ok := r.withdrew.take(e, r.current.upstream); ok {
		r.warn(warning)
		return gateway.Retry, true
	}
	return "", false
}

// note keeps what a failure says about its target.
func (r *run) note(c *candidate, e *gateway.Error) {
	c.failed, c.last = time.Now(), e
	r.warn(e.Warning)
	if e.RetryAfter > 0 && e.Kind != gateway.CircuitOpen {
		c.notYet = c.failed.Add(e.RetryAfter)
		c.upstream.breaker.CoolDown(e.RetryAfter)
	}
	switch {
	case r.last == nil || e.Kind != gateway.CircuitOpen:
		r.last = e
	case r.last.Kind == gateway.CircuitOpen && e.RetryAfter < r.last.RetryAfter: // the earliest to close
		r.last = e
	}
}

// after decides what follows a failure, if anything: a target that was not asked yet, at
// once; or else one that was, after a while.
func (r *run) after(ctx context.Context, e *gateway.Error) (s step, ok bool) {
	if ctx.Err() != nil {
		return step{}, false
	}
	over := e.Next() == gateway.GiveUp || r.demanded() != nil
	quality := slices.Contains(r.plan.FallbackOn, e.Cause())
	if c := r.unasked(); c != nil && (quality || !over) {
		if quality {
			r.leave(e)
		}
		return step{target: c, reason: gateway.Fallback}, true
	}
	if over {
		return step{}, false
	}
	if s.target = r.earliest(); s.target == nil {
		return step{}, false
	}
	if s.wait = time.Until(s.target.notYet); s.wait <= 0 {
		s.wait = backoff(s.target.waits, r.spent.retries)
	}
	if deadline, limited := ctx.Deadline(); limited && time.Until(deadline) < s.wait {
		return step{}, false
	}
	r.spent.waited = r.spent.waited || s.target.retries == 0
	r.spent.retries++
	if s.reason = gateway.Retry; s.target != r.current {
		s.reason = gateway.Fallback
	}
	return s, true
}

// unasked is the first target that was not asked yet, or nil.
func (r *run) unasked() *candidate {
	for _, c := range r.targets {
		if !c.asked {
			return c
		}
	}
	return nil
}

// leave notes that another target is asked because of what this one has answered. What the model was
// told of its own answer is of no use to the next one.
func (r *run) leave(e *gateway.Error) {
	r.warn("fallback_on:" + string(e.Cause()))
	r.redo, r.remarks = nil, nil
	if r.quality == nil {
		r.quality = e
	}
}

// demanded is the verdict that demands a call, if one is demanded.
func (r *run) demanded() *gateway.Verdict {
	if r.redo == nil {
		return nil
	}
	return r.redo.Demanded
}

// earliest is the target that may be asked once more, and first; nil if there is none.
func (r *run) earliest() *candidate {
	var best *candidate
	now := time.Now()
	for _, c := range r.targets {
		wait := max(c.notYet.Sub(now), 0)
		if c.last.Next() != gateway.Again || !r.allows(c) || wait > c.waits.Cap || !c.upstream.breaker.Available() {
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
func (r *run) allows(c *candidate) bool {
	if c.retries == 0 {
		return !r.spent.waited && r.plan.Asked.Wishes.ClientRetries == 0 && c.last.Kind == gateway.RateLimited && c.last.RetryAfter > 0
	}
	most := 0
	for _, t := range r.targets {
		most = max(most, t.retries)
	}
	return c.tried-r.spent.reasked <= c.retries && len(r.made)-r.spent.reasked < max(1+most, len(r.targets)-r.spent.refused)
}

// errBreakerOpen is the failure of a target whose breaker is open.
func (r *run) errBreakerOpen(c *candidate, err error) *gateway.Error {
	r.spent.refused++
	e := &gateway.Error{Kind: gateway.CircuitOpen, Warning: "circuit_open:" + c.Provider,
		Message: fmt.Sprintf("The circuit breaker of provider %q is open.", c.Provider)}
	var open *breaker.OpenError
	if errors.As(err, &open) {
		e.RetryAfter = open.RetryAfter
	}
	return e
}

// errRetryBudget is the failure of a target that is not asked, since what is asked beyond
// first attempts has failed there too often.
func (r *run) errRetryBudget(c *candidate) *gateway.Error {
	r.spent.refused++
	return &gateway.Error{Kind: gateway.CircuitOpen, Code: "retry_budget_spent", RetryAfter: time.Second, Warning: "retry_budget:" + c.Provider,
		Message: fmt.Sprintf("The retry budget for provider %q is exhausted.", c.Provider)}
}

// failed is the error for the client when nothing more is tried.
func (r *run) failed(e *gateway.Error) error {
	r.charge(nil)
	out := *r.telling(e)
	out.Summary = r.summaryOf(&out)
	for _, c := range r.targets { // the earliest that something may have changed
		if d := time.Until(c.notYet); out.Kind == gateway.RateLimited && d > 0 && d < out.RetryAfter && c != r.current {
			out.RetryAfter = d
		}
	}
	if len(r.made) > 1 && out.Body == nil && out.Kind != gateway.Ghost {
		out.Message = strings.TrimRight(out.Message, ". ") + ". Tried: " + r.tried() + "."
	}
	return &out
}

// telling is the failure that tells the client the most, of those that there were.
func (r *run) telling(e *gateway.Error) *gateway.Error {
	switch {
	case r.quality != nil && e.Kind != gateway.Canceled: // what the others had against the request tells less
		return r.quality
	case e.Kind == gateway.CircuitOpen:
		e = r.last
	}
	if r.redo != nil && r.redo.Else != nil && (e.Kind == gateway.Rejected || e.Kind == gateway.ToolsLost || e.Kind == gateway.Unusable) {
		return r.redo.Else // what an upstream has against the demand would tell the client nothing
	}
	return e
}

// tried lists the attempts for a message.
func (r *run) tried() string {
	var list []string
	for _, m := range r.made {
		list = append(list, fmt.Sprintf("%s/%s (%s)", m.Provider, m.Model, m.Outcome))
	}
	return strings.Join(list, ", ")
}

// summaryOf is what was done for a request that has failed.
func (r *run) summaryOf(e *gateway.Error) *gateway.Summary {
	verdict := r.verdict
	if e.Kind == gateway.Ghost && (verdict == nil || !verdict.Ghost) {
		verdict = r.demanded()
	}
	s := r.summary(r.current)
	s.Attempts, s.Guard, s.Overhead, s.Prompt = r.made, verdict, 0, nil
	return s
}

// sleep waits, or ends with the request.
func sleep(ctx context.Context, d time.Duration) *gateway.Error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return gateway.Ended(ctx)
	}
}
