package gateway

import (
	"github.com/callgate/callgate/gateway/internal/prompted"
	"github.com/callgate/callgate/gateway/wire"
)

// PromptForms are the names of the formats in which tools can be written into a prompt.
// The wiring checks the configuration against them.
func PromptForms() []string { return prompted.Names() }

// prompt returns the request for an upstream without tools: what it offers stands in the
// system prompt, and calls and results so far in the text of the messages, all in the
// form of the target's format.
func (r *Response) prompt(req *Request) *Request {
	if req.isEmpty() || req.tools.IsNull(req.body) && !req.mentionsTools() {
		return req
	}
	req = r.mendHistory(req, Needs{Pairs: true}, Repair) // results are told apart by their order alone
	choice := req.choice()
	single := string(req.parallel.Of(req.body)) == "false"
	said := prompted.Choice{None: choice.None, Required: choice.Required, Tool: choice.Tool, Single: single}
	messages, warnings := r.gateway.forms[r.target.Prompted].Messages(req.talk(), req.Tools(), said)
	for _, w := range warnings {
		r.Summary.Warn(w)
	}
	r.repaired("prompted")
	out := req.with(wire.Edit{At: req.messages, With: messages}).drop("tools", "tool_choice", "parallel_tool_calls")
	if said != (prompted.Choice{}) { // it stands in the last message
		out.remarks = max(out.remarks, 1)
	}
	return out
}
