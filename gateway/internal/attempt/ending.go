package attempt

import (
	"io"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/wire"
)

// ending tells whoever wants to know how an attempt ended, once.
type ending struct {
	began    time.Time
	first    time.Duration // to the first useful byte
	permit   breaker.Pass  // of the upstream's breaker
	running  bool          // the target's load counts it
	affinity Affinity      // nil: nobody wants to know
	score    *score        // of its calls; nil: nobody keeps it
	traced
	settled bool
}

// settle says it to the breaker of the provider, to the trace and in the summary. err is io.EOF of a
// whole answer, and nil of one that was closed before its end.
func (e *ending) settle(c *candidate, s *gateway.Summary, err error) {
	if e.settled {
		return
	}
	e.settled = true
	health, outcome := breaker.Success, "ok"
	switch {
	case err == nil && s.CutByBudget():
		health, outcome = breaker.Excluded, "budget_cut"
	case err == nil:
		health, outcome = breaker.Excluded, "client_closed_request"
	case err != io.EOF:
		failure := gateway.AsError(err)
		health, outcome = failure.Health(), failure.CodeOrDefault()
	}
	if health == breaker.Success && outcome == "ok" && e.affinity != nil {
		e.affinity.Answered(c.Target, s.Usage)
	}
	if e.running {
		c.load.ends(outcome, e.first, time.Since(e.began))
	}
	e.permit.Done(health, outcome)
	if e.running {
		e.score.ends(c, &s.Outcome, err)
		if len(s.Attempts) > 0 {
			e.record(&s.Attempts[len(s.Attempts)-1], outcome, err)
		}
	}
	e.tell(outcome, e.first, &s.Outcome)
}

// record notes in the summary's attempt how it ended.
func (e *ending) record(at *gateway.Attempt, outcome string, err error) {
	at.Outcome, at.Took = outcome, time.Since(e.began)
	if err == nil || err == io.EOF {
		return
	}
	failure := gateway.AsError(err)
	at.RetryAfter = failure.RetryAfter
	if len(failure.Withheld.Names) > 0 { // else what was noted of the reply stays
		at.Withheld = failure.Withheld
	}
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

// tell says how the attempt ended.
func (t *traced) tell(outcome string, first time.Duration, o *gateway.Outcome) {
	if t.endTrace != nil {
		t.endTrace(gateway.AttemptEnd{Outcome: outcome, Model: t.model, Finish: o.Finish, Usage: o.Usage, Stream: t.stream, FirstToken: first})
	}
}
