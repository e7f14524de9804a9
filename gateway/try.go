package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
)

// attempt is what a response knows of the attempt that it is the answer of.
type attempt struct {
	of        *attempts
	upstream  *upstream
	target    Target
	permit    breaker.Pass // of the upstream's breaker, which has to hear how it ended
	further   bool         // it is beyond the first of its request
	began     time.Time    // the attempt
	requested time.Time    // the client's request
	judge     *judge       // nil, as the next two: nobody looks at the calls
	watch     *watch
	native    *nativeReply
	ids       *callIDs
	faults    map[string]int // of answers before, and of this one besides its calls
	mended    map[string]int // repairs outside of the calls
	settled   bool
	cancel    context.CancelFunc // of the request's deadline
	endTrace  func(outcome string)
	load      *load         // of its target; nil until it is asked
	first     time.Duration // to the first useful byte, from began on
	expected  int           // blocks of the prompt that the target should have in its cache
}

// open sends the request of the attempt.
func (r *Response) open() error {
	began := time.Now()
	if err := r.plan(r.Summary.Model); err != nil {
		return err
	}
	req := r.request()
	ctx := r.ctx
	if trace := r.gateway.trace; trace != nil {
		if req.Header = req.Header.Clone(); req.Header == nil {
			req.Header = http.Header{}
		}
		ctx, r.endTrace = trace(ctx, r.Summary.Attempts[len(r.Summary.Attempts)-1], req.Header)
	}
	r.Summary.Overhead = r.of.prepared + time.Since(began)
	reply, err := r.upstream.provider.Chat(ctx, r.Summary.Model, req)
	if err != nil {
		return r.refusedTools(err)
	}
	r.reply = reply
	if req.Stream && !reply.Streamed() {
		r.reply = newStreamedReply(reply, req)
		r.repaired("stream")
	}
	r.Header = r.reply.Header()
	if r.Streamed = r.reply.Streamed(); r.Streamed && !req.Stream {
		return &Error{Kind: Unavailable, Message: fmt.Sprintf("Provider %q: the upstream answered with a stream, which nobody asked for.", r.upstream.name)}
	}
	if r.target.Mode != Off && r.req.OffersTools() {
		r.judge = r.newJudge()
		r.ids = newCallIDs(r.req, r.upstream.needs)
		r.native = newNativeReply(r.reply, r.judge, r.ids)
		r.reply = r.native
	}
	r.watch = r.newWatch()
	return nil
}

// request is what the attempt asks its provider.
func (r *Response) request() *Request {
	own := *r.req
	own.RawText = r.target.RawText && r.parsers != nil && r.target.Mode == Repair // somebody must read it
	req := &own
	if r.target.Prompted != "" {
		return r.hinted(r.prompt(req))
	}
	req = r.hinted(r.mendHistory(req, r.upstream.needs, r.upstream.policy.History))
	if r.of.conduct.Binding != BindingOff && req.OffersTools() {
		req.Announced = func(wire []byte) error { return r.checkWire(req, wire) }
	}
	return req
}

// plan gets the parsers ready, if the target's text is read at all.
func (r *Response) plan(model string) error {
	spec := r.target.Parsers
	if r.target.Mode == Off || spec.None() || (!r.req.OffersTools() && !spec.Reasoning) {
		return nil
	}
	var err error
	if r.parsers, r.session, err = r.gateway.parsers.Plan(r.ctx, spec, model); err == nil {
		r.readers = fingerprint(r.session)
	}
	return err
}

// settle says how the attempt ended, once: to the breaker of its provider, to the
// trace and in the summary.
func (r *Response) settle(err error) {
	if r.settled {
		return
	}
	r.settled = true
	if r.failure != nil && err == io.EOF { // the client has it
		err = r.inBand()
	}
	health, outcome := breaker.Success, "ok"
	switch e := AsError(err); {
	case err == nil: // closed before its end
		health, outcome = breaker.Excluded, "client_closed_request"
	case err != io.EOF:
		health, outcome = e.health(), e.CodeOrDefault()
	}
	if health == breaker.Success && outcome == "ok" {
		r.answered()
	}
	if r.load != nil {
		r.load.ends(outcome, r.first, time.Since(r.began))
	}
	r.permit.Done(health, outcome)
	if n := len(r.Summary.Attempts); n > 0 {
		last := &r.Summary.Attempts[n-1]
		last.Outcome, last.Took = outcome, time.Since(r.began)
		if err != nil && err != io.EOF {
			last.RetryAfter = AsError(err).RetryAfter
		}
	}
	if r.endTrace != nil {
		r.endTrace(outcome)
	}
}

// fault counts a broken call of the answer.
func (r *Response) fault(class string) { r.faults = count(r.faults, class) }

// repaired counts something that was mended outside of the calls' text.
func (r *Response) repaired(kind string) { r.mended = count(r.mended, kind) }

// count adds one to a kind's count, in a map that may not be there yet.
func count(counts map[string]int, kind string) map[string]int {
	if counts == nil {
		counts = map[string]int{}
	}
	counts[kind]++
	return counts
}
