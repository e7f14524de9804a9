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

// loop is the rounds of one request. It is used by one goroutine, but for Close.
type loop struct {
	runner *Runner
	policy Policy
	ctx    context.Context //nolint:containedctx // that of the request, which ends with Close
	cancel context.CancelCauseFunc
	req    *gateway.Request // of the next round
	offer  *offer
	ledger *ledger
	asking asking
	turn   *turn
	usage  usages
	writer writer
	out    output
	work   *work // calls that run; nil if none do
	err    error // that the answer has ended with
	traced func(outcome string)
}

// asking is how far the rounds have come.
type asking struct {
	began  time.Time
	resp   *gateway.Response // of the round at hand; nil between two
	header http.Header       // of the first
	stream bool
	round  int
	last   gateway.ToolStop // why the answer at hand is the last one; "" if it need not be
	end    func()           // ends the time of the round
	inBand []byte           // the error that has ended the round, as the upstream sent it
	sum    *summary
}

// output are frames that the client does not have yet.
type output struct {
	frames []*wire.Frame
	given  int
	owed   bool // a flush, for what was given out
	more   bool // the model's next frame is already here
}

func (o *output) put(f *wire.Frame) { o.frames = append(o.frames, f) }

// begin asks the model for the first time.
func (r *Runner) begin(ctx context.Context, req *gateway.Request, offer *offer, policy Policy) (*gateway.Response, error) {
	l := &loop{runner: r, policy: policy, offer: offer, asking: asking{began: time.Now()}, turn: &turn{}}
	ctx, l.traced = r.o.Trace.Rounds(ctx, req.Model)
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	l.ledger = newLedger(&l.policy)
	l.asking.sum = newSummary(r.o.Bill, offer, &l.policy)
	l.req = req.Remake(offer.edits(req, r.hands.cleaner.current())...)
	handed := false
	defer func() {
		if !handed { // also if something panicked
			l.Close()
		}
	}()
	if err := l.resume(req.From.Tenant); err != nil {
		l.err = err
		return nil, err
	}
	err := l.ask()
	req.Way.Route = l.req.Way.Route
	if err != nil {
		l.err = err
		return nil, l.asking.sum.failed(err)
	}
	first := l.asking.resp
	l.asking.stream, l.asking.header = first.Streamed(), first.Header()
	if l.asking.stream {
		l.writer = &stream{put: l.out.put}
	} else {
		l.writer = &whole{put: l.out.put}
	}
	for _, e := range append(offer.listed(), l.ledger.take()...) {
		l.writer.event(e)
	}
	handed = true
	return &gateway.Response{Reply: l, Summary: &l.asking.sum.Summary}, nil
}

// Header implements gateway.Reply: what the first upstream has sent.
func (l *loop) Header() http.Header { return l.asking.header }

// Streamed implements gateway.Reply.
func (l *loop) Streamed() bool { return l.asking.stream }

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
	if l.work != nil {
		l.stopWork()
	}
	if l.asking.end != nil {
		l.asking.end()
	}
	if l.asking.resp == nil {
		return nil
	}
	err := l.asking.resp.Close()
	l.asking.sum.grow(l.asking.resp.Summary)
	return err
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

// Why a round is cut.
var (
	errSoft = &gateway.Error{Kind: gateway.Timeout, Code: "tool_run_timeout", Message: "The rounds of tools took too long."}
	errHard = &gateway.Error{Kind: gateway.Timeout, Code: "tool_run_timeout", Message: "The last answer took too long."}
)

// ask asks the model. Time that tools have taken is not there any more: a round that has not
// begun to answer when the time for the last answer comes is given up, and one that has is cut
// at the end of all time.
func (l *loop) ask() error {
	a := &l.asking
	a.round++
	ctx, cancel := context.WithCancelCause(l.ctx)
	soft, hard := func() bool { return true }, func() bool { return true }
	if a.round > 1 {
		end := a.began.Add(l.policy.Time.Run)
		hard = time.AfterFunc(time.Until(end), func() { cancel(errHard) }).Stop
		if a.last == "" {
			soft = time.AfterFunc(time.Until(end.Add(-l.policy.Time.Answer)), func() { cancel(errSoft) }).Stop
		}
	}
	a.end = func() {
		soft()
		hard()
		cancel(nil)
	}
	l.req.Reading.Ran = l.ledger.ran
	resp, err := l.runner.o.Inner.Chat(ctx, l.req)
	soft()
	if err != nil {
		a.end()
		return err
	}
	a.resp = resp
	l.turn = &turn{}
	a.sum.begin(resp.Summary)
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
		if f.Data == nil && !f.Done && bytes.HasPrefix(f.Raw, []byte("data")) {
			l.asking.inBand = bytes.Clone(f.Raw)
			return
		}
		for _, f := range plain(f) {
			if f.Whole && l.asking.stream {
				for _, c := range wire.Chunks(f, true) {
					l.writer.frame(&c, l.turn, l.decide)
				}
				continue
			}
			l.writer.frame(f, l.turn, l.decide)
		}
	}
}

