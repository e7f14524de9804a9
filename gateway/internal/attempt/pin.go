package attempt

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// pins are the targets that refuse a tool_choice which names a tool, and until when that is
// believed.
type pins struct {
	refused *lru.Cache[targetKey, time.Time]
	now     func() time.Time
}

const (
	// maxPins is how many such targets are remembered.
	maxPins = 1024
	// pinRefusedFor is for how long: an upstream may learn it.
	pinRefusedFor = time.Hour
)

// newPins remembers nothing yet.
func newPins(now func() time.Time) *pins {
	list, _ := lru.New[targetKey, time.Time](maxPins) // the size is good
	return &pins{list, now}
}

// refuses reports whether a target is known to refuse it.
func (p *pins) refuses(t targetKey) bool {
	until, known := p.refused.Get(t)
	return known && p.now().Before(until)
}

// pin is the policy that has the model call the tool whose call was refused, and no other: a server
// with grammars writes arguments then that fit by construction. It is left out for a target that
// refuses it.
type pin struct {
	pins *pins
	tool string // "": none
}

func (p pin) Apply(_ context.Context, r *gateway.Request, at *gateway.AttemptInfo) (a gateway.Amendment, err error) {
	target := targetKey{at.Provider, at.Model}
	if p.tool == "" || p.pins.refuses(target) {
		return a, nil
	}
	choice := `{"type":"function","function":{"name":` + string(wire.AppendQuoted(nil, p.tool)) + `}}`
	a.Edits = []wire.Edit{r.Body.Set(r.Body.Places().ToolChoice, "tool_choice", choice)}
	// The target has taken the same request before without the pin.
	a.Refused = func(e *gateway.Error) bool { return e.Kind == gateway.Rejected && e.Cause() != gateway.ContextLength }
	a.Warning = "tool_choice_refused:" + at.Provider
	a.Confirmed = func() { p.pins.refused.Add(target, p.pins.now().Add(pinRefusedFor)) }
	return a, nil
}
