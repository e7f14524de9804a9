package gateway

import (
	"bytes"

	"github.com/callgate/callgate/gateway/usage"
	"github.com/callgate/callgate/gateway/wire"
)

// Usage is the upstream's count of tokens.
type Usage = usage.Usage

// seeUsage takes note of the usage in a chunk or in a whole answer. Most chunks have
// none, or null; within a string the quotes of the key would be escaped.
func (r *Response) seeUsage(data []byte) {
	at := bytes.Index(data, []byte(`"usage"`))
	if at < 0 {
		return
	}
	rest := bytes.TrimLeft(data[at+len(`"usage"`):], " \t\r\n")
	rest, ok := bytes.CutPrefix(rest, []byte(":"))
	object, found := wire.Value(rest, 0)
	if !ok || !found || rest[object.Start] != '{' {
		return
	}
	r.Summary.Usage = usage.Read(object.Of(rest))
}
