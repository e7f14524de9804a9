package prefix

import (
	"encoding/binary"
	"math/bits"

	"github.com/callgate/callgate/gateway/internal/subkey"
)

// Key keys the chains of one tenant and model. Chains of different keys have no hash in
// common, so a tenant can neither use nor find out what another one has sent.
type Key [16]byte

// NewKey derives the key of a tenant and a model from the salt. Gateways that share an index
// need the same salt. It is a secret: who has it and sees the index can test whether somebody
// has sent a text.
func NewKey(salt []byte, tenant, model string) Key {
	sum := subkey.Of(salt, "prefix", tenant, model)
	return Key(sum[:16])
}

// sip is SipHash-2-4 for messages of two words, keyed once.
type sip struct{ k0, k1 uint64 }

func (k Key) sip() sip {
	return sip{binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:])}
}

// sum returns the hash of the 16 bytes that a and b are in little-endian order.
func (s sip) sum(a, b uint64) uint64 {
	const length = 16 << 56 // ends the message
	v0, v1 := s.k0^0x736f6d6570736575, s.k1^0x646f72616e646f6d
	v2, v3 := s.k0^0x6c7967656e657261, s.k1^0x7465646279746573
	for _, word := range [...]uint64{a, b, length} {
		v3 ^= word
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0 ^= word
	}
	v2 ^= 0xff
	for range 4 {
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	}
	return v0 ^ v1 ^ v2 ^ v3
}

func sipRound(v0, v1, v2, v3 uint64) (_, _, _, _ uint64) {
	v0 += v1
	v1 = bits.RotateLeft64(v1, 13) ^ v0
	v0 = bits.RotateLeft64(v0, 32)
	v2 += v3
	v3 = bits.RotateLeft64(v3, 16) ^ v2
	v0 += v3
	v3 = bits.RotateLeft64(v3, 21) ^ v0
	v2 += v1
	v1 = bits.RotateLeft64(v1, 17) ^ v2
	v2 = bits.RotateLeft64(v2, 32)
	return v0, v1, v2, v3
}
