package gateway

import (
	"bytes"

	"github.com/callgate/callgate/gateway/internal/span"
)

// Usage is the upstream's count of tokens.
type Usage struct {
	Prompt, Completion int
	// Cached are those of Prompt that came from the upstream's cache, if CacheReported says
	// that the upstream counts them.
	Cached        int
	CacheReported bool
}

// seeUsage takes note of the usage in a chunk or in a whole answer. Most chunks have
// none, or null; within a string the quotes of the key would be escaped.
func (r *Response) seeUsage(data []byte) {
	at := bytes.Index(data, []byte(`"usage"`))
	if at < 0 {
		return
	}
	rest := bytes.TrimLeft(data[at+len(`"usage"`):], " \t\r\n")
	rest, ok := bytes.CutPrefix(rest, []byte(":"))
	object, found := span.Value(rest, 0)
	if !ok || !found || rest[object.Start] != '{' {
		return
	}
	var u Usage
	span.Members(rest, object.Start, func(key []byte, v span.Span) bool {
		switch string(key) {
		case "prompt_tokens":
			u.Prompt = number(v.Of(rest), 0)
		case "completion_tokens":
			u.Completion = number(v.Of(rest), 0)
		case "prompt_tokens_details":
			if rest[v.Start] == '{' {
				cached := span.Find(rest, v, "cached_tokens")
				u.CacheReported = !cached.IsNull(rest)
				u.Cached = number(cached.Of(rest), 0)
			}
		}
		return true
	})
	r.Summary.Usage = u
}
