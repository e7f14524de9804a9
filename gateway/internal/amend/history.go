package amend

import (
	"context"
	"errors"
	"fmt"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/history"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
)

// History makes the client's messages what an upstream needs them to be.
type History struct {
	Mode  gateway.Mode
	Needs gateway.Needs
}

// maxGrowth is how much longer than twice its length a request may become upstream.
const maxGrowth = 1 << 20

// Apply implements gateway.RequestPolicy.
func (p History) Apply(_ context.Context, r *gateway.Request, _ *gateway.AttemptInfo) (a gateway.Amendment, err error) {
	body, at := r.Body.Bytes(), r.Body.Places().Messages
	if p.Mode == gateway.Off || p.Needs == (gateway.Needs{}) || at.IsNull(body) || !r.Reading.MentionsTools() {
		return a, nil
	}
	fix := func(text []byte) ([]byte, bool) {
		fixed, _, problem := repair.JSON(text, gateway.MaxDepth)
		return fixed, problem == nil
	}
	edits, repairs, err := history.Repair(r.Reading.Conversation(), p.Needs, fix)
	a.Repairs = repairs
	switch {
	case p.Mode == gateway.Report:
	case errors.Is(err, history.ErrTooMany):
		a.Warnings = []string{"history_too_large"}
	case err != nil:
		return a, &gateway.Error{Kind: gateway.Invalid, Param: "messages", Err: err, Message: fmt.Sprintf(
			"messages: earlier calls have more than %d MiB of arguments that are no JSON objects and cannot be repaired. Leave those calls out, or their arguments.", history.MaxKept>>20)}
	case wire.Growth(edits) > len(body)+maxGrowth: // only a conversation made for it grows so
		a.Warnings = []string{"history_too_large"}
	default:
		a.Edits = wire.Shifted(edits, at.Start)
	}
	return a, nil
}
