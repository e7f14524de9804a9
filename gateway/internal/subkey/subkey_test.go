package subkey_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"testing"

	"github.com/callgate/callgate/gateway/internal/subkey"
)

// TestOf compares with RFC 5869 written out: extract without a salt, then expand by one block.
func TestOf(t *testing.T) {
	t.Parallel()
	mac := func(key []byte, parts ...string) []byte {
		m := hmac.New(sha256.New, key)
		for _, p := range parts {
			m.Write([]byte(p))
		}
		return m.Sum(nil)
	}
	prk := mac(make([]byte, sha256.Size), "salt")
	want := mac(prk, "callgate answers", "\x00\x00\x00\x00\x00\x00\x00\x04acme", "\x01")
	if got := subkey.Of([]byte("salt"), "answers", "acme"); !bytes.Equal(got[:], want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// TestApart holds that other secrets, purposes and texts have other keys.
func TestApart(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte{7}, 200)
	seen := map[[subkey.Size]byte]string{}
	for name, key := range map[string][subkey.Size]byte{
		"plain":                  subkey.Of([]byte("salt"), "a"),
		"another secret":         subkey.Of([]byte("pepper"), "a"),
		"a secret of one key":    subkey.Of(long[:subkey.Size], "a"),
		"a long secret":          subkey.Of(long, "a"),
		"no secret":              subkey.Of(nil, "a"),
		"another purpose":        subkey.Of([]byte("salt"), "b"),
		"a text":                 subkey.Of([]byte("salt"), "a", "xy"),
		"an empty text":          subkey.Of([]byte("salt"), "a", ""),
		"two texts":              subkey.Of([]byte("salt"), "a", "x", "y"),
		"the end of the first":   subkey.Of([]byte("salt"), "a", "xy", ""),
		"nothing before":         subkey.Of([]byte("salt"), "a", "", "xy"),
		"a purpose with a text":  subkey.Of([]byte("salt"), "axy"),
		"a subkey of the subkey": func() [subkey.Size]byte { k := subkey.Of([]byte("salt"), "a"); return subkey.Of(k[:], "a") }(),
	} {
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s have the same key", name, other)
		}
		seen[key] = name
	}
}
