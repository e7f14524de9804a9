package upstream

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/providers/internal/h1"
)

// call is one request to the upstream with its timers. All of them end it in one
// way, by cancelling its context with the error that the caller is to see. No
// goroutine waits for them.
type call struct {
	p      *Client
	ctx    context.Context //nolint:containedctx // a call lives as long as its request
	cancel context.CancelCauseFunc
	room   *inflight.Claim

	plain h1.Request    // what is asked, if it goes that way
	req   *http.Request // else this
	fresh bool          // on a connection that nobody has used before
	sending

	total, firstToken, whole, idle *time.Timer // all but total may be nil
}

// begin starts a call, whose request is to be made with its ctx.
func (p *Client) begin(parent context.Context) *call {
	c := &call{p: p}
	c.ctx, c.cancel = context.WithCancelCause(parent)
	c.total = c.after(p.timeouts.Total, "no complete answer within", "total")
	return c
}

// after ends the call when d is over, with an error that names the timer.
func (c *call) after(d time.Duration, what, timer string) *time.Timer {
	return time.AfterFunc(d, func() { c.cancel(c.p.timeout(d, what, timer)) })
}

func (c *call) stopFirstToken() { stop(c.firstToken) }

// awaitWhole begins the timer of a whole answer, unless it runs.
func (c *call) awaitWhole() {
	if c.whole == nil {
		c.whole = c.after(c.p.timeouts.Whole, "no complete answer within", "whole")
	}
}

// stop stops a timer, which may be nil.
func stop(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

// end releases the call and ends the upstream request if it still runs. It may be
// called at any time, by any goroutine, and more than once.
func (c *call) end() {
	c.total.Stop()
	c.stopFirstToken()
	stop(c.whole)
	stop(c.idle)
	c.cancel(context.Canceled)
}

// interrupted is the error to report when the call was ended from outside, by a
// timer, by the client or by Close; nil if it was not.
func (c *call) interrupted() *gateway.Error {
	cause := context.Cause(c.ctx)
	if cause == nil {
		return nil
	}
	var e *gateway.Error
	switch {
	case errors.As(cause, &e):
		return e
	case errors.Is(cause, context.DeadlineExceeded):
		return c.p.Errorf(gateway.Timeout, CodeTimeout, "no complete answer before the request's deadline.")
	}
	return &gateway.Error{Kind: gateway.Canceled, Message: "The client closed the request.", Err: cause}
}

// timeout is the error of a timer that ran out.
func (p *Client) timeout(d time.Duration, what, timer string) *gateway.Error {
	return p.Errorf(gateway.Timeout, CodeTimeout, "%s %s (timeouts.%s).", what, Plain(d), timer)
}
