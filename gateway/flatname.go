package gateway

import (
	"crypto/sha256"
	"encoding/hex"
)

// FlatName is the name by which a chat completion knows a tool of a namespace, which only the
// Responses API has: of at most 64 bytes, as upstreams take it.
func FlatName(space, name string) string {
	const most, digits = 64, 8
	text := space + "__" + name
	if len(text) <= most {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return text[:most-digits-1] + "_" + hex.EncodeToString(sum[:digits/2])
}
