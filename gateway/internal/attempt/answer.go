package attempt

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/usage"
	"github.com/callgate/callgate/gateway/wire"
)

// answer is what an attempt is answered with, on its way through the stages.
type answer struct {
	candidate *candidate
	summary   *gateway.Summary
	affinity  Affinity     // nil: nobody wants to know
	permit    breaker.Pass // of the upstream's breaker, which has to hear how it ended
	reply     gateway.Reply
	room      *inflight.Claim // nil: without a bound
	pipeline  *Pipeline
	out       []*wire.Frame // came through the stages
	given     int           // how many of them were given out
	lent      *wire.Frame   // the last of those
	flow
	began   time.Time
	busy    time.Time     // since the upstream was last waited for
	first   time.Duration // to the first useful byte
	running bool          // the target's load counts it
	status  int           // of one that nobody looks into; 0 of any other
	settled bool
	traced
	score  *score             // of its calls; nil: nobody keeps it
	cancel context.CancelFunc // ends the upstream's answer; nil unless its usage is wanted in any case
}

// traced is what a trace is told of an answer. It is the zero value where there is none.
type traced struct {
	endTrace func(gateway.AttemptEnd)
	stream   bool   // one was asked for
	model    string // as the upstream calls it
	looked   int    // frames that were asked for the model
}

// maxLooked is how many frames are asked for the model's name: the first that is not empty has it.
const maxLooked = 4

// look reads the model's name.
func (t *traced) look(f *wire.Frame) {
	if t.endTrace == nil || t.model != "" || t.looked == maxLooked {
		return
	}
	t.looked++
	if at := wire.Find(f.Data, wire.Span{End: len(f.Data)}, "model"); !at.Empty() {
		t.model = wire.Unquote(f.Data[at.Start:at.End])
	}
}

// flow is how far an answer has come.
type flow struct {
	more     bool // the upstream's next frame is already here
	owed     bool // a flush, for what was given out
	finished bool // the stages know that the answer is complete
	ended    error
	failed   *gateway.Error // that the upstream has sent in a stream; the client has it
}

func (a *answer) outcome() *gateway.Outcome { return &a.summary.Outcome }

func (a *answer) Header() http.Header { return a.reply.Header() }

func (a *answer) Streamed() bool { return a.reply.Streamed() }

// put takes what comes through the stages.
func (a *answer) put(f *wire.Frame) { a.out = append(a.out, f) }

// Next implements gateway.Reply, as gateway.Response has it.
func (a *answer) Next() (*wire.Frame, error) {
	if a.lent != nil {
		a.lent.Free()
		a.lent = nil
	}
	for a.given == len(a.out) {
		a.out, a.given = a.out[:0], 0
		if a.ended != nil {
			a.settle(a.ended)
			return nil, a.ended
		}
		a.step()
		if len(a.out) == 0 && a.owed && !a.more && a.ended == nil {
			a.owed = false
			return nil, nil
		}
	}
	f := a.out[a.given]
	a.given++
	last := a.given == len(a.out)
	f.More = !last || a.more && a.ended == nil
	a.owed, a.lent = f.More, f
	if last && !a.Streamed() {
		a.settle(a.ended)
	}
	return f, nil
}

// step reads the upstream's next frame, and takes it through the stages. The clock is looked
// at once for all frames that are here already.
func (a *answer) step() {
	waited := !a.more
	f, err := a.reply.Next()
	if waited {
		a.busy = time.Now()
	}
	switch {
	case err != nil:
		a.end(err)
	case f.Done:
		a.more, a.outcome().End = f.More, f.Raw
		if a.finish() {
			a.put(f)
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
		a.summary.Overhead += time.Since(a.busy)
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
			a.put(&wire.Frame{Raw: []byte("data: [DONE]\n\n"), Done: true})
		}
	}
}

