package limit_test

import (
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/limit"
)

// TestAwayRelease holds that a request that no model has seen gives back also what the gateway has counted by itself.
func TestAwayRelease(t *testing.T) {
	t.Parallel()
	away := limit.NewAway(limit.NewShared(unreached(t), nil).Patient(), false, nil)
	t.Cleanup(func() { away.Close() })
	s := set(t, limit.Limit{Scope: key, Kind: limit.Requests, Max: 1, Per: time.Hour}, limit.Limit{Scope: key, Kind: limit.Tokens, Max: 10, Per: time.Hour})
	for n := range 3 {
		lease, v, err := away.Acquire(t.Context(), s, string(rune('a'+n)), holds(10, 5))
		if err != nil || lease == nil || !v.Away {
			t.Fatalf("request %d: got error %v, refused by %+v", n+1, err, v.Refusal)
		}
		if err := away.Release(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
	}
}
