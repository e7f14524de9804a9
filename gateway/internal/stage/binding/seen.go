package binding

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/tools"
	"github.com/callgate/callgate/gateway/internal/toolway"
	"github.com/callgate/callgate/gateway/wire"
)

// Seen makes the stage in front of the guard's: it looks at whether the tools get to the
// model.
type Seen struct{ Action gateway.BindingAction }

// Begin implements gateway.Maker.
func (m Seen) Begin(_ context.Context, a *gateway.AttemptInfo, o *gateway.Outcome) (gateway.Stage, error) {
	if !watches(m.Action, a) {
		return nil, nil
	}
	return &seen{action: m.Action, attempt: a, outcome: o}, nil
}

type seen struct {
	action  gateway.BindingAction
	attempt *gateway.AttemptInfo
	outcome *gateway.Outcome
}

var _ gateway.Witness = (*seen)(nil)

// Sent implements gateway.Witness. Adapters that keep the list of tools keep its bytes; of
// others the tools are counted. Where some are lost the policy decides whether it goes out.
func (s *seen) Sent(r *gateway.Request, body wire.Pieces) error {
	if s.attempt.Target.Prompted != "" || !r.Reading.OffersTools() || r.Source != nil && r.Source.Sent() { // the client's own body may have them anywhere
		return nil
	}
	list := r.Reading.ToolsJSON()
	same := func(piece []byte) bool { return bytes.Contains(piece, list) }
	if slices.ContainsFunc(body, same) || body.Elements("tools") >= tools.Count(r.Body.Bytes()) {
		return nil
	}
	if s.action != gateway.BindingRefuse {
		s.outcome.Warn(toolsLost + ":" + s.attempt.Provider)
		return nil
	}
	return unbound(s.attempt, toolsLost, "the tools of the request do not reach the upstream")
}

// Refused implements gateway.Witness: whether it is the tools that the upstream cannot take.
// Where the policy says so another target may.
func (s *seen) Refused(e *gateway.Error) *gateway.Error {
	if e.Kind != gateway.Rejected || s.attempt.Demanded != nil || !s.attempt.Sent.Reading.OffersTools() {
		return e
	}
	if _, refused := toolway.Refused(e.Refusal(), s.attempt.Sent.Reading.Choice().IsAuto()); !refused {
		return e
	}
	out := *e
	out.Warning = toolsRefused + ":" + s.attempt.Provider
	if s.action == gateway.BindingRefuse {
		out.Kind, out.Code = gateway.ToolsLost, toolsRefused
	}
	return &out
}

func (s *seen) Frame(f *wire.Frame, next gateway.Sink) error {
	next.Put(f)
	return nil
}

// runesPerToken is more than any tokenizer gets of JSON into a token on average: those
// of large models take three to five characters, and some whole words of schemas.
const runesPerToken = 12

// leastTools is how long a list of tools is, in characters, before a count of tokens
// says anything about it.
const leastTools = 600

func (s *seen) End(cause error, _ gateway.Sink) error {
	a, o := s.attempt, s.outcome
	n, p := a.Sent.Reading.Tools().Runes, o.Usage.Input
	if cause != io.EOF || o.HasCall() || a.Notes.Choice.None || p <= 0 || n < leastTools || p*runesPerToken >= n {
		return nil
	}
	o.Warn(toolsUnseen)
	if s.action == gateway.BindingRefuse && !o.Committed {
		return unbound(a, toolsUnseen, "by its count of tokens the model has not seen the tools")
	}
	return nil
}
