package keys_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/keys"
)

// TestHide holds that a key that stands in a text is not told, wherever it stands and whatever is around it.
func TestHide(t *testing.T) {
	t.Parallel()
	key, s := keys.NewSecret()
	other, o := keys.NewSecret()
	for text, want := range map[string]string{
		"": "", "/v1/cg-x": "/v1/cg-x", "cg-": "cg-", key: s.Public + "-…", "/" + key + "/v1/" + other: "/" + s.Public + "-…/v1/" + o.Public + "-…",
		"cg-" + key + other + "x": "cg-" + s.Public + "-…" + o.Public + "-…x", key[:len(key)-1]: key[:len(key)-1], strings.ReplaceAll(key, "-", "."): strings.ReplaceAll(key, "-", "."),
	} {
		if got := keys.Hide(text); got != want || strings.Contains(got, key) || strings.Contains(got, other) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
