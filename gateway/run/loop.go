package run

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/wire"
)

// loop is the rounds of one request. It is used by one goroutine.
type loop struct {
	runner   *Runner
	policy   Policy
	ctx      context.Context //nolint:containedctx // that of the request, which ends with Close
	cancel   context.CancelCauseFunc
	req      *gateway.Request // of the next round
	asking   asking
	turn     *turn
	executor executor
	work     *work // calls that run; nil if none do
	out      output
	err      error // that the answer has ended with
	traced   func(outcome string)
}

// begin asks the model for the first time.
func (r *Runner) begin(ctx context.Context, req *gateway.Request, offer *offer, policy Policy) (*gateway.Response, error) {
	l := &loop{runner: r, policy: policy, asking: asking{began: time.Now()}, turn: &turn{}}
	ctx, l.traced = r.o.Trace.Rounds(ctx, req.Model)
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	l.asking.sum = newSummary(r.o.Bill, offer, &l.policy)
	l.executor = executor{caller: r.caller, beat: r.o.Beat, policy: &l.policy, until: l.asking.began.Add(policy.Time.Run - policy.Time.Answer),
		offer: offer, ledger: newLedger(&l.policy), sum: l.asking.sum, out: &l.out}
	handed := false
	defer func() {
		if !handed { // also if something panicked
			l.Close()
		}
	}()
	back := resumption{runner: r, carryover: r.carryover(req.From.Tenant), executor: &l.executor}
	if l.req, l.err = back.resume(l.ctx, req.Remake(offer.edits(req, r.caller.cleaner.current())...)); l.err != nil {
		return nil, l.err
	}
	err := l.ask()
	req.Routing.Route = l.req.Routing.Route
	if err != nil {
		l.err = err
		return nil, l.asking.sum.failed(err)
	}
	first := l.asking.resp
	l.asking.header = first.Header()
	l.out.begin(first.Streamed(), offer.listed())
	handed = true
	return &gateway.Response{Reply: l, Summary: &l.asking.sum.Summary}, nil
}

// Header implements gateway.Reply: what the first upstream has sent.
func (l *loop) Header() http.Header { return l.asking.header }

// Streamed implements gateway.Reply.
func (l *loop) Streamed() bool { return l.out.stream }

// Next implements gateway.Reply, as gateway.Response has it.
func (l *loop) Next() (*wire.Frame, error) {
	o := &l.out
	for o.given == len(o.frames) {
		o.frames, o.given = o.frames[:0], 0
		if l.err != nil {
			return nil, l.err
		}
		l.step()
		if len(o.frames) == 0 && o.owed && !o.more && l.err == nil {
			o.owed = false
			return nil, nil
		}
	}
	f := o.frames[o.given]
	o.given++
	f.More = o.given < len(o.frames) || o.more && l.err == nil
	o.owed = f.More
	return f, nil
}

// Close ends all that runs for the answer.
func (l *loop) Close() error {
	l.cancel(context.Canceled)
	defer l.traced(l.outcome())
	l.stopWork()
	return l.asking.close()
}

// outcome is how the answer has ended, in one word.
func (l *loop) outcome() string {
	switch l.err {
	case io.EOF:
		return "ok"
	case nil:
		return "client_closed_request"
	}
	return gateway.AsError(l.err).CodeOrDefault()
}

// step does the next thing: reads a frame, waits for a call, or asks the model.
func (l *loop) step() {
	l.out.more = false
	switch {
	case l.work != nil:
		l.wait()
	case l.asking.resp == nil:
		if err := l.ask(); err != nil {
			l.broken(err)
		}
	default:
		l.read()
	}
}

// ask asks the model, which says something new.
func (l *loop) ask() error {
	l.req.Reading.Ran = l.executor.ledger.ran
	if err := l.asking.ask(l.ctx, l.runner.o.Inner, l.req, l.policy.Time); err != nil {
		return err
	}
	l.turn = &turn{}
	return nil
}

// read reads the model's next frame.
func (l *loop) read() {
	f, err := l.asking.resp.Next()
	switch {
	case err == io.EOF:
		l.ended()
	case err != nil:
		l.broken(err)
	case f == nil:
		l.out.more = false
	default:
		l.out.more = f.More
		if f.Failed() {
			l.asking.inBand = f.Copy()
			return
		}
		for _, f := range outgoing(f) {
			if f.Whole && l.out.stream {
				for _, c := range wire.Chunks(f, true) {
					l.out.writer.frame(&c, l.turn, l.decide)
				}
				continue
			}
			l.out.writer.frame(f, l.turn, l.decide)
		}
	}
}

