package gateway

import (
	"fmt"

	"github.com/callgate/callgate/gateway/internal/guard"
)

// newWatch makes the watch of an answer, or nil if nothing is to be known of it.
func (r *Response) newWatch() *watch {
	c := r.of.conduct
	if r.target.Mode == Off || r.req.tools.IsNull(r.req.body) || c.guard == nil && c.Binding == BindingOff {
		return nil
	}
	return &watch{judge: r.judge, read: r.parsers != nil}
}

// guarded reports whether an answer without a call is held until the guard has judged
// it, and not given out if the call is missing.
func (r *Response) guarded() bool {
	return r.watch != nil && r.of.conduct.Guard == Repair && r.req.OffersTools() && r.judge != nil && !r.judge.report
}

// caseOf is the request as the guard sees it; nil if it has no opinion.
func (r *Response) caseOf() *guard.Case {
	w, g := r.watch, r.of.conduct.guard
	if w.guard == nil && g != nil {
		w.guard = g.Begin(r.of.asked.talk(), r.of.asked.toolNames(), r.of.asked.choice())
	}
	return w.guard
}

// undecided reports whether the answer so far is held back yet: no call has come, and
// what follows may show that one is missing.
func (r *Response) undecided() bool {
	w := r.watch
	if w == nil || w.decided || r.judge == nil || r.judge.report {
		return false
	}
	called := len(r.judge.called) > 0
	switch {
	case r.of.forced != nil: // it has to be a call, or nothing
		w.decided = called
	case r.guarded():
		w.decided = !r.caseOf().Undecided(w.begun())
	default:
		w.decided = called || r.of.conduct.Binding != BindingRefuse || !r.of.choice.Required
	}
	return !w.decided
}

// conclude is told that the answer is over, and judges it.
func (r *Response) conclude() {
	w := r.watch
	if w == nil || w.over {
		return
	}
	w.over = true
	r.checkAnswer()
	if r.of.conduct.guard == nil || !r.req.OffersTools() || r.judge == nil {
		return
	}
	v := r.caseOf().Judge(w.answer())
	r.Summary.Guard = &v
	r.of.verdict = &v
}

// ghost is the failure of an answer, of which nothing is out yet, that lacks a call.
func (r *Response) ghost() error {
	v := r.Summary.Guard
	switch {
	case !r.guarded() || r.watch.decided:
		return nil
	case r.of.forced != nil && len(r.judge.called) > 0:
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
		choice = `{"type":"function","function":{"name":` + string(quote(nil, tool)) + `}}`
	}
	a.req = a.req.with(a.req.set(a.req.toolChoice, "tool_choice", choice), a.req.message("user", text))
	return true
}

// unforced is the failure for a client that did not ask for the call which was demanded:
// what an upstream has against the demand would tell it nothing.
func (a *attempts) unforced(e *Error) *Error {
	if a.forced == nil || e.Kind != Rejected && e.Kind != Unbound && e.Kind != BadCall && e.Kind != Unusable {
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

// choice is what tool_choice says.
func (r *Request) choice() guard.Choice {
	switch unquote(r.toolChoice.Of(r.body)) {
	case "none":
		return guard.Choice{None: true}
	case "required", "any": // "any" is Mistral's word
		return guard.Choice{Required: true}
	}
	if name := r.chosen(); name != "" {
		return guard.Choice{Required: true, Tool: name}
	}
	return guard.Choice{}
}
