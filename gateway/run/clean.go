package run

import (
	"context"

	"github.com/callgate/callgate/sdk/abi"
)

// Markup finds what a parser would take for a call.
type Markup interface {
	// Markers are texts that begin a call, or reasoning, in some format.
	Markers() []string
	// Calls reports whether some parser finds a call in a text, where the tools are offered.
	Calls(ctx context.Context, text string, tools []abi.Tool) bool
}

// clean takes out of a result what a model or a parser could take for more than text.
func (h *hands) clean(ctx context.Context, d *done, o *offer) {
}
