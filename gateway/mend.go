package gateway

import (
	"github.com/callgate/callgate/gateway/internal/history"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
)

// maxGrowth is how much longer than twice its length a request may become upstream.
const maxGrowth = 1 << 20

// mendHistory makes the client's messages what the upstream needs them to be, and says
// what was done.
func (r *Response) mendHistory(req *Request, needs Needs, mode Mode) *Request {
	if mode == Off || needs == (Needs{}) || req.messages.IsNull(req.body) {
		return req
	}
	fix := func(text []byte) ([]byte, bool) {
		fixed, _, problem := repair.JSON(text, MaxDepth)
		return fixed, problem == nil
	}
	edits, repairs := history.Repair(req.messages.Of(req.body), needs, fix)
	for kind, n := range repairs {
		for range n {
			r.repaired(kind)
		}
	}
	if mode == Report {
		return req
	}
	if wire.Growth(edits) > len(req.body)+maxGrowth { // only a conversation made for it grows so
		r.Summary.Warn("history_too_large")
		return req
	}
	return req.with(wire.Shifted(edits, req.messages.Start)...)
}
