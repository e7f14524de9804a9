// Package subkey derives what is keyed with the configuration's cache_salt. Each use has a
// purpose of its own, so that nothing that is seen of one, such as a name in Redis, helps
// with another. The purposes are the callers' constants; one that changes makes what was
// stored under the old one unfindable.
package subkey

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
)

// Size is the size of a subkey in bytes.
const Size = sha256.Size

// Of derives the subkey of a purpose from a secret of any length, by HKDF-SHA256 (RFC 5869).
// Texts narrow the purpose, such as a tenant's name. They are kept apart by their lengths, so
// that nothing can be moved from one to the next.
func Of(secret []byte, purpose string, texts ...string) [Size]byte {
	info := append([]byte("callgate "), purpose...)
	for _, text := range texts {
		info = binary.BigEndian.AppendUint64(info, uint64(len(text)))
		info = append(info, text...)
	}
	key, err := hkdf.Key(sha256.New, secret, nil, string(info), Size)
	if err != nil {
		panic(err) // SHA-256 is approved, and the length is that of one hash
	}
	return [Size]byte(key)
}
