package binding

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/tools"
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
func (s *seen) Sent(r *gateway.Request, body []byte) error {
	if s.attempt.Target.Prompted != "" || !r.OffersTools() || bytes.Contains(body, r.ToolsJSON()) || tools.Count(body) >= tools.Count(r.Bytes()) {
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
	if e.Kind != gateway.Rejected || s.attempt.Demanded != nil || !s.attempt.Sent.OffersTools() || !namesTools(e.Refusal()) {
		return e
	}
	out := *e
	out.Warning = toolsRefused + ":" + s.attempt.Provider
	if s.action == gateway.BindingRefuse {
		out.Kind, out.Code = gateway.ToolsLost, toolsRefused
	}
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
	named := strings.Contains(text, "tool") || strings.Contains(text, "function call")
	for _, words := range []string{"not support", "unsupported", "no endpoints found that support", "not available", "isn't supported", "not enabled"} {
		if named && strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// fieldsOfTools are words of requests that may be refused on their own, by an upstream
// that takes tools.
var fieldsOfTools = strings.NewReplacer("tool_choice", "", "parallel_tool_calls", "", "tool_call_id", "", "tools[", "", "role 'tool'", "", `role \"tool\"`, "")

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
	n, p := a.Sent.Tools().Runes, o.Usage.Input
	if cause != io.EOF || o.HasCall() || a.Notes.Choice.None || p <= 0 || n < leastTools || p*runesPerToken >= n {
		return nil
	}
	o.Warn(toolsUnseen)
	if s.action == gateway.BindingRefuse && !o.Committed {
		return unbound(a, toolsUnseen, "by its count of tokens the model has not seen the tools")
	}
	return nil
}
