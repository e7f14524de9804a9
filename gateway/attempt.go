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
)

// attempts is a client's request on its way through the targets of its route, until
// one has begun a useful answer or the budget is spent. Retries and fallbacks share
// one budget and one deadline: as many attempts as the retries allow, or one for
// each target if there are more of those.
type attempts struct {
	g       *Gateway
	req     *Request
	began   time.Time
	targets []*candidate // in the order in which they are asked
	left    int          // attempts
	waits   bool         // a Retry-After may be waited for once, though no retry is left
	retries int          // waits so far
	made    []Attempt
	last    *Error         // the latest failure that says more than that a breaker is open
	faults  map[string]int // of answers that were thrown away
	// warnings say which targets were left out since their breakers are open.
	warnings []string
	current  *candidate
	asked    int // corrections of the model so far
}

// candidate is a target of the route, with what became of it.
type candidate struct {
	Target
	model    string
	upstream *upstream
	asked    bool      // it was asked, or its breaker was open
	again    bool      // its latest failure may go away
	notYet   time.Time // until then it wants to be left alone
	failed   time.Time
}

// begin orders the targets of a request.
func (g *Gateway) begin(req *Request, targets []Target, model string) *attempts {
	a := &attempts{g: g, req: req, began: time.Now()}
	for _, t := range order(targets) {
		a.targets = append(a.targets, &candidate{Target: t, model: resolveModel(t, model), upstream: g.upstreams[t.Provider]})
	}
	// Those that are open or want to be left alone come last, but they come: they may
	// be all there is.
	slices.SortStableFunc(a.targets, func(x, y *candidate) int {
		return rank(!x.upstream.rested()) - rank(!y.upstream.rested())
	})
	n := a.targets[0].upstream.policy.Retry.Max
	if req.MaxRetries != nil {
		n = *req.MaxRetries
	}
	a.waits = n == 0 && req.ClientRetries == 0 && len(a.targets) == 1
	n = max(n-req.ClientRetries, 0) // what the client's SDK has tried itself is tried
	a.left = max(1+n, len(a.targets))
	return a
}

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
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
	s, ok := step{target: a.targets[0], reason: First}, true
	for {
		a.current = s.target
		resp, err := a.try(ctx, s)
		if err == nil {
			return resp, nil
		}
		e := AsError(err)
		a.note(s.target, e)
		if a.reask(e) {
			s.reason, s.wait = Reask, 0
		} else if s, ok = a.after(ctx, e); !ok {
			return nil, a.failed(e)
		}
		a.g.log.WarnContext(ctx, "attempt failed", "id", a.req.ID, "provider", a.current.Provider, "upstream_model", a.current.model,
			"code", e.CodeOrDefault(), "error", e.Error(), "next", s.reason, "provider_next", s.target.Provider, "wait", s.wait)
		if err := sleep(ctx, s.wait); err != nil {
			return nil, a.failed(err)
		}
	}
}

// try makes one attempt at a target.
func (a *attempts) try(ctx context.Context, s step) (*Response, error) {
	c := s.target
	c.asked = true
	r := &Response{gateway: a.g, ctx: ctx, req: a.req,
		Summary: Summary{Provider: c.Provider, Model: c.model},
		attempt: attempt{upstream: c.upstream, target: c.Target, faults: maps.Clone(a.faults), requested: a.began, further: len(a.made) > 0}}
	var err error
	if r.permit, err = c.upstream.breaker.Allow(); err != nil {
		e := &Error{Kind: CircuitOpen, Message: fmt.Sprintf("Provider %q has failed too often and is left alone for a while.", c.Provider)}
		var open *breaker.OpenError
		if errors.As(err, &open) {
			e.RetryAfter = open.RetryAfter
		}
		if w := "circuit_open:" + c.Provider; !slices.Contains(a.warnings, w) {
			a.warnings = append(a.warnings, w)
		}
		return nil, e
	}
	a.left--
	a.made = append(a.made, Attempt{Provider: c.Provider, Model: c.model, Reason: s.reason, Outcome: "open", Wait: s.wait})
	r.began, r.Summary.Attempts = time.Now(), slices.Clone(a.made)
	for _, w := range a.warnings {
		r.Summary.Warn(w)
	}
	kept := false
	defer func() {
		if !kept { // also if something panicked: the breaker must hear how it ended
			r.Close()
		}
	}()
	if err = r.open(); err == nil {
		err = r.commit()
	}
	if err != nil {
		r.settle(err)
		a.made[len(a.made)-1] = r.Summary.Attempts[len(a.made)-1]
		r.summarise()
		a.faults = r.Summary.Faults
		return nil, err
	}
	kept = true
	c.upstream.bucket.succeeded(r.further)
	return r, nil
}

// note keeps what a failure says about its target.
func (a *attempts) note(c *candidate, e *Error) {
	c.failed, c.again = time.Now(), e.next() == again
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
	if e.next() == giveUp || ctx.Err() != nil {
		return step{}, false
	}
	if s, ok = a.fallback(); !ok {
		s, ok = a.retry(e)
	}
	if deadline, limited := ctx.Deadline(); !ok || limited && time.Until(deadline) < s.wait {
		return step{}, false
	}
	return s, len(a.made) == 0 || s.target.upstream.bucket.take()
}

// fallback is a step to the first target that was not asked yet.
func (a *attempts) fallback() (step, bool) {
	i := slices.IndexFunc(a.targets, func(c *candidate) bool { return !c.asked })
	if i < 0 || a.left <= 0 {
		return step{}, false
	}
	return step{target: a.targets[i], reason: Fallback}, true
}

// retry is a step to the target whose failure may go away and is the longest ago.
func (a *attempts) retry(e *Error) (s step, ok bool) {
	once := a.waits && e.Kind == Limited && e.RetryAfter > 0
	if a.left <= 0 && !once {
		return step{}, false
	}
	policy := a.targets[0].upstream.policy.Retry
	for _, c := range a.targets {
		if c.again && time.Until(c.notYet) <= policy.Cap && (s.target == nil || c.failed.Before(s.target.failed)) {
			s.target = c
		}
	}
	if s.target == nil {
		return step{}, false
	}
	if s.wait = time.Until(s.target.notYet); s.wait <= 0 {
		s.wait = policy.backoff(a.retries)
	}
	a.waits = false
	a.retries++
	s.reason = Retry
	if n := len(a.made); n > 0 && a.made[n-1].Provider != s.target.Provider {
		s.reason = Fallback
	}
	return s, true
}

// failed is the error for the client when nothing more is tried.
func (a *attempts) failed(e *Error) error {
	if e.Kind == CircuitOpen {
		e = a.last
	}
	out := *e
	out.Attempts = a.made
	out.Faults = a.faults
	for _, c := range a.targets { // the earliest that something may have changed
		if d := time.Until(c.notYet); out.Kind == Limited && d > 0 && d < out.RetryAfter && c != a.current {
			out.RetryAfter = d
		}
	}
	if len(a.made) > 1 && out.Body == nil {
		var tried []string
		for _, m := range a.made {
			tried = append(tried, m.Provider+" ("+m.Outcome+")")
		}
		out.Message += " Tried: " + strings.Join(tried, ", ") + "."
	}
	return &out
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
		var e *Error
		if errors.As(context.Cause(ctx), &e) {
			return e
		}
		return &Error{Kind: Canceled, Message: "The client closed the request.", Err: context.Cause(ctx)}
	}
}
