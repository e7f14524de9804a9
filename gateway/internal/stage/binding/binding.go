// Package binding looks at whether the tools of a request reach the model, and whether the
// model heeds them. Its stages stand around the guard's: where the model has not seen the
// tools there is no use in telling it to call one, and a call that the guard has brought
// about is one that tool_choice asked for.
package binding

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// The problems between the tools of a request and the model, as warnings name them.
const (
	toolsEmpty    = "tools_empty"            // the list has no tool
	choiceAlone   = "tool_choice_alone"      // a call is demanded and no tool is offered
	toolsLost     = "tools_lost"             // the adapter did not send them
	toolsRefused  = gateway.WarnToolsRefused // the upstream cannot take tools
	toolsUnseen   = "tools_unseen"           // by its count of tokens, the model has not seen them
	choiceIgnored = "tool_choice_ignored"    // the model called, or did not, against tool_choice
)

// Policy looks at the tools of a request before it goes out.
type Policy struct{ Action gateway.BindingAction }

// Apply implements gateway.RequestPolicy.
func (p Policy) Apply(_ context.Context, r *gateway.Request, _ *gateway.AttemptInfo) (a gateway.Amendment, err error) {
	at := r.Body.Places().Tools
	none := at.IsNull(r.Body.Bytes())
	e := &gateway.Error{Kind: gateway.Invalid}
	switch {
	case none && r.Reading.Choice().Required:
		e.Code, e.Param = choiceAlone, "tool_choice"
		e.Message = "tool_choice demands a call of a tool, and the request offers no tools."
	case !none && wire.Blank(r.Body.Bytes()[at.Start+1:at.End-1]):
		e.Code, e.Param = toolsEmpty, "tools"
		e.Message = "The list of tools is empty. Leave the field out, or offer a tool."
	default:
		return a, nil
	}
	if p.Action == gateway.BindingRefuse {
		return a, e
	}
	a.Warnings = []string{e.Code}
	return a, nil
}

// CheckChoice refuses a tool_choice that names a function which is not offered. Upstreams
// answer it with an error of their own, with another tool, or with a call that nobody
// can run; the client has made a slip in every case.
func CheckChoice(r *gateway.Request) error {
	name := r.Reading.Choice().Tool
	if name == "" {
		return nil
	}
	tools := r.Reading.Tools().Tools
	if slices.ContainsFunc(tools, func(t abi.Tool) bool { return t.Name == name }) || len(tools) == 0 && r.Reading.ToolsJSON() != nil {
		return nil // it is there, or the tools are made in another way than OpenAI's
	}
	e := &gateway.Error{Kind: gateway.Invalid, Code: repair.UnknownTool, Param: "tool_choice.function.name",
		Message: fmt.Sprintf("tool_choice names the function %q, which is not among the tools.", gateway.Excerpt([]byte(name)))}
	resolved, near := repair.Name(name, tools)
	if resolved != "" {
		near = []string{resolved}
	}
	if len(near) > 0 {
		for i, name := range near {
			near[i] = strconv.Quote(name)
		}
		e.Message += " Did you mean " + strings.Join(near, " or ") + "?"
	}
	return e
}

// Heeded makes the stage behind the guard's: it looks at whether the model heeded
// tool_choice.
type Heeded struct{ Action gateway.BindingAction }

// Begin implements gateway.Maker.
func (m Heeded) Begin(_ context.Context, a *gateway.AttemptInfo, o *gateway.Outcome) (gateway.Stage, error) {
	choice := a.Notes.Choice
	if !watches(m.Action, a) || !choice.None && !choice.Required {
		return nil, nil
	}
	offers := a.Sent.Reading.OffersTools()
	return &heeded{action: m.Action, attempt: a, outcome: o, names: offers, held: gateway.Held{Room: inflight.Hold{Of: a.Room}},
		holds: m.Action == gateway.BindingRefuse && choice.Required && offers && a.Target.Mode != gateway.Report}, nil
}

// watches reports whether anything is to be known of an answer.
func watches(action gateway.BindingAction, a *gateway.AttemptInfo) bool {
	return action != gateway.BindingOff && a.Target.Mode != gateway.Off && !a.Sent.Body.Places().Tools.IsNull(a.Sent.Body.Bytes())
}

type heeded struct {
	action  gateway.BindingAction
	attempt *gateway.AttemptInfo
	outcome *gateway.Outcome
	names   bool // of calls are known
	holds   bool // nothing goes on until a call has come
	held    gateway.Held
}

// maxHeld is how many bytes wait for a call.
const maxHeld = 8 << 20

func (s *heeded) Frame(f *wire.Frame, next gateway.Sink) error {
	s.holds = s.holds && !s.outcome.HasCall() && !s.attempt.Sent.MayHaveRun().Any && !f.Whole && s.held.Bytes <= maxHeld && s.held.Full == nil
	if !s.holds {
		s.held.Release(next)
		next.Put(f)
		return nil
	}
	s.held.Add(f)
	return nil
}

func (s *heeded) End(cause error, next gateway.Sink) error {
	if cause == io.EOF && s.ignored() {
		s.outcome.Warn(choiceIgnored)
		if s.action == gateway.BindingRefuse && !s.outcome.Committed {
			return unbound(s.attempt, choiceIgnored, "the model did not heed tool_choice")
		}
	}
	if cause == io.EOF {
		s.held.Release(next)
	}
	return nil
}

// ignored reports whether the model called, or did not, against tool_choice. One that was cut
// short may have been about to.
func (s *heeded) ignored() bool {
	choice, o := s.attempt.Notes.Choice, s.outcome
	switch {
	case choice.None:
		return o.HasCall()
	case o.WasCut():
		return false
	case !o.HasCall():
		return choice.Tool != "" || !s.attempt.Sent.MayHaveRun().Any // which may have been called
	}
	return s.names && len(o.Called) > 0 && choice.Tool != "" && !slices.Contains(o.Called, choice.Tool)
}

// unbound is the failure of an attempt with a problem that the policy refuses.
func unbound(a *gateway.AttemptInfo, problem, what string) *gateway.Error {
	return &gateway.Error{Kind: gateway.ToolsLost, Code: problem, Warning: problem + ":" + a.Provider,
		Message: fmt.Sprintf("Provider %q: %s (tool_binding).", a.Provider, what)}
}
