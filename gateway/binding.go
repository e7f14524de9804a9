package gateway

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/wire"
)

// The problems between the tools of a request and the model, as warnings name them.
const (
	toolsEmpty    = "tools_empty"         // the list has no tool
	choiceAlone   = "tool_choice_alone"   // a call is demanded and no tool is offered
	toolsLost     = "tools_lost"          // the adapter did not send them
	toolsRefused  = "tools_refused"       // the upstream cannot take tools
	toolsUnseen   = "tools_unseen"        // by its count of tokens, the model has not seen them
	choiceIgnored = "tool_choice_ignored" // the model called, or did not, against tool_choice
)

// checkBinding looks at the tools of a request before it goes out.
func (a *attempts) checkBinding() error {
	action, req := a.conduct.Binding, a.req
	if action == BindingOff {
		return nil
	}
	choice := req.choice()
	none := req.tools.IsNull(req.body)
	var problem string
	e := &Error{Kind: Invalid}
	switch {
	case choice.Required && none:
		problem, e.Param = choiceAlone, "tool_choice"
		e.Message = "tool_choice demands a call of a tool, and the request offers no tools."
	case !none && wire.Blank(req.body[req.tools.Start+1:req.tools.End-1]):
		problem, e.Param = toolsEmpty, "tools"
		e.Message = "The list of tools is empty. Leave the field out, or offer a tool."
	default:
		return nil
	}
	if action == BindingRefuse {
		e.Code = problem
		return e
	}
	a.warn(problem)
	return nil
}

// checkWire looks at what an adapter is about to send. Adapters that keep the list of
// tools keep its bytes; of others the tools are counted. Where some are lost the policy
// decides whether it goes out.
func (r *Response) checkWire(req *Request, body []byte) error {
	if bytes.Contains(body, req.tools.Of(req.body)) || countTools(body) >= countTools(req.body) {
		return nil
	}
	r.of.warn(toolsLost + ":" + r.upstream.name)
	if r.of.conduct.Binding != BindingRefuse {
		r.Summary.Warn(toolsLost + ":" + r.upstream.name)
		return nil
	}
	return r.unboundError(toolsLost, "the tools of the request do not reach the upstream")
}

// countTools is how many elements the member "tools" of a body has.
func countTools(body []byte) int {
	tools := wire.Find(body, wire.Span{Start: 0, End: len(body)}, "tools")
	n := 0
	if !tools.IsNull(body) {
		wire.Elements(body, tools.Start, func(int, wire.Span) bool { n++; return true })
	}
	return n
}

func (r *Response) unboundError(code, what string) *Error {
	return &Error{Kind: Unbound, Code: code, Message: fmt.Sprintf("Provider %q: %s (tool_binding).", r.upstream.name, what)}
}

// refusedTools looks at the failure of an attempt: whether it is the tools that the
// upstream cannot take. Where the policy says so another target may.
func (r *Response) refusedTools(err error) error {
	e := AsError(err)
	if e.Kind != Rejected || r.of.forced != nil || r.of.conduct.Binding == BindingOff || !r.req.OffersTools() || !namesTools(e.said()) {
		return err
	}
	r.of.warn(toolsRefused + ":" + r.upstream.name)
	if r.of.conduct.Binding != BindingRefuse {
		return err
	}
	out := *e
	out.Kind, out.Code = Unbound, toolsRefused
	return &out
}

// namesTools reports whether an upstream's refusal says that tools are not supported:
// vLLM ("\"auto\" tool choice requires --enable-auto-tool-choice"), Ollama ("does not
// support tools"), OpenRouter ("No endpoints found that support tool use"), Groq and
// others ("`tool calling` is not supported with this model").
func namesTools(body []byte) bool {
	text := fieldsOfTools.Replace(strings.ToLower(string(body[:min(len(body), 4<<10)])))
	if strings.Contains(text, "--enable-auto-tool-choice") {
		return true
	}
	tools := strings.Contains(text, "tool") || strings.Contains(text, "function call")
	for _, words := range []string{"not support", "unsupported", "no endpoints found that support", "not available", "isn't supported", "not enabled"} {
		if tools && strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// fieldsOfTools are words of requests that may be refused on their own, by an upstream
// that takes tools.
var fieldsOfTools = strings.NewReplacer("tool_choice", "", "parallel_tool_calls", "", "tool_call_id", "", "tools[", "", "role 'tool'", "", `role \"tool\"`, "")

// runesPerToken is more than any tokenizer gets of JSON into a token on average: those
// of large models take three to five characters, and some whole words of schemas.
const runesPerToken = 12

// leastTools is how long a list of tools is, in characters, before a count of tokens
// says anything about it.
const leastTools = 600

// checkAnswer looks at whether an answer that is over heeds the tools.
func (r *Response) checkAnswer() {
	if r.of.conduct.Binding == BindingOff {
		return
	}
	if r.ignoresChoice() {
		r.Summary.Warn(choiceIgnored)
	}
	if n, p := r.req.read().runes, r.Summary.Usage.Input; !r.watch.called() && !r.of.choice.None && p > 0 && n >= leastTools && p*runesPerToken < n {
		r.Summary.Warn(toolsUnseen)
	}
}

// ignoresChoice reports whether the model called, or did not, against tool_choice. One that
// was cut short may have been about to.
func (r *Response) ignoresChoice() bool {
	w, choice := r.watch, r.of.choice
	switch called := w.called(); {
	case choice.None:
		return called
	case !choice.Required || w.broken():
		return false
	case !called:
		return true
	}
	names := r.judge != nil && len(r.judge.called) > 0
	return names && choice.Tool != "" && !slices.Contains(r.judge.called, choice.Tool)
}

// unfit is the failure of an answer that is over and of which nothing is out yet. Where
// the model has not seen the tools there is no use in telling it to call one.
func (r *Response) unfit() error {
	if err := r.unheeded(toolsUnseen, "by its count of tokens the model has not seen the tools"); err != nil {
		return err
	}
	if err := r.ghost(); err != nil {
		return err
	}
	return r.unheeded(choiceIgnored, "the model did not heed tool_choice")
}

// unheeded is the failure of an answer with a problem, where the policy refuses that.
func (r *Response) unheeded(problem, what string) error {
	if r.watch == nil || r.of.conduct.Binding != BindingRefuse || !slices.Contains(r.Summary.own, problem) {
		return nil
	}
	r.of.warn(problem + ":" + r.upstream.name)
	return r.unboundError(problem, what)
}
