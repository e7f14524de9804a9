package amend

import (
	"context"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/prompted"
	"github.com/callgate/callgate/gateway/wire"
)

// Prompted makes requests fit for an upstream without tools: what they offer stands in the
// system prompt, and calls and results so far in the text of the messages, all in the form of
// the target's format.
type Prompted struct{ Form *prompted.Format }

// Apply implements gateway.RequestPolicy.
func (p Prompted) Apply(_ context.Context, r *gateway.Request, _ *gateway.AttemptInfo) (a gateway.Amendment, err error) {
	list := r.Reading.ToolsJSON()
	if r.Reading.IsEmpty() || list == nil && !r.Reading.MentionsTools() {
		return a, nil
	}
	body, places, choice := r.Body.Bytes(), r.Body.Places(), r.Reading.Choice()
	single := string(places.Parallel.Of(body)) == "false"
	said := prompted.Choice{None: choice.None, Required: choice.Required, Tool: choice.Tool, Single: single}
	messages, warnings := p.Form.Messages(r.Reading.Conversation(), list, said)
	a.All, a.Warnings, a.Repairs = true, warnings, map[string]int{"prompted": 1}
	a.Edits = append(wire.Remove(body, "tools", "tool_choice", "parallel_tool_calls"), wire.Edit{At: places.Messages, With: messages})
	if said != (prompted.Choice{}) && r.Body.Appended == 0 { // it stands in the last message
		a.Appended = 1
	}
	return a, nil
}
