// Package ghost is the stage of the execution guard: it judges answers that claim an action,
// or owe one, and call no tool. Where it may ask for the call, it holds the answer until it
// knows.
package ghost

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/wire"
)

// Maker makes the stage for the answers of a route.
type Maker struct {
	// Mode is Report, which says what is missing, or Repair, which asks once more and
	// demands the call.
	Mode  gateway.Mode
	Guard *guard.Guard
	// Judge is asked where the rules are not sure, and before every call that is demanded; nil
	// asks nobody.
	Judge guard.Judge
	// Held is how many bytes of all answers wait.
	Held *atomic.Int64
	Log  *slog.Logger
}

const (
	// maxHeld is how many bytes of an answer wait. A token takes some two hundred, and
	// models think for some ten thousand.
	maxHeld = 8 << 20
	// MaxHeldAll is how many of all answers do.
	MaxHeldAll = 512 << 20
	// maxTools is how many tools a request may offer for its answer to be judged. Each claim
	// of an answer is compared with all of them.
	maxTools = 512
)

// Begin implements gateway.Maker.
func (m *Maker) Begin(ctx context.Context, a *gateway.AttemptInfo, o *gateway.Outcome) (gateway.Stage, error) {
	if a.Target.Mode == gateway.Off || !m.judges(a, o) {
		return nil, nil
	}
	s := &stage{maker: m, ctx: ctx, attempt: a, outcome: o, holds: m.Mode == gateway.Repair && a.Target.Mode != gateway.Report}
	s.held.Room.Of = a.Room
	s.text.window = reported
	s.text.read = !a.Target.Parsers.None()
	if m.Mode == gateway.Repair {
		s.text.window = enforced
	}
	return s, nil
}

// judges reports whether the guard has an opinion about answers to the request. What it
// cannot read it lets alone: tools that are no functions, which an upstream may run itself,
// a tool_choice that it does not know, and answers that have to be JSON, which quote and do
// not claim.
func (m *Maker) judges(a *gateway.AttemptInfo, o *gateway.Outcome) bool {
	req := a.Sent
	n := len(req.Reading.Tools().Tools)
	if n == 0 || !req.Reading.OffersTools() {
		return false
	}
	choice := a.Notes.Choice
	others := req.Reading.Tools().Others > 0 || !req.Body.Places().WebSearch.IsNull(req.Body.Bytes()) // such as a web search
	fit := n <= maxTools && !choice.Other && (choice.Required || !wantsJSON(req) && !others)
	if !fit && m.Mode == gateway.Repair {
		o.Warn(skipped)
	}
	return fit
}

// skipped is the warning that the guard has no opinion.
const skipped = "guard_skipped"

// wantsJSON reports whether response_format asks for JSON.
func wantsJSON(r *gateway.Request) bool {
	body, format := r.Body.Bytes(), r.Body.Places().ResponseFormat
	if format.IsNull(body) || body[format.Start] != '{' {
		return false
	}
	kind := wire.Unquote(wire.Find(body, format, "type").Of(body))
	return kind != "" && kind != "text"
}

type stage struct {
	maker   *Maker
	ctx     context.Context //nolint:containedctx // a stage lives as long as its answer
	attempt *gateway.AttemptInfo
	outcome *gateway.Outcome
	guard   *guard.Case // nil until it is needed
	text    text
	holds   bool // the answer waits until the guard has decided
	held    gateway.Held
}

// isBlind reports whether the upstream may have run tools itself that the guard does not see, and it matters what they
// did: where they may act, or where any call was demanded. Where a tool is demanded by its name it does not.
func (s *stage) isBlind() bool {
	choice, ran := s.attempt.Notes.Choice, s.attempt.Sent.MayHaveRun()
	return s.attempt.Demanded == nil && choice.Tool == "" && (ran.Acts || ran.Any && choice.Required)
}

