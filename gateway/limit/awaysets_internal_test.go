package limit

import (
	"strconv"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/internal/testserver"
)

// TestAwaySets holds that what is kept of sets while the Redis is away is bounded, since clients choose the names of models, and that what
// was used of a limit counts whatever is forgotten.
func TestAwaySets(t *testing.T) {
	t.Parallel()
	client, err := redis.Open(redis.Options{URL: "redis://" + testserver.Refusing(t)})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAway(NewShared(client, nil), false, nil)
	t.Cleanup(func() { a.Close(); client.Close() })
	const room = 3
	passed := 0
	for n := range maxKnown + 100 {
		s, err := NewSet("k", []Limit{{Scope: Scope{Of: "key", Name: "k"}, Kind: Requests, Max: room, Per: 24 * time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		if _, v, err := a.Acquire(t.Context(), s, strconv.Itoa(n), Holds{}); err == nil && v.Refusal == nil {
			passed++
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if passed != room || len(a.sets) > maxKnown {
		t.Errorf("got %d requests, and %d sets are kept; want %d, and at most %d", passed, len(a.sets), room, maxKnown)
	}
}
