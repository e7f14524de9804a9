package gateway

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/wire"
)

// newWatch makes the watch of an answer, or nil if nothing is to be known of it.
func (r *Response) newWatch() *watch {
	c := r.of.conduct
	if r.target.Mode == Off || r.req.tools.IsNull(r.req.body) || c.guard == nil && c.Binding == BindingOff {
		return nil
	}
	w := &watch{judge: r.judge, read: r.parsers != nil, window: reported}
	if c.Guard == Repair {
		w.window = enforced
	}
	return w
}

// guarded reports whether an answer without a call is held until the guard has judged
// it, and not given out if the call is missing.
func (r *Response) guarded() bool {
	return r.watch != nil && r.of.conduct.Guard == Repair && r.of.guarded && r.judge != nil && !r.judge.report
}

// caseOf is the request as the guard sees it; nil if it has no opinion.
func (r *Response) caseOf() *guard.Case {
	w, g := r.watch, r.of.conduct.guard
	if w.guard == nil && g != nil {
		w.guard = g.Begin(r.of.asked.talk(), r.of.asked.toolNames(), r.of.asked.choice().Choice)
	}
	return w.guard
}

// maxGuarded is how many tools a request may offer for its answer to be judged. Each
// claim of an answer is compared with all of them.
const maxGuarded = 512

// judged reports whether the guard has an opinion about answers to the request. What it
// cannot read it lets alone: tools that are no functions, which an upstream may run
// itself, a tool_choice that it does not know, and answers that have to be JSON, which
// quote and do not claim.
func (a *attempts) judged() bool {
	req := a.req
	n := len(req.offered())
	if a.conduct.guard == nil || n == 0 || !req.OffersTools() {
		return false
	}
	fit := n <= maxGuarded && !a.choice.Other && (a.choice.Required || !req.wantsJSON() && !req.offersOthers())
	if !fit && a.conduct.Guard == Repair {
		a.warn("guard_skipped")
	}
	return fit
}

// offersOthers reports whether there are tools besides functions, such as a web search.
func (r *Request) offersOthers() bool {
	return r.read().others > 0 || !r.webSearch.IsNull(r.body)
}

// wantsJSON reports whether response_format asks for JSON.
func (r *Request) wantsJSON() bool {
	if r.format.IsNull(r.body) || r.body[r.format.Start] != '{' {
		return false
	}
	kind := wire.Unquote(wire.Find(r.body, r.format, "type").Of(r.body))
	return kind != "" && kind != "text"
}

// undecided reports whether the answer so far is held back yet: no call has come, and
// what follows may show that one is missing.
func (r *Response) undecided() bool {
	w := r.watch
	if w == nil || w.decided || r.judge == nil || r.judge.report {
		return false
	}
	called := w.called()
	switch {
	case r.of.forced != nil: // it has to be a call, or nothing
		w.decided = called
	case r.guarded():
		w.decided = true // also if the guard fails
		r.safely(func() { w.decided = !r.caseOf().Undecided(w.begun()) })
	default:
		w.decided = called || r.of.conduct.Binding != BindingRefuse || !r.of.choice.Required
	}
	return !w.decided
}

// conclude is told that the answer is over, and judges it.
func (r *Response) conclude() {
	if r.Streamed && r.Summary.FirstToken == 0 && r.seen != nil && r.seen.useful { // it was held to its end
		r.Summary.FirstToken = time.Since(r.requested)
	}
	w := r.watch
	if w == nil || w.over {
		return
	}
	w.over = true
	r.checkAnswer()
	if !r.of.guarded || r.judge == nil {
		return
	}
	r.safely(func() {
		v := r.caseOf().Judge(w.answer())
		r.Summary.Guard, r.of.verdict = &v, &v
	})
}

// safely asks the guard. It reads what strangers write in sixteen languages: a defect of
// it must not cost a client the answer.
func (r *Response) safely(ask func()) {
	defer func() {
		if p := recover(); p != nil {
			r.gateway.log.ErrorContext(r.ctx, "guard failed", "id", r.of.asked.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			r.Summary.Warn("guard_failed")
		}
	}()
	ask()
}

// ghost is the failure of an answer, of which nothing is out yet, that lacks a call.
func (r *Response) ghost() error {
	v := r.Summary.Guard
	switch {
	case !r.guarded() || r.watch.decided:
		return nil
	case r.of.forced != nil && r.watch.called():
		return nil
	case r.of.forced == nil && (v == nil || !v.Ghost || r.watch.broken()):
		return nil
	case v == nil:
		v = r.of.forced
	}
	return ghostError(v)
}

func ghostError(v *Verdict) *Error {
	return &Error{Kind: Ghost, Message: "Technical error: Tool not triggered.", verdict: v}
}

// force prepares the next attempt at the same target, in which the call that is missing
// is demanded. It reports whether there is one.
func (a *attempts) force(e *Error) bool {
	if e.Kind != Ghost || !a.mayCorrect() {
		return false
	}
	a.reasked++
	a.forced, a.verdict = e.verdict, nil
	a.corrections = append(a.corrections, Correction{Tool: e.verdict.Tool, Reason: e.CodeOrDefault(), Verdict: e.verdict})
	text, choice := "You MUST call one of the tools for this request. Do not respond without calling one.", `"required"`
	if tool := a.forced.Tool; tool != "" {
		text = fmt.Sprintf("You MUST call the %s tool for this request. Do not respond without calling it.", tool)
		choice = `{"type":"function","function":{"name":` + string(wire.AppendQuoted(nil, tool)) + `}}`
	}
	a.req = a.req.remark(text, a.req.set(a.req.toolChoice, "tool_choice", choice))
	return true
}

// unforced is the failure for a client that did not ask for the call which was demanded:
// what an upstream has against the demand would tell it nothing.
func (a *attempts) unforced(e *Error) *Error {
	if a.forced == nil || e.Kind != Rejected && e.Kind != Unbound && e.Kind != Unusable {
		return e
	}
	return ghostError(a.forced)
}

// toolNames are the names of the offered tools.
func (r *Request) toolNames() []string {
	tools := r.offered()
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Name
	}
	return names
}

// toolChoice is what tool_choice says.
type toolChoice struct {
	guard.Choice
	// Other says that it is of a kind that is not known here, such as allowed_tools.
	Other bool
}

func (r *Request) choice() toolChoice {
	if r.toolChoice.IsNull(r.body) {
		return toolChoice{}
	}
	switch wire.Unquote(r.toolChoice.Of(r.body)) {
	case "auto":
		return toolChoice{}
	case "none":
		return toolChoice{Choice: guard.Choice{None: true}}
	case "required", "any": // "any" is Mistral's word
		return toolChoice{Choice: guard.Choice{Required: true}}
	}
	if name := r.chosen(); name != "" {
		return toolChoice{Choice: guard.Choice{Required: true, Tool: name}}
	}
	return toolChoice{Other: true}
}
