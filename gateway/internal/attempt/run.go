package attempt

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
)

// run is a client's request on its way through the targets of its route, until one has begun
// a useful answer or the budget is spent. Retries and fallbacks share one budget and one
// deadline.
type run struct {
	engine   *Engine
	plan     *Plan
	targets  candidates
	current  *candidate // that is asked
	budget   budget
	past     past
	failures failures
	guidance guidance
	withdrew withdrawals
}

// Do sends a request to one target after the other, as far as need be. An error is an
// *gateway.Error that says what was tried.
func (e *Engine) Do(ctx context.Context, p *Plan) (*gateway.Response, error) {
	r := &run{engine: e, plan: p, past: past{warnings: slices.Clone(p.Found.Warnings)}}
	order := e.arrange(p)
	list := make(candidates, len(order))
	for i, arm := range order {
		list[i] = e.candidate(p, arm)
		r.past.warn(e.detours.remembered(list[i], p.Base))
	}
	r.budget = newBudget(list, &p.Asked.Wishes)
	list, late := list.postponed()
	for _, w := range late {
		r.past.warn(w)
	}
	r.targets = list.near(p)
	return r.ask(ctx)
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
			r.engine.detours.learn(s.target, r.plan.Base)
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
		r.engine.log.WarnContext(ctx, "target failed", "id", r.plan.Asked.ID, "provider", failed.Provider, "upstream_model", failed.model,
			"code", e.CodeOrDefault(), "error", e.Error(), "next", s.reason, "next_provider", s.target.Provider, "wait", s.wait)
		if err := sleep(ctx, s.wait); err != nil {
			return nil, r.failed(err)
		}
	}
}

// mayCorrect reports whether the model may be corrected yet.
func (r *run) mayCorrect() bool { return r.budget.corrects() && r.plan.Base.Reading.HasMessages() }

// correct prepares the next attempt at the same target: one in which the model is told what was
// wrong, or one without something of ours, or of the provider's, that the upstream refuses.
func (r *run) correct(e *gateway.Error) (reason gateway.Reason, again bool) {
	if e.Redo != nil && r.mayCorrect() {
		r.budget.corrections++
		r.current.corrected++
		r.guidance.heed(e.Redo, r.current.model)
		r.past.verdict = nil
		return e.Redo.Reason, true
	}
	if e.Withdrawn && !r.current.withdrawn {
		r.current.withdrawn = true
		return gateway.Retry, true
	}
	warning, ok := r.current.refused(e, r.plan.Base)
	if !ok {
		warning, ok = r.withdrew.take(e, r.current.upstream)
	}
	if !ok {
		return "", false
	}
	r.past.warn(warning)
	return gateway.Retry, true
}

// note keeps what a failure says.
func (r *run) note(c *candidate, e *gateway.Error) {
	c.note(e)
	r.past.warn(e.Warning)
	r.failures.note(e)
}

// after decides what follows a failure, if anything: a target that was not asked yet, at
// once; or else one that was, after a while.
func (r *run) after(ctx context.Context, e *gateway.Error) (s step, ok bool) {
	if ctx.Err() != nil {
		return step{}, false
	}
	over := e.Next() == gateway.GiveUp || r.guidance.demanded() != nil
	quality := slices.Contains(r.plan.FallbackOn, e.Cause())
	if c := r.targets.unasked(); c != nil && (quality || !over) {
		if quality {
			r.leave(e)
		}
		return step{target: c, reason: gateway.Fallback}, true
	}
	if over {
		return step{}, false
	}
	if s.target = r.targets.earliest(&r.budget); s.target == nil {
		return step{}, false
	}
	if s.wait = time.Until(s.target.notBefore); s.wait <= 0 {
		s.wait = backoff(s.target.retry, r.budget.retries)
	}
	if deadline, limited := ctx.Deadline(); limited && time.Until(deadline) < s.wait {
		return step{}, false
	}
	r.budget.retry(s.target)
	if s.reason = gateway.Retry; s.target != r.current {
		s.reason = gateway.Fallback
	}
	return s, true
}

// leave notes that another target is asked because of what this one has answered.
func (r *run) leave(e *gateway.Error) {
	r.past.warn("fallback_on:" + string(e.Cause()))
	r.guidance.forget()
	r.failures.left(e)
}

// failed is the error for the client when nothing more is tried.
func (r *run) failed(e *gateway.Error) error {
	r.engine.charge(r.targets, nil)
	out := *r.failures.telling(e, r.current.model, &r.guidance)
	out.Summary = r.summaryOf(&out)
	if out.Kind == gateway.RateLimited { // the earliest that something may have changed
		out.RetryAfter = r.targets.soonest(out.RetryAfter, r.current)
	}
	if r.budget.attempts > 1 && out.Body == nil && out.Kind != gateway.Ghost {
		out.Message = strings.TrimRight(out.Message, ". ") + ". Tried: " + r.past.tried() + "."
	}
	return &out
}

// summaryOf is what was done for a request that has failed.
func (r *run) summaryOf(e *gateway.Error) *gateway.Summary {
	verdict := r.past.verdict
	if e.Kind == gateway.Ghost && (verdict == nil || !verdict.Ghost && !verdict.Contradiction) {
		verdict = r.guidance.demanded()
	}
	s := r.summary(r.current)
	s.Attempts, s.Guard, s.Overhead, s.Prompt = r.past.attempts, verdict, 0, nil
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