// outgoing are the frames as they go out: one that was changed may be several.
func outgoing(f *wire.Frame) []*wire.Frame {
	if !f.Changed() {
		return []*wire.Frame{f}
	}
	if f.Whole {
		data := f.Bytes()
		return []*wire.Frame{{Raw: data, Data: data, Whole: true}}
	}
	var out []*wire.Frame
	blocks := wire.NewReader(bytes.NewReader(f.AppendTo(nil)), 0)
	for {
		b, err := blocks.Next()
		if err != nil {
			return out
		}
		raw := append([]byte(nil), b.Raw...)
		data := append([]byte(nil), b.Data...)
		out = append(out, &wire.Frame{Raw: raw, Data: data})
	}
}

// ended deals with the end of a round.
func (l *loop) ended() {
	a := &l.asking
	a.over()
	a.usage = append(a.usage, l.turn.usage)
	if a.inBand != nil {
		l.endedByError()
		return
	}
	if a.lastBecause != "" {
		if len(l.turn.text) == 0 {
			l.partial(a.lastBecause, "the model gave no answer")
			return
		}
		l.finish(nil, "stop", a.lastBecause)
		return
	}
	mine, theirs := l.turn.sort(l.decide)
	switch {
	case len(mine) == 0 && len(theirs) == 0:
		l.finish(nil, l.turn.finish, gateway.StopAnswer)
	case len(mine) == 0:
		l.finish(theirs, l.turn.finish, gateway.StopClient)
	default:
		l.perform(mine, theirs)
	}
}

// endedByError deals with an error that the upstream has sent in its stream. What tools have found
// is not lost by it; else the client gets it as it came.
func (l *loop) endedByError() {
	failure := l.asking.inBand
	if !l.executor.ledger.any() {
		l.out.put(failure)
		l.err = io.EOF
		return
	}
	l.asking.sum.goOn()
	l.broken(&gateway.Error{Kind: gateway.Unavailable, Message: "The upstream ended its answer with an error."})
}

// finish ends the answer.
func (l *loop) finish(theirs []*call, reason string, stop gateway.ToolStop) {
	if reason == "" {
		reason = "stop"
	}
	l.asking.sum.stop(stop)
	l.out.writer.close(l.turn, theirs, reason, l.asking.usage)
	l.err = io.EOF
}

// broken deals with a model that cannot be asked, or breaks off. What tools have found is not
// lost by it.
func (l *loop) broken(err error) {
	a := &l.asking
	if a.resp != nil {
		a.over()
	}
	e := gateway.AsError(err)
	switch {
	case l.ctx.Err() != nil || e.Kind == gateway.Canceled || !l.executor.ledger.any() || l.out.stream && l.out.writer.(*stream).odd:
		l.err = err
	case errors.Is(err, errSoft) && a.lastBecause == "":
		a.lastBecause = gateway.StopTime
		l.req = edited(l.req, wire.Edit{}, `"none"`) // the next round is the last one
	default:
		stop := a.lastBecause
		if stop == "" {
			stop = gateway.StopError
		}
		l.partial(stop, e.Message)
	}
}

// partial ends the answer with what tools have found.
func (l *loop) partial(stop gateway.ToolStop, why string) {
	sum := l.asking.sum
	sum.Warn("partial_answer:" + string(stop))
	if len(l.turn.text) > 0 {
		l.out.writer.next(l.turn)
	}
	l.turn = &turn{}
	l.out.writer.say(l.executor.ledger.report(stop, why))
	l.finish(nil, "length", stop)
}

// edited is the request of the next round: messages are added, and tool_choice is set unless
// choice is "".
func edited(req *gateway.Request, added wire.Edit, choice string) *gateway.Request {
	var edits []wire.Edit
	if len(added.With) > 0 {
		edits = append(edits, added)
	}
	if choice != "" && !req.Body.Places().Tools.Empty() {
		edits = append(edits, req.Body.Set(req.Body.Places().ToolChoice, "tool_choice", choice))
	}
	return req.Edit(edits...)
}

// appended is the edit that puts messages behind the others of a request.
func appended(req *gateway.Request, messages []byte) (wire.Edit, error) {
	if err := req.Room.Grow(int64(len(messages)) * inflight.Body); err != nil {
		return wire.Edit{}, gateway.Errorf(gateway.MemorySpent, "", "The gateway has no memory for more results of tools.")
	}
	list := req.Body.Places().Messages
	at := list.End - 1
	if wire.Blank(req.Body.Bytes()[list.Start+1 : at]) {
		messages = messages[1:]
	}
	return wire.Edit{At: wire.Span{Start: at, End: at}, With: messages}, nil
}
