// Package randtext makes ids of random letters, without a call of the system.
package randtext

import "math/rand/v2"

// Append appends n letters of an alphabet of 32 single bytes, each of 5 random bits. An id is no secret, and
// math/rand's generator is one for secrets all the same.
func Append(b []byte, alphabet string, n int) []byte {
	const bitsOfLetter, lettersOfNumber = 5, 64 / 5
	for n > 0 {
		bits := rand.Uint64() //nolint:gosec // it is no secret
		for range min(n, lettersOfNumber) {
			b = append(b, alphabet[bits%(1<<bitsOfLetter)])
			bits >>= bitsOfLetter
		}
		n -= lettersOfNumber
	}
	return b
}
