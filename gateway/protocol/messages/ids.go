package messages

import (
	"encoding/base64"
	"strings"

	"github.com/callgate/callgate/gateway/wire"
)

// coined begins the id of a call that stands for one which Anthropic's form does not allow.
// Behind it is the upstream's own, so that no table is needed to find that again.
const coined = "toolu_cg_"

// appendToolID appends the id of a call as the client gets it, a string, from the upstream's,
// a string too.
func appendToolID(dst []byte, id value) []byte {
	own := inner(id)
	if fits(own) && !strings.HasPrefix(string(own), coined) {
		return append(append(append(dst, '"'), own...), '"')
	}
	dst = append(append(dst, '"'), coined...)
	dst = base64.RawURLEncoding.AppendEncode(dst, []byte(wire.Unquote(id)))
	return append(dst, '"')
}

// chatID is the upstream's id of a call, from the client's.
func chatID(id value) value {
	if code, ok := strings.CutPrefix(string(inner(id)), coined); ok {
		if own, err := base64.RawURLEncoding.DecodeString(code); err == nil {
			return wire.AppendQuoted(nil, own)
		}
	}
	return id
}

// fits reports whether an id is one of Anthropic's form.
func fits(id []byte) bool {
	for _, c := range id {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return len(id) > 0
}
