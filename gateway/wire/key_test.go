package wire_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/wire"
)

func TestKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{`a`: "a", ``: "", `\u0061`: "a", `\"`: `"`, `\n`: "\n", `\ud83d\ude00`: "😀", `\ud800`: "\ufffd"} {
		if got := string(wire.Key([]byte(key))); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	key := []byte("plain")
	if got := wire.Key(key); &got[0] != &key[0] {
		t.Error("a key without escapes: got a copy, want the key")
	}
}
