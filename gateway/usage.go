package gateway

import (
	"bytes"
	"encoding/json"

	"github.com/callgate/callgate/gateway/internal/span"
)

// Usage is the upstream's count of tokens.
type Usage struct {
	Prompt, Completion int
	// Cached are those of Prompt that came from the upstream's cache.
	Cached int
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
	var u struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	if json.Unmarshal(object.Of(rest), &u) == nil {
		r.Summary.Usage = Usage{max(u.Prompt, 0), max(u.Completion, 0), max(u.Details.Cached, 0)}
	}
}
