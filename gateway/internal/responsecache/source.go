package responsecache

import (
	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// source is a request in the client's own protocol, which upstreams may get in the place of the
// chat completion: what that leaves out may change an answer.
func source(r *gateway.Request) []byte {
	if r.Source == nil || r.Source.Body == nil {
		return nil
	}
	return append([]byte(r.Source.Protocol+" "), r.Source.Body...)
}

// sourceKnown are members of a request of the Messages API that say how an answer is made and
// nothing else.
var sourceKnown = map[string]bool{ //nolint:gochecknoglobals // a table
	"model": true, "messages": true, "system": true, "max_tokens": true, "metadata": true, "stop_sequences": true, "stream": true,
	"temperature": true, "top_p": true, "top_k": true, "tools": true, "tool_choice": true, "thinking": true, "output_config": true,
	"output_format": true, "cache_control": true, "service_tier": true, "context_management": true, "diagnostics": true, "speed": true,
}

// sourceRepeats reports whether nothing in the client's own form of a request bars it from being
// repeated: a tool that the upstream runs, or whatever nobody knows here.
func sourceRepeats(r *gateway.Request) bool {
	s := r.Source
	if s == nil || s.Protocol != "messages" || s.Body == nil {
		return true
	}
	repeats := true
	wire.Members(s.Body, 0, func(key []byte, at wire.Span) bool {
		if repeats = sourceKnown[string(key)] || at.IsNull(s.Body); repeats && string(key) == "tools" {
			wire.Elements(s.Body, at.Start, func(_ int, tool wire.Span) bool {
				kind := wire.Find(s.Body, tool, "type")
				repeats = kind.IsNull(s.Body) || string(kind.Of(s.Body)) == `"custom"`
				return repeats
			})
		}
		return repeats
	})
	return repeats
}