// plain are the frames as they go out: one that was changed may be several.
func plain(f *wire.Frame) []*wire.Frame {
	if !f.Changed() {
		return []*wire.Frame{f}
	}
	if f.Whole {
		data := f.Bytes()
		return []*wire.Frame{{Raw: data, Data: data, Whole: true}}
	}
	var out []*wire.Frame
	blocks := wire.NewReader(&reader{f.AppendTo(nil)}, 0)
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

// reader reads bytes once.
type reader struct{ rest []byte }

func (r *reader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// ended deals with the end of a round.
func (l *loop) ended() {
	a := &l.asking
	l.closeRound()
	l.usage.add(l.turn.usage)
	if a.inBand != nil {
		l.endedByError()
		return
	}
	if a.last != "" {
		if len(l.turn.text) == 0 {
			l.partial(a.last, "the model gave no answer")
			return
		}
		l.finish(nil, "stop", a.last)
		return
	}
	mine, theirs := l.sort()
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
	raw := l.asking.inBand
	if !l.ledger.any() {
		l.out.put(&wire.Frame{Raw: raw})
		l.err = io.EOF
		return
	}
	l.asking.sum.goOn()
	l.broken(&gateway.Error{Kind: gateway.Unavailable, Message: "The upstream ended its answer with an error."})
}

// closeRound ends the round's request.
func (l *loop) closeRound() {
	a := &l.asking
	_ = a.resp.Close()
	a.end()
	a.sum.over(a.resp.Summary)
	a.resp = nil
}

// finish ends the answer.
func (l *loop) finish(theirs []*call, reason string, stop gateway.ToolStop) {
	if reason == "" {
		reason = "stop"
	}
	l.asking.sum.stop(stop)
	l.writer.close(l.turn, theirs, reason, l.usage.list)
	l.err = io.EOF
}

// broken deals with a model that cannot be asked, or breaks off. What tools have found is not
// lost by it.
func (l *loop) broken(err error) {
	a := &l.asking
	if a.resp != nil {
		l.closeRound()
	}
	e := gateway.AsError(err)
	switch {
	case l.ctx.Err() != nil || e.Kind == gateway.Canceled || !l.ledger.any() || a.stream && l.writer.(*stream).odd:
		l.err = err
	case errors.Is(err, errSoft) && a.last == "":
		a.last = gateway.StopTime
		l.last()
	default:
		stop := a.last
		if stop == "" {
			stop = gateway.StopError
		}
		l.partial(stop, e.Message)
	}
}

// last has the next round be the last one.
func (l *loop) last() {
	l.edit(wire.Edit{}, `"none"`)
}

// partial ends the answer with what tools have found.
func (l *loop) partial(stop gateway.ToolStop, why string) {
	sum := l.asking.sum
	sum.Warn("partial_answer:" + string(stop))
	if len(l.turn.text) > 0 {
		l.writer.next(l.turn)
	}
	l.turn = &turn{}
	l.writer.say(l.ledger.report(stop, why))
	l.finish(nil, "length", stop)
}

// edit changes the request of the next round: messages are added, and tool_choice is set unless
// choice is "".
func (l *loop) edit(added wire.Edit, choice string) {
	var edits []wire.Edit
	if len(added.With) > 0 {
		edits = append(edits, added)
	}
	if choice != "" && !l.req.Body.Places().Tools.Empty() {
		edits = append(edits, l.req.Body.Set(l.req.Body.Places().ToolChoice, "tool_choice", choice))
	}
	l.req = l.req.Edit(edits...)
}

// appended is the edit that puts messages behind the others.
func (l *loop) appended(messages []byte) (wire.Edit, error) {
	if err := l.req.Room.Grow(int64(len(messages)) * inflight.Body); err != nil {
		return wire.Edit{}, gateway.Errorf(gateway.MemorySpent, "", "The gateway has no memory for more results of tools.")
	}
	list := l.req.Body.Places().Messages
	at := list.End - 1
	if wire.Blank(l.req.Body.Bytes()[list.Start+1 : at]) {
		messages = messages[1:]
	}
	return wire.Edit{At: wire.Span{Start: at, End: at}, With: messages}, nil
}

// usages are those of the rounds.
type usages struct{ list []jsonRaw }

func (u *usages) add(raw jsonRaw) { u.list = append(u.list, raw) }
