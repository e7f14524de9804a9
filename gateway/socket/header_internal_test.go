package socket

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	passing "github.com/callgate/callgate/gateway/headers"
)

// TestNominated holds that what the handshake says to be for its connection alone goes to no upstream.
func TestNominated(t *testing.T) {
	t.Parallel()
	h := posting(http.Header{"Connection": {"keep-alive, Upgrade, X-Own"}, "Upgrade": {"websocket"}, "X-Own": {"secret"}, "X-Other": {"a"}})
	got := slices.Sorted(maps.Keys(passing.Kept(h)))
	if want := []string{"Content-Type", "X-Other"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
