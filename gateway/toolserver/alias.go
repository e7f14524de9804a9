package toolserver

import (
	"crypto/sha256"
	"encoding/hex"
)

// MaxAlias is the length that every upstream takes for the name of a tool, in bytes.
const MaxAlias = 64

// Alias is the name that models see of a server's tool: server__tool, with every byte outside
// [A-Za-z0-9_-] replaced by "_". One of more than [MaxAlias] bytes is cut, and ends in "_" and
// eight hex digits of the SHA-256 of server__tool as it was, so that two long names with the
// same head differ. Different tools can still have one alias ("a.b" and "a_b"): the catalogue
// settles that. An alias is looked up, never split.
func Alias(server, tool string) string {
	name := []byte(server + "__" + tool)
	sum := sha256.Sum256(name)
	for i, c := range name {
		if !plain(c) {
			name[i] = '_'
		}
	}
	if len(name) <= MaxAlias {
		return string(name)
	}
	tail := "_" + hex.EncodeToString(sum[:4])
	return string(name[:MaxAlias-len(tail)]) + tail
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
