package gateway

import (
	"encoding/base64"
	"strings"
)

// sealed begins the text of a seal, in base64 as Anthropic's signatures are.
const sealed = "callgate/"

// sealedMark is how a seal begins; its length in bytes is a multiple of three, so that what
// follows does not change it.
var sealedMark = base64.StdEncoding.EncodeToString([]byte(sealed))

// Seal stands in the place of a signature for a model's thoughts where the upstream gave none,
// and a client's protocol demands one. Nobody but the gateway knows it.
func Seal(text string) string { return base64.StdEncoding.EncodeToString([]byte(sealed + text)) }

// IsSealed reports whether a signature is a [Seal].
func IsSealed(signature string) bool { return strings.HasPrefix(signature, sealedMark) }
