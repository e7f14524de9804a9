package answers

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/callgate/callgate/gateway/internal/subkey"
)

// Name is what an answer is called in a store.
type Name [subkey.Size]byte

// String writes the name in hex, as it stands in Redis.
func (n Name) String() string { return hex.EncodeToString(n[:]) }

// Key belongs to one answer. Both halves are made of the request: who can read a store,
// and even knows the salt, cannot read an answer without the request that it answers.
type Key struct {
	// Name is the answer's name.
	Name Name
	seal [subkey.Size]byte
}

// Keys makes the keys of one gateway, and of all that have the same salt. It is safe for
// concurrent use.
type Keys struct{ secret [subkey.Size]byte }

// NewKeys makes Keys by the configuration's secret. Without one they are of use only as
// long as the process lives.
func NewKeys(salt []byte) *Keys {
	if len(salt) == 0 {
		salt = []byte(rand.Text())
	}
	return &Keys{subkey.Of(salt, "answers")}
}

// Of is the key of what consists of parts. Parts are kept apart by their lengths, so that
// nothing can be moved from one to the next.
func (k *Keys) Of(parts ...[]byte) Key {
	mac := hmac.New(sha256.New, k.secret[:])
	for _, p := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		mac.Write(size[:])
		mac.Write(p)
	}
	own := mac.Sum(nil)
	return Key{Name: subkey.Of(own, "answers: name"), seal: subkey.Of(own, "answers: seal")}
}

// List makes one part of a list.
func List(items ...string) []byte {
	var out []byte
	for _, s := range items {
		out = binary.BigEndian.AppendUint64(out, uint64(len(s)))
		out = append(out, s...)
	}
	return out
}
