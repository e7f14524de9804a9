// Package digest writes and reads a SHA-256 as text, "sha256:" and 64 hex digits. So the
// configuration has the hashes of keys and the pins of plugins.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const prefix = "sha256:"

// Sum is a SHA-256.
type Sum = [sha256.Size]byte

// Of is the text of the SHA-256 of b.
func Of(b []byte) string {
	sum := sha256.Sum256(b)
	return prefix + hex.EncodeToString(sum[:])
}

// Parse reads what Of writes. Digits above 9 are in lower case, so that equal sums have
// equal texts.
func Parse(text string) (sum Sum, ok bool) {
	digits, found := strings.CutPrefix(text, prefix)
	b, err := hex.DecodeString(digits)
	if !found || err != nil || len(b) != len(sum) || strings.ToLower(digits) != digits {
		return sum, false
	}
	return Sum(b), true
}
