package httpapi

import (
	"net/http"
	"testing"

	"github.com/callgate/callgate/gateway/internal/route"
)

// TestVisible holds that a rule may ask for no header that stays with us: it would never
// be met.
func TestVisible(t *testing.T) {
	t.Parallel()
	for name := range withheld {
		if route.Visible(name) {
			t.Errorf("%s: a rule may look at it, want it refused", name)
		}
	}
	for _, name := range []string{"X-Remote-User", "X-Amzn-Oidc-Data", "X_Tier"} {
		if got := forwarded(http.Header{name: {"value"}}); len(got) != 0 || route.Visible(name) {
			t.Errorf("%s: got %q, visible %v, want it to stay", name, got, route.Visible(name))
		}
	}
	for _, name := range []string{"X-Tier", "User-Agent", "Accept-Language", "Origin", "X-Max-Tokens", "Openai-Organization"} {
		in := http.Header{name: {"value"}}
		if got := forwarded(in).Get(name); got != "value" || !route.Visible(name) {
			t.Errorf("%s: got %q, visible %v, want it to reach the rules", name, got, route.Visible(name))
		}
	}
}
