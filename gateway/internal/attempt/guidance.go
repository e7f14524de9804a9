package attempt

import (
	"context"

	"github.com/callgate/callgate/gateway"
)

// guidance is what the model is told besides the client's messages, since its answers were refused.
// Another model has given no such answer: it gets the client's own request.
type guidance struct {
	model   string        // that is told
	latest  *gateway.Redo // that was heeded; nil if there was none
	remarks corrections
	said    []gateway.Correction // in all, to whichever target
}

// heed takes up what an answer of a model that was refused asks for.
func (g *guidance) heed(redo *gateway.Redo, model string) {
	g.latest, g.model = redo, model
	g.said, g.remarks = append(g.said, redo.Notes...), append(g.remarks, redo)
}

// forget drops what the model was told of its own answer: it is of no use to another one.
func (g *guidance) forget() { g.latest, g.remarks = nil, nil }

// demanded is the verdict that demands a call, if one is demanded.
func (g *guidance) demanded() *gateway.Verdict {
	if g.latest == nil {
		return nil
	}
	return g.latest.Demanded
}

// tool is the one tool that tool_choice is to name, "" for none.
func (g *guidance) tool() string {
	if g.latest == nil {
		return ""
	}
	return g.latest.Pin
}

// policies tell a model what it did wrong, and have it call the tool whose call was refused; there are
// as many for each model.
func (g *guidance) policies(model string, refusing *pins) []gateway.RequestPolicy {
	if model != g.model {
		return []gateway.RequestPolicy{nil, nil}
	}
	return []gateway.RequestPolicy{g.remarks, pin{refusing, g.tool()}}
}

// instead is the failure for the client in the place of what an upstream has against the demand,
// which would tell it nothing; nil if the upstream's own may stand, as that of a model which was told nothing may.
func (g *guidance) instead(e *gateway.Error, model string) *gateway.Error {
	if g.latest != nil && model == g.model && (e.Kind == gateway.Rejected || e.Kind == gateway.ToolsLost || e.Kind == gateway.Unusable) {
		return g.latest.Else
	}
	return nil
}

// corrections is the policy that tells the model what it did wrong.
type corrections []*gateway.Redo

func (list corrections) Apply(_ context.Context, r *gateway.Request, _ *gateway.AttemptInfo) (a gateway.Amendment, err error) {
	for _, c := range list {
		if c.Choice != "" {
			a.Edits = append(a.Edits, r.Body.Set(r.Body.Places().ToolChoice, "tool_choice", c.Choice))
		}
		a.Edits = append(a.Edits, r.Body.Message(c.Remark))
		a.Appended++
	}
	return a, nil
}
