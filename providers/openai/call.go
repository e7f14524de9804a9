package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
)

// call is one request to the upstream with its timers. All of them end it in one
// way, by cancelling its context with the error that the caller is to see. No
// goroutine waits for them.
type call struct {
	p      *Provider
	req    *http.Request
	cancel context.CancelCauseFunc

	total, firstToken, idle *time.Timer // the last two may be nil
}

// begin starts a call, whose req is to be made with ctx.
func (p *Provider) begin(parent context.Context) (c *call, ctx context.Context) {
	ctx, cancel := context.WithCancelCause(parent)
	c = &call{p: p, cancel: cancel}
	c.total = c.after(p.timeouts.Total, "no complete answer within", "total")
	return c, ctx
}

// after ends the call when d is over, with an error that names the timer.
func (c *call) after(d time.Duration, what, timer string) *time.Timer {
	return time.AfterFunc(d, func() { c.cancel(c.p.timeout(d, what, timer)) })
}

func (c *call) awaitFirstToken() {
	c.firstToken = c.after(c.p.timeouts.FirstToken, "no first token within", "first_token")
}

func (c *call) stopFirstToken() {
	if c.firstToken != nil {
		c.firstToken.Stop()
	}
}

// prepareIdle makes the timer of a stream's pauses. It counts only while somebody
// waits for the next chunk, else a slow client would be taken for a slow upstream.
func (c *call) prepareIdle() {
	c.idle = c.after(c.p.timeouts.Idle, "no further chunk for", "idle")
	c.idle.Stop()
}

// end releases the call and ends the upstream request if it still runs. It may be
// called at any time, by any goroutine, and more than once.
func (c *call) end() {
	c.total.Stop()
	c.stopFirstToken()
	if c.idle != nil {
		c.idle.Stop()
	}
	c.cancel(context.Canceled)
}

// interrupted is the error to report when the call was ended from outside, by a
// timer, by the client or by Close; nil if it was not.
func (c *call) interrupted() *gateway.Error {
	cause := context.Cause(c.req.Context())
	if cause == nil {
		return nil
	}
	var e *gateway.Error
	switch {
	case errors.As(cause, &e):
		return e
	case errors.Is(cause, context.DeadlineExceeded):
		return c.p.errorf(gateway.Timeout, codeTimeout, "no complete answer before the request's deadline.")
	}
	return &gateway.Error{Kind: gateway.Canceled, Message: "The client closed the request.", Err: cause}
}

// timeout is the error of a timer that ran out.
func (p *Provider) timeout(d time.Duration, what, timer string) *gateway.Error {
	return p.errorf(gateway.Timeout, codeTimeout, "%s %s (timeouts.%s).", what, plain(d), timer)
}

// plain writes a duration as people do: 60s, not 1m0s; 10m, not 10m0s.
func plain(d time.Duration) string {
	if d < 2*time.Minute && d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
