package attempt

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/wire"
)

// try makes one attempt at a target, if its breaker lets it.
func (r *run) try(ctx context.Context, s step) (*gateway.Response, error) {
	c := s.target
	c.asked = true
	a := &answer{candidate: c, summary: r.summary(c), room: r.plan.Asked.Room.Part(), ending: ending{affinity: r.plan.Affinity}}
	var err error
	if a.permit, err = c.upstream.breaker.Allow(); err != nil {
		r.budget.skipped++
		return nil, c.errBreakerOpen(err)
	}
	kept := false
	defer func() {
		if !kept { // also if something panicked: the breaker must hear how it ended
			a.Close()
		}
	}()
	further := s.reason == gateway.Retry || s.reason == gateway.Fallback && r.budget.attempts > 0
	if further && !c.upstream.bucket.allows() {
		r.budget.skipped++
		return nil, c.errRetryBudget()
	}
	r.engine.charge(r.targets, c)
	c.attempts++
	c.load.running.Add(1) // until it ends
	a.began, a.running = time.Now(), true
	if r.plan.Affinity != nil {
		a.summary.Prefix = r.plan.Affinity.Expect(c.Target, r.budget.attempts == 0)
	}
	r.budget.attempts++
	a.summary.Attempts = r.past.begins(gateway.Attempt{Provider: c.Provider, Model: c.model, Reason: s.reason, Outcome: "running", Wait: s.wait})
	if err = r.begin(ctx, a); err == nil {
		err = a.commit(r.plan.Asked)
	}
	if err != nil {
		e := gateway.AsError(err)
		a.settle(err)
		r.past.failed(a.summary)
		if further && e.Next() == gateway.Again {
			c.upstream.bucket.add(-1)
		}
		return nil, err
	}
	kept = true
	c.upstream.bucket.add(earned)
	return &gateway.Response{Reply: a, Summary: a.summary, Status: a.source.status}, nil
}

// summary is that of an attempt, with what is known of the request.
func (r *run) summary(c *candidate) *gateway.Summary {
	p := r.plan
	return &gateway.Summary{
		Origin: gateway.Origin{Provider: c.Provider, Model: c.model, Mode: c.Mode, Mixed: c.OfControl},
		Route:  p.Route, Rounds: p.Notes.Rounds, Corrections: r.guidance.said, Execution: p.Execution,
		Timing:      p.Timing,
		PromptCache: gateway.PromptCache{Prompt: p.Prompt, PrefixChange: p.Notes.PrefixChange},
		Outcome:     gateway.Outcome{Findings: gateway.Findings{Faults: maps.Clone(r.past.faults), Repairs: maps.Clone(p.Found.Repairs), Warnings: slices.Clone(r.past.warnings)}},
	}
}

// claim takes memory for what a request has become longer by: a repaired history may be twice as long.
func (a *answer) claim(more int) error {
	if err := a.room.Grow(inflight.Body * int64(more)); err != nil {
		return gateway.NoRoom(err, "The request, with what the gateway has put into it for the model, needs more memory than one may have (limits.memory).")
	}
	return nil
}

// begin sends the request of an attempt.
func (r *run) begin(ctx context.Context, a *answer) error {
	began := time.Now()
	info := r.info(a)
	a.score = r.engine.score(r.plan, a.candidate, info)
	sent, err := r.request(ctx, info, a.outcome())
	if err != nil {
		return err
	}
	if err := a.claim(sent.Body.Size() - r.plan.Asked.Body.Size()); err != nil {
		return err
	}
	if a.pipeline, err = NewPipeline(ctx, r.plan.Exchange.Stages, info, a.outcome(), a.out.put); err != nil {
		return err
	}
	own := *sent
	own.Room = a.room
	own.Raw.Wanted = a.candidate.RawText && a.candidate.Mode == gateway.Repair && a.candidate.Reads(info.Sent.Reading.OffersTools()) // somebody must read it
	own.Raw.Server = a.candidate.RawServer
	own.Announced = func(body wire.Pieces) error { return a.pipeline.sent(&own, body) } // whose edits may be spliced in already
	if r.engine.trace != nil {
		if own.From.Header = own.From.Header.Clone(); own.From.Header == nil {
			own.From.Header = http.Header{}
		}
		a.stream = own.Stream
		ctx, a.endTrace = r.engine.trace(ctx, a.summary.Attempts[len(a.summary.Attempts)-1], own.From.Header)
	}
	a.outcome().Changed = len(a.outcome().Repairs) > 0 // also if it was the request's
	a.summary.Overhead += time.Since(began)
	reply, err := r.send(ctx, a, &own)
	if err != nil {
		return a.pipeline.refused(gateway.AsError(err))
	}
	a.introduce(reply)
	switch {
	case a.source.status != 0:
	case own.Stream && !reply.Streamed():
		a.source.reply = stream(reply, &own)
		a.outcome().Repaired("stream")
		a.outcome().Changed = true
	case !own.Stream && reply.Streamed():
		return &gateway.Error{Kind: gateway.Unavailable, Message: fmt.Sprintf("Provider %q: the upstream answered with a stream, although none was requested.", a.candidate.Provider)}
	}
	return nil
}

