package responses

import (
	"context"
	"slices"
	"strconv"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/tokens"
	"github.com/callgate/callgate/gateway/wire"
)

// Shorten implements [protocol.Shortener]: with truncation "auto" the oldest turns are left out where
// the upstream has refused the prompt for its length.
func (r *Request) Shorten(_ context.Context, why *gateway.Error) bool {
	if !r.Truncates() || why.Code != gateway.CodeOverflow {
		return false
	}
	all := slices.Concat(r.earlier, r.items)
	kept := truncated(all, share(why.Overflow))
	if len(kept) == len(all) {
		return false
	}
	r.remarks.warn("truncated", strconv.Itoa(len(all)-len(kept)))
	r.earlier = nil
	r.SetItems(kept)
	return r.Translate() == nil
}

// share is which part of a prompt may stay, by what the upstream says: a little less than fits, and half
// of it if it does not say.
func share(o *gateway.Overflow) float64 {
	const some, spare = 0.5, 0.9
	if o == nil || o.Limit == 0 || o.Used <= o.Limit {
		return some
	}
	return spare * float64(o.Limit) / float64(o.Used)
}

// truncated leaves the oldest turns out until at most a share of the tokens is left, and at least the
// last turn. A turn begins with what the user says; instructions stay.
func truncated(items [][]byte, share float64) (kept [][]byte) {
	sum, begins := 0, 0
	sizes := make([]int, len(items))
	for i, item := range items {
		sizes[i] = tokens.JSON(item)
		sum += sizes[i]
	}
	over := sum - int(share*float64(sum))
	dropped := 0
	open := map[string]bool{} // calls without their result
	for i, item := range items {
		if i > 0 && isTurn(item) && len(open) == 0 {
			if begins = i; dropped >= over {
				break
			}
		}
		switch id := wire.Unquote(object(item).get("call_id")); itemType(item) {
		case "function_call", "custom_tool_call":
			open[id] = true
		case "function_call_output", "custom_tool_call_output":
			delete(open, id)
		case mcpRequest:
			open[wire.Unquote(object(item).get("id"))] = true
		case mcpResponse:
			delete(open, wire.Unquote(object(item).get("approval_request_id")))
		}
		if !isInstruction(item) {
			dropped += sizes[i]
		}
	}
	for i, item := range items {
		if i >= begins || isInstruction(item) {
			kept = append(kept, item)
		}
	}
	return kept
}

func roleOf(item object) string {
	if itemType(item) != "message" {
		return ""
	}
	return wire.Unquote(item.get("role"))
}

func isTurn(item []byte) bool { return roleOf(item) == user }

func isInstruction(item []byte) bool {
	role := roleOf(item)
	return role == system || role == "developer"
}
