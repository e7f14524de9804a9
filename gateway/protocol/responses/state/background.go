package state

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/responses"
)

// background is a request whose client comes back for the answer.
type background struct{ *exchange }

// Detach implements [protocol.Detached]: it stores the response as waiting, and lets it run
// without its client.
func (b *background) Detach(ctx context.Context, req *gateway.Request) (*protocol.Detachment, error) {
	s := b.service
	run, err := s.runs.add(b.tenant, b.ID(), b.Stream())
	if err != nil {
		return nil, err
	}
	if !b.stays() { // the client has left, and the conversation's lock is free
		s.runs.remove(run)
		return nil, gateway.Ended(ctx)
	}
	begin := func() error {
		release, err := s.shelf.store.Lock(ctx, b.tenant, b.ID())
		if err != nil {
			return err
		}
		run.release = release
		return b.put(ctx, responses.Result{ID: b.ID(), Status: responses.Queued, Response: b.Object(responses.Queued, nil)})
	}
	if err := begin(); err != nil {
		run.release()
		b.unlock()
		s.runs.remove(run)
		return nil, s.shelf.failed(err, "Conversation", b.Conversation())
	}
	run.feed.room = req.Room
	d := &protocol.Detachment{Body: b.Object(responses.Queued, nil)}
	if b.Stream() {
		run.feed.add(b.Queue())
		d.Events = run.feed.from(0)
	}
	s.done.Go(func() { b.run(run, req) })
	return d, nil
}

// run answers the request, and stores what came of it.
func (b *background) run(run *run, req *gateway.Request) {
	s := b.service
	began := time.Now()
	record := gateway.Record{ID: b.ID(), Status: http.StatusOK, Protocol: responses.Name, Stream: req.Stream, Tenant: b.tenant}
	defer func() {
		run.feed.end()
		req.Room.Close()
		run.release()
		b.unlock()
		s.runs.remove(run)
		record.Took, record.Route = time.Since(began), req.Routing.Route
		if s.o.Ended != nil {
			s.o.Ended(record)
		}
		s.o.Log.Info("response in the background", "id", b.ID(), "key", b.tenant, "model", req.Model, "status", record.Status, "code", record.Code,
			"took_ms", record.Took.Milliseconds())
	}()
	err := s.runs.turn(run)
	if err == nil {
		stop := b.watch(run)
		err = b.guarded(run, req, &record)
		stop()
	}
	if err == nil {
		return
	}
	e := gateway.AsError(err)
	record.Status, record.Code, record.Kind = e.HTTPStatus(), e.CodeOrDefault(), e.Kind
	b.fail(run, e)
}

// watchEvery is how often a gateway looks whether another one was asked to end its response.
const watchEvery = 2 * time.Second

// watch ends a run that was cancelled at another gateway, until stop is called.
func (b *background) watch(run *run) (stop func()) {
	ctx, cancel := context.WithCancel(run.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if b.isCancelled(ctx) {
					run.end(errCancelled)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// guarded is answer, whose faults end this response and not the process: nobody else is there to
// recover from them.
func (b *background) guarded(run *run, req *gateway.Request, record *gateway.Record) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			b.service.o.Log.Error("a response in the background panicked", "id", b.ID(), "panic", fault, "stack", string(debug.Stack()))
			err = &gateway.Error{Kind: gateway.Internal, Message: "The gateway has failed. Its log says why."}
		}
	}()
	return b.answer(run, req, record)
}

// answer asks the gateway, and writes its answer.
func (b *background) answer(run *run, req *gateway.Request, record *gateway.Record) error {
	ctx := run.ctx
	if err := b.begin(ctx); err != nil {
		return err
	}
	resp, err := b.service.o.Gateway.Chat(ctx, req)
	if err != nil && b.Shorten(ctx, gateway.AsError(err)) {
		var again *gateway.Request
		if again, err = req.Again(b.Chat(), b.Source()); err != nil {
			return err
		}
		resp, err = b.service.o.Gateway.Chat(ctx, again)
	}
	if err != nil {
		return err
	}
	defer resp.Close()
	record.Summary = resp.Summary
	w := b.Writer(resp)
	frame, err := resp.Next()
	if err != nil && err != io.EOF {
		return err
	}
	if !w.Streamed() {
		_, err := w.Whole(frame)
		return err
	}
	var out []byte
	for ; err == nil; frame, err = resp.Next() {
		if frame == nil {
			continue
		}
		if out, err = w.Frame(out[:0], frame); err != nil {
			break
		}
		run.feed.add(out)
	}
	if err == io.EOF {
		out, err = w.Close(out[:0])
		run.feed.add(out)
	}
	if err != nil && context.Cause(ctx) == nil {
		run.feed.add(w.Fail(nil, gateway.AsError(err))) // which stores it
		run.failed = true
	}
	return err
}

// begin stores that the response is no more waiting.
func (b *background) begin(ctx context.Context) error {
	return b.put(ctx, responses.Result{ID: b.ID(), Status: responses.InProgress, Response: b.Object(responses.InProgress, nil)})
}

// fail stores how a response has ended that has no answer.
func (b *background) fail(run *run, e *gateway.Error) {
	status := responses.Failed
	switch cause := context.Cause(run.ctx); {
	case errors.Is(cause, errDeleted):
		return
	case errors.Is(cause, errCancelled):
		status, e = responses.Cancelled, nil
	case cause != nil:
		e = &gateway.Error{Kind: gateway.Unavailable, Code: "server_error", Message: "The gateway was stopped while it ran this response."}
	}
	if run.failed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTime)
	defer cancel()
	if err := b.put(ctx, responses.Result{ID: b.ID(), Status: status, Response: b.Object(status, e)}); err != nil {
		b.service.o.Log.Error("how a response in the background has ended was not stored", "id", b.ID(), "error", err)
	}
	if e != nil && run.streamed {
		events, _ := run.feed.size() // those of an answer that had begun too
		run.feed.add(b.Give(e, events))
	}
}
