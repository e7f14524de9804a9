package gateway

import (
	"github.com/callgate/callgate/gateway/internal/history"
	"github.com/callgate/callgate/gateway/internal/span"
	"github.com/callgate/callgate/gateway/repair"
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
	grown := 0
	for _, e := range edits {
		grown += len(e.With) - (e.At.End - e.At.Start)
	}
	if mode == Report {
		return req
	}
	if grown > len(req.body)+maxGrowth { // only a conversation made for it grows so
		r.Summary.Warn("history_too_large")
		return req
	}
	mended := make([]edit, len(edits))
	for i, e := range edits {
		at := span.Span{Start: e.At.Start + req.messages.Start, End: e.At.End + req.messages.Start}
		mended[i] = edit{at, e.With}
	}
	return req.with(mended...)
}
