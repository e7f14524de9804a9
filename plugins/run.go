package plugins

import (
	"context"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/sdk/abi"
)

// Run is one region in the hands of one parser. After an error, every further call
// returns it again.
type Run struct {
	s        *Session
	in       *instance // nil after Close
	p        *parser
	handle   int32
	began    time.Duration // of the session's time
	pass     breaker.Pass  // of the parser's breaker
	grammar  grammar
	input    int // bytes of text that the session counts for it
	output   int // bytes of events
	finished bool
	left     bool // the handle need not be closed
	events   []abi.Event
	failure  *failure
	blamed   bool // for failure
	excused  bool // other regions have a share in it
}

// Feed passes the next bytes of the region on and returns the events they gave,
// which are valid until the next call on r. After End or Malformed, or after
// Finish, it does nothing. An error is an *Error.
func (r *Run) Feed(ctx context.Context, text []byte) ([]abi.Event, error) {
	if err := r.begin(); err != nil || r.ended() {
		return nil, err
	}
	r.input += len(text)
	r.s.used.input += len(text)
	if limit := r.s.host.cfg.Limits.Input; r.s.used.input > limit {
		return nil, r.fail(fail(KindInputLimit, "the response is longer than %d bytes", limit))
	}
	for len(text) > 0 && !r.ended() {
		chunk := text[:min(len(text), abi.MaxFeed)]
		text = text[len(chunk):]
		b, err := r.in.feed(ctx, r.handle, chunk)
		if err == nil {
			r.grammar.fed += len(chunk)
			err = r.decode(b)
		}
		if err != nil {
			return nil, r.fail(err)
		}
	}
	r.giveBack()
	return r.events, nil
}

// giveBack has what the parser did not take not count: it is fed again, to whoever reads on.
func (r *Run) giveBack() {
	if r.grammar.ended {
		taken := r.events[len(r.events)-1].To
		r.s.used.input -= r.input - taken
		r.input = taken
	}
}

// Finish tells the parser that the output has ended and returns the last events,
// which are valid until the next call on r. After End or Malformed it does
// nothing. An error is an *Error.
func (r *Run) Finish(ctx context.Context, reason abi.Reason) ([]abi.Event, error) {
	if err := r.begin(); err != nil || r.ended() {
		return nil, err
	}
	r.finished = true
	b, err := r.in.finish(ctx, r.handle, reason)
	if err == nil {
		err = r.decode(b)
	}
	if err == nil && !r.grammar.ended {
		if open := r.grammar.finish(); open != nil {
			err = r.in.die(fail(KindBadEvents, "bad events: %w", open))
		}
	}
	if err != nil {
		return nil, r.fail(err)
	}
	r.giveBack()
	return r.events, nil
}

// Close ends the run. It may be called twice.
func (r *Run) Close() {
	if r.in == nil {
		return
	}
	in := r.in
	r.s.runs = slices.DeleteFunc(r.s.runs, func(o *Run) bool { return o == r })
	in.full = false
	if in.dead == nil && !r.left {
		r.closeHandle()
	}
	r.pass.Done(r.outcome())
	r.p.times.add(r.s.used.time - r.began)
	if took := r.s.host.cfg.Took; took != nil {
		took(r.p.Name, r.s.used.time-r.began)
	}
	const keep = 4
	if in.dead == nil && cap(r.events) <= 1024 && len(in.events) < keep {
		clear(r.events[:cap(r.events)]) // lets the texts go
		in.events = append(in.events, r.events[:0])
	}
	r.in, r.events = nil, nil
}

// closeHandle frees the handle in the guest.
func (r *Run) closeHandle() {
	err := r.in.closeHandle(context.Background(), r.handle)
	switch {
	case err == nil:
	case r.in.dead == nil: // the response has no time left for it
		_ = r.in.die(asFailure(err))
		r.s.dropDead(r.in)
	case r.failure == nil:
		_ = r.fail(err)
	default:
		r.s.dropDead(r.in)
	}
}

func (r *Run) ended() bool { return r.grammar.ended || r.finished }

// begin begins a call on r.
func (r *Run) begin() error {
	r.events = r.events[:0]
	if r.failure == nil {
		switch {
		case r.in == nil:
			r.failure = fail(KindInternal, "used after it was closed")
		case r.in.dead != nil:
			r.failure = r.in.dead
		}
	}
	if r.failure != nil {
		return r.p.error(r.failure)
	}
	return nil
}

// fail ends the run with an error that happened in it.
func (r *Run) fail(err error) *Error {
	r.failure, r.blamed = asFailure(err), true
	if r.failure.kind != KindInputLimit { // another parser reads the text in its place
		r.s.used.input -= r.input
		r.input = 0
	}
	r.s.dropDead(r.in)
	return r.p.error(err)
}

// outcome is what the breaker is told, and why.
func (r *Run) outcome() (breaker.Outcome, string) {
	switch {
	case r.excused:
		return breaker.Excluded, string(r.failure.kind)
	case r.blamed:
		return r.s.outcome(r.p, r.failure)
	case r.failure != nil || r.in.dead != nil || !r.ended():
		return breaker.Excluded, ""
	}
	return r.s.outcome(r.p, nil)
}

// decode appends the events in b, which is in the guest's memory, to r.events.
func (r *Run) decode(b []byte) error {
	r.output += len(b)
	if limit := r.s.host.cfg.Limits.Output; r.s.used.give(r.p, len(b)) > limit {
		r.excused = r.output <= limit // who can make a model begin many regions is not to have it quarantined
		return r.in.die(fail(KindOutputLimit, "more than %d bytes of events", limit))
	}
	if countEvents(b) > maxEvents {
		return r.in.die(fail(KindOutputLimit, "more than %d events at once", maxEvents))
	}
	first := len(r.events)
	var err error
	if r.events, err = abi.DecodeEvents(r.events, b); err != nil {
		return r.in.die(fail(KindBadEvents, "bad events: %w", err))
	}
	for i := first; i < len(r.events); i++ {
		if err := r.grammar.check(&r.events[i]); err != nil {
			return r.in.die(fail(KindBadEvents, "bad events: %w", err))
		}
	}
	return nil
}