func (s *stage) Frame(f *wire.Frame, next gateway.Sink) error {
	if s.isBlind() {
		next.Put(f)
		return nil
	}
	if c := f.Choices(); len(c) > 0 && c[0].Index == 0 { // others are variants of the first, and a call in any of them is one
		s.text.frame(f)
	}
	if f.Whole && s.holds {
		s.hold(f)
		return nil
	}
	if s.holds && (len(s.held.Frames) > 0 || f.Says()) && s.undecided() {
		if s.hold(f) {
			return nil
		}
		s.outcome.Warn("guard_gave_up")
		if s.attempt.Demanded != nil {
			return missing()
		}
		s.holds = false
		s.release(next)
		return nil
	}
	if s.holds && f.Says() { // it is decided
		s.holds = false
	}
	s.release(next)
	next.Put(f)
	return nil
}

// undecided reports whether the answer so far is held back yet: no call has come, and what
// follows may show that one is missing. In the place of a call that is demanded nothing else
// is let through.
func (s *stage) undecided() (undecided bool) {
	if s.attempt.Demanded != nil {
		return !s.outcome.HasCall()
	}
	s.safely(func() { undecided = s.request().Undecided(s.answer(false)) })
	return undecided
}

// hold takes room for what of an answer waits. It reports false if there is none; the frame
// is held nevertheless.
func (s *stage) hold(f *wire.Frame) bool {
	all := s.maker.Held.Add(int64(s.held.Add(f)))
	return all <= MaxHeldAll && s.held.Bytes <= maxHeld && s.held.Full == nil || f.Whole
}

// take gives what waits away, and its room back.
func (s *stage) take() []*wire.Frame {
	s.maker.Held.Add(int64(-s.held.Bytes))
	return s.held.Take()
}

func (s *stage) release(next gateway.Sink) {
	for _, f := range s.take() {
		next.Put(f)
	}
}

func (s *stage) End(cause error, next gateway.Sink) error {
	if cause == io.EOF && s.isBlind() {
		if s.maker.Mode == gateway.Repair {
			s.outcome.Warn(skipped)
		}
		return nil
	}
	if cause != io.EOF {
		for _, f := range s.take() {
			f.Free()
		}
		return nil
	}
	s.safely(func() {
		v := s.request().Judge(s.answer(true))
		s.outcome.Guard = &v
		if s.maker.Judge != nil && !s.outcome.HasCall() && s.attempt.Demanded == nil && v.Unsure(s.holds && !s.outcome.Committed) {
			v.Rule(s.maker.Judge(s.ctx, s.request().Question(s.answer(true))))
		}
		s.guard.Free() // not one that has panicked
		s.guard = nil
	})
	if err := s.lacks(); err != nil {
		s.take()
		return err
	}
	s.release(next)
	return nil
}

// lacks is the failure of an answer, of which nothing is out yet, that lacks a call or says what
// its calls do not bear out.
func (s *stage) lacks() error {
	v, demanded := s.outcome.Guard, s.attempt.Demanded
	switch {
	case !s.holds || s.outcome.Committed:
		return nil
	case demanded != nil && s.outcome.HasCall():
		return nil
	case demanded == nil && (v == nil || !v.Ghost && !v.Contradiction || s.outcome.WasCut()):
		return nil
	case demanded != nil:
		return missing()
	}
	e := missing()
	if v.Contradiction {
		e = contradicted(v.Tool)
	}
	e.Redo = s.correct(v, e)
	return e
}

func missing() *gateway.Error {
	return &gateway.Error{Kind: gateway.Ghost, Message: "Technical error: Tool not triggered."}
}

func contradicted(tool string) *gateway.Error {
	return gateway.Errorf(gateway.Ghost, "tool_result_contradicted", "The model says that %s did its work, and its result says that it failed.", tool)
}

