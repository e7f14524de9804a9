package amend

import (
	"bytes"
	"context"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// Usage asks upstreams for the usage of streams, for requests that have a meter. The stage meter hides it
// from clients that have not asked.
type Usage struct{}

// Apply implements gateway.RequestPolicy.
func (Usage) Apply(ctx context.Context, r *gateway.Request, _ *gateway.AttemptInfo) (gateway.Amendment, error) {
	// A request in another protocol has it without being asked.
	if !r.Stream || r.Source != nil && r.Source.Body != nil || gateway.MeterOf(ctx) == nil || r.Reading.WantsUsage() {
		return gateway.Amendment{}, nil
	}
	return gateway.Amendment{Edits: []wire.Edit{usageEdit(r)}, Warning: "usage_not_asked", Refused: func(e *gateway.Error) bool {
		said := e.Refusal()
		return bytes.Contains(said, []byte("stream_options")) || bytes.Contains(said, []byte("include_usage"))
	}}, nil
}

func usageEdit(r *gateway.Request) wire.Edit {
	body, at := r.Body.Bytes(), r.Body.Places().StreamOptions
	if at.IsNull(body) || body[at.Start] != '{' {
		return r.Body.Set(at, "stream_options", `{"include_usage":true}`)
	}
	if own := wire.Find(body, at, "include_usage"); !own.Empty() {
		return wire.Edit{At: own, With: []byte("true")}
	}
	with := `"include_usage":true,`
	if wire.Blank(body[at.Start+1 : at.End-1]) {
		with = `"include_usage":true`
	}
	return wire.Edit{At: wire.Span{Start: at.Start + 1, End: at.Start + 1}, With: []byte(with)}
}
