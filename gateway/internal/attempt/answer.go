package attempt

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/usage"
	"github.com/callgate/callgate/gateway/wire"
)

// answer is what an attempt is answered with, on its way through the stages.
type answer struct {
	candidate *candidate
	summary   *gateway.Summary
	room      *inflight.Claim // nil: without a bound
	source    source
	pipeline  *Pipeline
	out       outlet
	progress
	workingSince time.Time // since the upstream was last waited for
	ending
}

// source is where an answer comes from.
type source struct {
	reply  gateway.Reply      // nil until there is one
	status int                // of one that nobody looks into; 0 of any other
	cancel context.CancelFunc // ends the upstream's answer; nil unless its usage is wanted in any case
}

// progress is how far an answer has come.
type progress struct {
	more     bool // the upstream's next frame is already here
	flushDue bool // a flush, for what was given out
	finished bool // the stages know that the answer is complete
	ended    error
	failed   *gateway.Error // that the upstream has sent in a stream; the client has it
}

func (a *answer) outcome() *gateway.Outcome { return &a.summary.Outcome }

func (a *answer) Header() http.Header { return a.source.reply.Header() }

func (a *answer) Streamed() bool { return a.source.reply.Streamed() }

// Next implements gateway.Reply, as gateway.Response has it.
func (a *answer) Next() (*wire.Frame, error) {
	a.out.free()
	for a.out.empty() {
		if a.ended != nil {
			a.settle(a.ended)
			return nil, a.ended
		}
		a.step()
		if a.out.empty() && a.flushDue && !a.more && a.ended == nil {
			a.flushDue = false
			return nil, nil
		}
	}
	f, last := a.out.next()
	f.More = !last || a.more && a.ended == nil
	a.flushDue = f.More
	if last && !a.Streamed() {
		a.settle(a.ended)
	}
	return f, nil
}

// step reads the upstream's next frame, and takes it through the stages. The clock is looked
// at once for all frames that are here already.
func (a *answer) step() {
	waited := !a.more
	f, err := a.source.reply.Next()
	if waited {
		a.workingSince = time.Now()
	}
	switch {
	case err != nil:
		a.end(err)
	case f.Done:
		a.more, a.outcome().End = f.More, f.Raw
		if a.finish() {
			a.out.put(f)
		}
		a.outcome().End = nil // it is the upstream's memory
	default:
		a.more, f.Whole = f.More, !a.Streamed()
		a.look(f)
		if err := a.pipeline.Frame(f); err != nil {
			a.fail(err)
		} else if f.Whole && a.finish() {
			a.ended = io.EOF
		}
	}
	if !a.more || err != nil || a.ended != nil {
		a.summary.Overhead += time.Since(a.workingSince)
	}
}

// end deals with the end of the upstream's reply.
func (a *answer) end(err error) {
	switch {
	case a.finished:
		a.ended = io.EOF
	case err != io.EOF:
		a.finished, a.ended = true, err
		_ = a.pipeline.End(err)
	case !a.Streamed():
		a.ended = err
	default:
		// The upstream has given a finish reason, or this would be an error, but no end
		// marker. Some clients wait for one.
		a.outcome().Warn("done_missing")
		if a.ended = io.EOF; a.finish() && a.candidate.Mode == gateway.Repair {
			a.out.put(&wire.Frame{Raw: []byte("data: [DONE]\n\n"), Done: true})
		}
	}
}

// finish tells the stages that the answer is complete. It reports false if one of them finds
// that it is not.
func (a *answer) finish() bool {
	a.finished = true
	if w, ok := a.source.reply.(gateway.Warner); ok {
		for _, warning := range w.Warnings() {
			a.outcome().Warn(warning)
		}
	}
	if err := a.pipeline.End(io.EOF); err != nil {
		a.fail(err)
		return false
	}
	return true
}

// fail ends the answer with the error of a stage. A client that has seen something of a stream
// gets the error that the upstream has sent as it came; no other and no end marker follows.
func (a *answer) fail(err error) {
	a.finished, a.ended = true, err
	if e := gateway.AsError(err); e.InBand != nil && a.outcome().Committed {
		a.outcome().UpstreamError, a.failed = true, e
		a.out.put(inBand(e))
		a.ended = io.EOF
	}
}

// inBand is the frame of an error that the upstream has sent in its stream. Protocols other than chat
// completions read it.
func inBand(e *gateway.Error) *wire.Frame {
	f := &wire.Frame{Raw: e.InBand}
	if b, err := wire.NewReader(bytes.NewReader(e.InBand), 0).Next(); err == nil {
		f.Data = bytes.Clone(bytes.TrimSpace(b.Data))
	}
	return f
}

