package demo

import (
	"context"
	"net/http"
	"time"

	"github.com/callgate/callgate/gateway"
)

// reply gives out frames that are ready, with a pause before each.
type reply struct {
	header   http.Header
	streamed bool
	frames   []gateway.Frame
	end      error // behind the frames: io.EOF if the answer is complete
	delay    time.Duration
	first    func() error // what to wait for before the first frame; nil: the delay

	wait   func(time.Duration) error // fails when the request ends
	cancel context.CancelFunc
}

var _ gateway.Reply = (*reply)(nil)

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
func (r *reply) Next() (*gateway.Frame, error) {
	if len(r.frames) == 0 {
		return r.fail(r.end)
	}
	if err := r.pause(); err != nil {
		return r.fail(err)
	}
	f := &r.frames[0]
	r.frames = r.frames[1:]
	f.More = r.delay == 0 && len(r.frames) > 0
	return f, nil
}

func (r *reply) pause() error {
	if r.first == nil {
		return r.wait(r.delay)
	}
	first := r.first
	r.first = nil
	return first()
}

// fail ends the reply with err, io.EOF if it is complete.
func (r *reply) fail(err error) (*gateway.Frame, error) {
	r.frames, r.end = nil, err
	r.cancel()
	return nil, err
}
