package gateway

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
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

// sealedDetail is how the text of a seal begins that holds an entry of reasoning_details.
const sealedDetail = "detail:"

// SealDetail is what a client keeps of an entry of reasoning_details that is of use to its own upstream alone.
func SealDetail(entry []byte) string { return Seal(sealedDetail + string(entry)) }

// SealedDetail is the entry that a seal holds, if it does.
func SealedDetail(seal string) (entry []byte, ok bool) {
	opened, err := base64.StdEncoding.DecodeString(seal)
	if err != nil {
		return nil, false
	}
	entry, ok = bytes.CutPrefix(opened, []byte(sealed+sealedDetail))
	return entry, ok && jsontext.Value(entry).IsValid() && entry[0] == '{'
}
