package demo

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/callgate/callgate/gateway"
)

// reply gives out frames that are ready, with a pause before each.
type reply struct {
	header   http.Header
	streamed bool
	frames   []gateway.Frame
	delay    time.Duration

	done   <-chan struct{}
	cause  func() error
	cancel context.CancelFunc
}

var _ gateway.Reply = (*reply)(nil)

// begin binds the reply to ctx.
func (r *reply) begin(ctx context.Context) {
	ctx, r.cancel = context.WithCancel(ctx)
	r.done = ctx.Done()
	r.cause = func() error { return context.Cause(ctx) }
}

// Header implements [gateway.Reply].
func (r *reply) Header() http.Header { return r.header }

// Streamed implements [gateway.Reply].
func (r *reply) Streamed() bool { return r.streamed }

// Close implements [gateway.Reply].
func (r *reply) Close() error {
	r.cancel()
	return nil
}

// Next implements [gateway.Reply].
func (r *reply) Next() (gateway.Frame, error) {
	if len(r.frames) == 0 {
		r.cancel()
		return gateway.Frame{}, io.EOF
	}
	if err := r.pause(); err != nil {
		return gateway.Frame{}, err
	}
	f := r.frames[0]
	r.frames = r.frames[1:]
	f.More = r.delay == 0 && len(r.frames) > 0
	return f, nil
}

// pause waits for the delay, and ends with the request.
func (r *reply) pause() error {
	if r.delay > 0 {
		t := time.NewTimer(r.delay)
		defer t.Stop()
		select {
		case <-r.done:
		case <-t.C:
		}
	}
	cause := r.cause()
	var e *gateway.Error
	switch {
	case cause == nil:
		return nil
	case errors.As(cause, &e):
		return e
	case errors.Is(cause, context.DeadlineExceeded):
		return &gateway.Error{Kind: gateway.Timeout, Message: "The demo was given no time to answer.", Err: cause}
	}
	return &gateway.Error{Kind: gateway.Canceled, Message: "The client closed the request.", Err: cause}
}