// finish tells the stages that the answer is complete. It reports false if one of them finds
// that it is not.
func (a *answer) finish() bool {
	a.finished = true
	if w, ok := a.reply.(gateway.Warner); ok {
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
		a.put(&wire.Frame{Raw: e.InBand})
		a.ended = io.EOF
	}
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
		for ; seen < len(a.out); seen++ {
			f := a.out[seen]
			if ahead += len(f.Raw) + frameCost; a.status != 0 || f.Says() || ahead > maxAhead {
				a.commits()
				a.summary.FirstToken, a.first = time.Since(a.summary.Requested), time.Since(a.began)
				return nil
			}
		}
		if a.ended != nil || a.finished {
			return a.empty(asked)
		}
		for ; owned < len(a.out); owned++ { // they stay, and the next frame comes in their place
			a.out[owned] = a.out[owned].Own()
		}
	}
}

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
	choices := len(a.out) > 0 && len(a.out[0].Choices()) > 0
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
	if a.cancel != nil {
		defer a.cancel()
	}
	if a.reply == nil {
		return nil
	}
	return a.reply.Close()
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
	if a.cancel == nil || o.Usage.Reported {
		return
	}
	for i, f := range a.out { // they stay, and the next frame comes in their place
		a.out[i] = f.Own()
	}
	timer := time.AfterFunc(restTime, a.cancel)
	defer timer.Stop()
	for range restFrames {
		f, err := a.reply.Next()
		if err != nil || f.Done {
			break
		}
		for i := range f.Choices() {
			if c := &f.Choices()[i]; c.Index == 0 && c.Reason != "" {
				o.Finish = c.Reason
			}
		}
		if u := f.Usage(); u != nil {
			o.Usage = usage.Read(u)
		}
		goesOn := f.Says() && o.Finish == ""
		f.Free()
		if o.Usage.Reported && o.Finish != "" || goesOn {
			break
		}
	}
	a.busy = time.Now()
}

// settle says how the attempt ended, once: to the breaker of its provider, to the
// trace and in the summary.
func (a *answer) settle(err error) {
	if a.settled {
		return
	}
	a.settled = true
	if err == io.EOF && a.failed != nil {
		err = a.failed
	}
	health, outcome := breaker.Success, "ok"
	switch {
	case err == nil: // closed before its end
		health, outcome = breaker.Excluded, "client_closed_request"
	case err != io.EOF:
		e := gateway.AsError(err)
		health, outcome = e.Health(), e.CodeOrDefault()
	}
	if health == breaker.Success && outcome == "ok" && a.affinity != nil {
		a.affinity.Answered(a.candidate.Target, a.summary.Usage)
	}
	if a.running {
		a.candidate.load.ends(outcome, a.first, time.Since(a.began))
	}
	a.permit.Done(health, outcome)
	a.score.ends(a, err)
	if len(a.summary.Attempts) > 0 && a.running {
		a.record(outcome, err)
	}
	if a.endTrace != nil {
		o := a.outcome()
		a.endTrace(gateway.AttemptEnd{Outcome: outcome, Model: a.model, Finish: o.Finish, Usage: o.Usage, Stream: a.stream, FirstToken: a.first})
	}
}

// record notes in the summary how the attempt ended.
func (a *answer) record(outcome string, err error) {
	last := &a.summary.Attempts[len(a.summary.Attempts)-1]
	last.Outcome, last.Took = outcome, time.Since(a.began)
	if err == nil || err == io.EOF {
		return
	}
	e := gateway.AsError(err)
	last.RetryAfter = e.RetryAfter
	if len(e.Withheld.Names) > 0 { // else what was noted of the reply stays
		last.Withheld = e.Withheld
	}
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
		e = p.Failure(a.reply.Header(), f.Data)
	} else {
		e = gateway.UpstreamFailure{Provider: a.candidate.Provider, Header: a.reply.Header(), Body: f.Data, Redact: redact}.Classify()
	}
	if len(f.Raw) <= gateway.MaxFailure {
		e.InBand = []byte(redact(string(f.Raw)))
	}
	return e
}
