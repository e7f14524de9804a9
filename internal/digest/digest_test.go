package digest_test

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/digest"
)

func TestDigest(t *testing.T) {
	t.Parallel()
	// FIPS 180-4's example of the message "abc".
	const abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if got := digest.Of([]byte("abc")); got != abc {
		t.Errorf("got %s, want %s", got, abc)
	}
	if sum, ok := digest.Parse(abc); !ok || sum != sha256.Sum256([]byte("abc")) {
		t.Errorf("got %x, %v, want the sum of abc", sum, ok)
	}
	hex := strings.TrimPrefix(abc, "sha256:")
	for _, text := range []string{
		"", "sha256:", hex, abc[:len(abc)-1], abc[:len(abc)-2], abc + "00", " " + abc, abc + "\n",
		"SHA256:" + hex, "sha256:" + strings.ToUpper(hex), "sha512:" + hex, "sha256:" + strings.Repeat("g", 64),
	} {
		if sum, ok := digest.Parse(text); ok || sum != (digest.Sum{}) {
			t.Errorf("%q: got %x, %v, want it to be refused", text, sum, ok)
		}
	}
}