// introduce notes what a reply says of itself.
func (a *answer) introduce(reply gateway.Reply) {
	a.source.reply = reply
	if w, ok := reply.(gateway.Withholder); ok {
		a.summary.Attempts[len(a.summary.Attempts)-1].Withheld = w.Withheld()
	}
	if s, ok := reply.(gateway.Speaker); ok {
		a.summary.Protocol = s.Protocol()
	}
}

// send has the provider ask its upstream.
func (r *run) send(ctx context.Context, a *answer, own *gateway.Request) (gateway.Reply, error) {
	provider := a.candidate.upstream.provider
	if own.Stream && gateway.MeterOf(ctx) != nil { // somebody pays for it, also if it is thrown away
		ctx, a.source.cancel = context.WithCancel(ctx)
		a.pipeline.rest = a.rest
	}
	if r.plan.Exchange.Send == nil {
		return provider.Chat(ctx, a.candidate.model, own)
	}
	relayed, err := r.plan.Exchange.Send(ctx, provider, a.candidate.model, own.From.Header)
	if err != nil {
		return nil, err
	}
	a.source.status = relayed.Status()
	return relayed, nil
}

// info describes an attempt to its stages.
func (r *run) info(a *answer) *gateway.AttemptInfo {
	c, made := a.candidate, a.summary.Attempts
	return &gateway.AttemptInfo{
		Number: len(made), Reason: made[len(made)-1].Reason, Provider: c.Provider, Model: c.model, Target: c.Target, Needs: c.upstream.needs,
		Asked: r.plan.Asked, Sent: r.plan.Base, Demanded: r.guidance.demanded(), Fallbacks: a.summary.Fallbacks(), Corrections: r.guidance.said,
		MayRedo: r.mayCorrect(), Notes: &r.plan.Notes, Failure: a.failure, Began: a.began, Room: a.room,
	}
}

// request is the request for the target of an attempt.
func (r *run) request(ctx context.Context, info *gateway.AttemptInfo, o *gateway.Outcome) (*gateway.Request, error) {
	policies := append(r.guidance.policies(info.Model, r.engine.pins), r.plan.Exchange.Policies(info.Target)...)
	return Amend(ctx, r.plan.Base, r.withdrew.left(policies, r.current.upstream), info, func(place int, done gateway.Amendment) {
		for kind, n := range done.Repairs {
			o.Repairs = gateway.Count(o.Repairs, kind, n)
		}
		for _, w := range done.Warnings {
			o.Warn(w)
		}
		r.withdrew.note(place, done)
	})
}

// sent tells those stages of a request that want to know.
func (p *Pipeline) sent(r *gateway.Request, body wire.Pieces) error {
	for i := range p.links {
		if w, ok := p.links[i].stage.(gateway.Witness); ok {
			if err := w.Sent(r, body); err != nil {
				return err
			}
		}
	}
	return nil
}

// refused lets the stages look at the failure of the attempt.
func (p *Pipeline) refused(e *gateway.Error) *gateway.Error {
	for i := range p.links {
		if w, ok := p.links[i].stage.(gateway.Witness); ok {
			e = w.Refused(e)
		}
	}
	return e
}
