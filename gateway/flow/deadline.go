package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/callgate/callgate/gateway"
)

// deadline bounds the time of requests.
type deadline struct {
	timeout time.Duration
	late    *gateway.Error // what ends a request that takes too long
}

// newDeadline bounds requests by a time, and makes the error of those that take longer.
func newDeadline(timeout time.Duration) deadline {
	return deadline{timeout, &gateway.Error{Kind: gateway.Timeout, Message: fmt.Sprintf("No complete answer within %s (timeout).", timeout)}}
}

// within bounds the time of a request, until its answer is closed.
func (d *deadline) within(ctx context.Context, ask func(context.Context) (*gateway.Response, error)) (resp *gateway.Response, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.timeout, d.late)
	defer func() {
		if resp == nil { // also if something panicked
			cancel()
		}
	}()
	answer, err := ask(ctx)
	if err != nil {
		return nil, err
	}
	answer.Reply = &closing{answer.Reply, cancel}
	return answer, nil
}

// closing ends a request's context with its answer.
type closing struct {
	gateway.Reply
	cancel context.CancelFunc
}

func (c *closing) Close() error {
	defer c.cancel()
	return c.Reply.Close()
}
