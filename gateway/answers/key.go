package answers

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Name is what an answer is called in a store.
type Name [sha256.Size]byte

// String writes the name in hex, as it stands in Redis.
func (n Name) String() string { return hex.EncodeToString(n[:]) }

// Key belongs to one answer. Both halves are made of the request: who can read a store,
// and even knows the salt, cannot read an answer without the request that it answers.
type Key struct {
	// Name is the answer's name.
	Name Name
	seal [sha256.Size]byte
}

// Keys makes the keys of one gateway, and of all that have the same salt. It is safe for
// concurrent use.
type Keys struct{ secret []byte }

// NewKeys makes Keys by the configuration's secret. Without one they are of use only as
// long as the process lives.
func NewKeys(salt []byte) *Keys {
	if len(salt) == 0 {
		salt = []byte(rand.Text())
	}
	return &Keys{derive(salt, "callgate answers 1")}
}

// Of is the key of what consists of parts. Parts are kept apart by their lengths, so that
// nothing can be moved from one to the next.
func (k *Keys) Of(parts ...[]byte) Key {
	mac := hmac.New(sha256.New, k.secret)
	for _, p := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		mac.Write(size[:])
		mac.Write(p)
	}
	own := mac.Sum(nil)
	return Key{Name: Name(derive(own, "name")), seal: [sha256.Size]byte(derive(own, "seal"))}
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

func derive(secret []byte, purpose string) []byte {
	out, err := hkdf.Expand(sha256.New, extract(secret), purpose, sha256.Size)
	if err != nil {
		panic(err) // the length is that of one hash
	}
	return out
}

// extract gives a secret of any length that of a hash.
func extract(secret []byte) []byte {
	if len(secret) == sha256.Size {
		return secret
	}
	out, err := hkdf.Extract(sha256.New, secret, nil)
	if err != nil {
		panic(err) // it fails for hashes that are not approved only
	}
	return out
}
