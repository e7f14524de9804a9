package attempt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/quality"
)

// candidate is a target of the route, with what became of it.
type candidate struct {
	gateway.Target
	arm      int // its place among the plan's targets
	model    string
	upstream *upstream
	load     *load
	retry    gateway.RetryPolicy // as far as this target goes
	trials
	detouring
	pendingTurn *quality.Turn // whose first answer failed, while the model is asked again
}

// trials are what became of a target that was asked, or was to be.
type trials struct {
	asked     bool // or refused
	attempts  int
	corrected int            // how many of them told the model what was wrong
	withdrawn bool           // it was asked again without something of the provider's
	last      *gateway.Error // the latest failure
	failed    time.Time      // when that was
	notBefore time.Time      // until then the target wants to be left alone
}

// candidate is a target of a plan, by its place there.
func (e *Engine) candidate(p *Plan, arm int) *candidate {
	t := p.Targets[arm]
	c := &candidate{Target: t, arm: arm, model: cmp.Or(t.Model, p.Model), upstream: e.upstreams[t.Provider]}
	c.load = e.loadOf(c.Provider, c.model)
	c.retry = retries(c.upstream.retry, &p.Asked.Wishes)
	return c
}

// retries are those of a provider, unless the client says others.
func retries(p gateway.RetryPolicy, w *gateway.Wishes) gateway.RetryPolicy {
	if w.MaxRetries != nil {
		p.Max = *w.MaxRetries
	}
	p.Max = max(p.Max-w.ClientRetries, 0) // what the client's SDK has tried is tried
	if w.MaxDelay > 0 {
		p.Cap = w.MaxDelay
	}
	if w.BaseDelay > 0 {
		p.Base, p.Cap = w.BaseDelay, max(p.Cap, w.BaseDelay)
	}
	p.Base = min(p.Base, p.Cap)
	return p
}

// note keeps a failure.
func (c *candidate) note(e *gateway.Error) {
	c.failed, c.last = time.Now(), e
	if e.RetryAfter > 0 && e.Kind != gateway.CircuitOpen {
		c.notBefore = c.failed.Add(e.RetryAfter)
		c.upstream.breaker.CoolDown(e.RetryAfter)
	}
}

// errBreakerOpen is the failure of a target whose breaker is open.
func (c *candidate) errBreakerOpen(err error) *gateway.Error {
	e := &gateway.Error{Kind: gateway.CircuitOpen, Warning: "circuit_open:" + c.Provider,
		Message: fmt.Sprintf("The circuit breaker of provider %q is open.", c.Provider)}
	if open, ok := errors.AsType[*breaker.OpenError](err); ok {
		e.RetryAfter = open.RetryAfter
	}
	return e
}

// errRetryBudget is the failure of a target that is not asked, since what is asked beyond
// first attempts has failed there too often.
func (c *candidate) errRetryBudget() *gateway.Error {
	return &gateway.Error{Kind: gateway.CircuitOpen, Code: "retry_budget_spent", RetryAfter: time.Second, Warning: "retry_budget:" + c.Provider,
		Message: fmt.Sprintf("The retry budget for provider %q is exhausted.", c.Provider)}
}

// candidates are the targets of a request, in the order in which they are asked.
type candidates []*candidate

// postponed has the first targets that are open or want to be left alone behind the others, and
// says so in warnings. They may be asked nevertheless: they may be all there is.
func (list candidates) postponed() (_ candidates, warnings []string) {
	ready := slices.IndexFunc(list, func(c *candidate) bool { return c.upstream.ready() })
	if ready <= 0 {
		return list, nil
	}
	for _, c := range list[:ready] {
		if c.upstream.breaker.Available() {
			warnings = append(warnings, "cooling:"+c.Provider)
			continue
		}
		warnings = append(warnings, "circuit_open:"+c.Provider)
		if pass, err := c.upstream.breaker.Allow(); err == nil { // this counts it, or it has just become ready
			pass.Done(breaker.Excluded, "not asked")
		}
	}
	return slices.Concat(list[ready:], list[:ready]), warnings
}

// near has the targets in the order in which a plan's affinity wants them.
func (list candidates) near(p *Plan) candidates {
	if p.Affinity == nil {
		return list
	}
	states := make([]gateway.Candidate, len(list))
	for i, c := range list {
		states[i] = gateway.Candidate{Target: c.Target, Running: int(c.load.running.Load()), Ready: c.upstream.ready()}
	}
	list.pass(p, states)
	ordered := make(candidates, len(list))
	for i, place := range p.Affinity.Order(states) {
		ordered[i] = list[place]
	}
	return ordered
}

// pass keeps a new conversation from targets that call tools worse than others, as far as their
// shares say, if there is another one that can be asked.
func (list candidates) pass(p *Plan, states []gateway.Candidate) {
	if !p.Calls.Group.Applies() || p.Calls.Conversation.Running || !p.Base.Reading.OffersTools() {
		return
	}
	ready := 0
	for i := range states {
		if states[i].Ready {
			ready++
		}
	}
	for i, c := range list {
		if ready > 1 && states[i].Ready && p.Calls.Group.Denies(c.arm, p.Calls.Conversation) {
			states[i].Ready = false // it comes last
			ready--
			p.passedOver(c.Target)
		}
	}
}

// unasked is the first target that was not asked yet, or nil.
func (list candidates) unasked() *candidate {
	for _, c := range list {
		if !c.asked {
			return c
		}
	}
	return nil
}

// earliest is the target that a budget allows to be asked once more, and first; nil if there is none.
// All were asked.
func (list candidates) earliest(b *budget) *candidate {
	var best *candidate
	now := time.Now()
	for _, c := range list {
		wait := max(c.notBefore.Sub(now), 0)
		if c.last.Next() != gateway.Again || !b.allows(c) || wait > c.retry.Cap || !c.upstream.breaker.Available() {
			continue
		}
		if best == nil || wait < max(best.notBefore.Sub(now), 0) || wait == 0 && c.failed.Before(best.failed) && !best.notBefore.After(now) {
			best = c
		}
	}
	return best
}

// soonest is the shortest wait that a target asks for, of those that are shorter than one and
// are not the target that asks for that.
func (list candidates) soonest(than time.Duration, of *candidate) time.Duration {
	for _, c := range list {
		if d := time.Until(c.notBefore); d > 0 && d < than && c != of {
			than = d
		}
	}
	return than
}