// maxAhead is how many bytes of an answer wait for the first useful one among them, and frameCost what
// each frame counts besides its own.
const (
	maxAhead  = 256 << 10
	frameCost = 64
)

// commit reads the answer up to its first useful frame: text, reasoning, a call or whatever
// else a client would act on. Until then the client has seen nothing, and each failure is an
// error that lets another attempt follow: an answer with nothing in it, or an error in the
// place of a chunk, is one too.
func (a *answer) commit(asked *gateway.Request) error {
	ahead, seen, owned := 0, 0, 0
	for {
		a.step()
		if a.ended != nil && a.ended != io.EOF {
			return a.pipeline.refused(gateway.AsError(a.ended))
		}
		for ; seen < len(a.out.frames); seen++ {
			f := a.out.frames[seen]
			if ahead += len(f.Raw) + frameCost; a.source.status != 0 || f.Says() || ahead > maxAhead {
				a.commits()
				a.summary.FirstToken, a.first = time.Since(a.summary.Requested), time.Since(a.began)
				return nil
			}
		}
		if a.ended != nil || a.finished {
			return a.empty(asked)
		}
		owned = a.out.own(owned)
	}
}

// commits notes that the client sees the answer from here on: what is warned of later is in no header.
func (a *answer) commits() {
	o := a.outcome()
	o.Committed, a.summary.WarningsInHeader = true, len(o.Warnings)
}

// empty decides about an answer that ended with nothing in it. One that a token limit, a
// filter or a stop sequence of the client has ended is what was asked for.
func (a *answer) empty(asked *gateway.Request) error {
	a.commits()
	o := a.outcome()
	ended := o.Finish == "" || o.Finish == "stop" || o.Finish == "tool_calls" || o.Finish == "function_call"
	choices := len(a.out.frames) > 0 && len(a.out.frames[0].Choices()) > 0
	if o.HasOutput || !choices && !a.Streamed() || !ended || a.candidate.AllowEmpty || !asked.Body.Places().Stop.IsNull(asked.Body.Bytes()) {
		return nil
	}
	return &gateway.Error{Kind: gateway.Unusable, Message: fmt.Sprintf("Provider %q: the model's answer is empty.", a.candidate.Provider)}
}

func (a *answer) Close() error {
	defer a.room.Close() // nothing of the answer is held any more
	a.settle(nil)
	if a.pipeline != nil {
		_ = a.pipeline.End(&gateway.Error{Kind: gateway.Canceled, Message: "The answer was closed before its end."})
	}
	if a.source.cancel != nil {
		defer a.source.cancel()
	}
	if a.source.reply == nil {
		return nil
	}
	return a.source.reply.Close()
}

// Bounds on what is read of an answer for its usage alone.
const (
	restTime   = time.Second
	restFrames = 64
)

// rest reads the usage of an answer that a stage throws away before its upstream has said what it has used:
// streams say that at their end, and it is billed. An answer that goes on is left, since each further word of it
// would cost something too.
func (a *answer) rest() {
	o := a.outcome()
	if a.source.cancel == nil || o.Usage.Reported {
		return
	}
	a.out.own(0)
	timer := time.AfterFunc(restTime, a.source.cancel)
	defer timer.Stop()
	for range restFrames {
		f, err := a.source.reply.Next()
		if err != nil || f.Done {
			break
		}
		for i := range f.Choices() {
			if c := &f.Choices()[i]; c.Index == 0 && c.Reason != "" {
				o.Finish = c.Reason
			}
		}
		if u := f.Usage(); u != nil {
			o.Usage = o.Usage.Then(usage.Read(u))
		}
		goesOn := f.Says() && o.Finish == ""
		f.Free()
		if o.Usage.Reported && o.Finish != "" || goesOn {
			break
		}
	}
	a.workingSince = time.Now()
}

// settle says how the attempt ended, once.
func (a *answer) settle(err error) {
	if err == io.EOF && a.failed != nil {
		err = a.failed
	}
	a.ending.settle(a.candidate, a.summary, err)
}

// failure reads a frame that is an error in the place of an answer.
func (a *answer) failure(f *wire.Frame) *gateway.Error {
	provider := a.candidate.upstream.provider
	redact := func(s string) string { return s }
	if p, ok := provider.(gateway.Redactor); ok {
		redact = p.Redact
	}
	var e *gateway.Error
	if p, ok := provider.(gateway.Failer); ok {
		e = p.Failure(a.source.reply.Header(), f.Data)
	} else {
		e = gateway.UpstreamFailure{Provider: a.candidate.Provider, Header: a.source.reply.Header(), Body: f.Data, Redact: redact}.Classify()
	}
	if len(f.Raw) <= gateway.MaxFailure {
		e.InBand = []byte(redact(string(f.Raw)))
	}
	return e
}