// correct asks for another attempt: one in which the call that is missing is demanded, or where
// that could do harm one in which the model is to say what its calls bear out. It is nil where no
// tool is meant: nothing is demanded then.
func (s *stage) correct(v *gateway.Verdict, e *gateway.Error) *gateway.Redo {
	switch {
	case v.Contradiction:
		remark := fmt.Sprintf("The call of %s failed. Its result was: %s\nDo not say that it was done. Say what happened, or try again if that can help.", v.Tool, v.Result)
		r := &gateway.Redo{Reason: gateway.Corrected, Remark: remark, Else: contradicted(v.Tool), Notes: []gateway.Correction{{Tool: v.Tool, Reason: e.Code, Verdict: v}}}
		if v.Changed { // a call that succeeded is not to be made again
			r.Choice = `"none"`
		}
		return r
	case v.Demand:
		return s.demand(v)
	case v.Changed:
		return &gateway.Redo{Reason: gateway.Corrected, Choice: `"none"`, Else: missing(), Notes: []gateway.Correction{{Tool: v.Tool, Reason: missing().CodeOrDefault(), Verdict: v}},
			Remark: "Not all that you say was done: only the calls above were made. Answer again, and say only what their results show."}
	case v.Hint:
		return &gateway.Redo{Reason: gateway.Corrected, Else: missing(), Notes: []gateway.Correction{{Reason: missing().CodeOrDefault(), Verdict: v}},
			Remark: "You made no call, so nothing was done. If the user asked for something that a tool does, call that tool. Otherwise answer without saying that anything was done."}
	}
	return nil
}

// demand asks for another attempt, in which the call that is missing is demanded.
func (s *stage) demand(v *gateway.Verdict) *gateway.Redo {
	r := &gateway.Redo{Reason: gateway.Forced, Demanded: v, Choice: `"required"`, Else: missing(),
		Remark: "You MUST call one of the tools for this request. Do not respond without calling one."}
	if v.Tool != "" {
		r.Remark = fmt.Sprintf("You MUST call the %s tool for this request. Do not respond without calling it.", v.Tool)
		r.Choice = `{"type":"function","function":{"name":` + string(wire.AppendQuoted(nil, v.Tool)) + `}}`
	}
	r.Notes = []gateway.Correction{{Tool: v.Tool, Reason: r.Else.CodeOrDefault(), Verdict: v}}
	return r
}

// request is the request as the guard sees it.
func (s *stage) request() *guard.Case {
	if s.guard == nil {
		asked := s.attempt.Asked
		choice := asked.Reading.Choice()
		s.guard = s.maker.Guard.Begin(asked.Reading.Ledger(), asked.Reading.Tools().Names, guard.Choice{None: choice.None, Required: choice.Required, Tool: choice.Tool})
	}
	return s.guard
}

// answer is what the guard is asked about: the beginning while the answer comes, and all that
// was kept of it when it is over.
func (s *stage) answer(done bool) guard.Answer {
	a := guard.Answer{Text: s.text.head.String(), Finish: s.outcome.Finish, Calls: s.outcome.Called, Done: done, Rejected: rejected(s.attempt.Corrections)}
	if done {
		a.Text = s.text.all()
	}
	if len(a.Calls) == 0 && s.outcome.CallSeen {
		a.Calls = []string{""} // one whose name nobody knows
	}
	return a
}

// rejected is the tool of the last call that was given back to the model, or "".
func rejected(told []gateway.Correction) string {
	for _, c := range slices.Backward(told) {
		if c.Verdict == nil { // it is no answer that claims one
			return c.Tool
		}
	}
	return ""
}

// safely asks the guard. It reads what strangers write in sixteen languages: a defect of
// it must not cost a client the answer.
func (s *stage) safely(ask func()) {
	defer func() {
		if p := recover(); p != nil {
			s.maker.Log.ErrorContext(s.ctx, "guard failed", "id", s.attempt.Asked.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			s.outcome.Warn("guard_failed")
		}
	}()
	ask()
}
