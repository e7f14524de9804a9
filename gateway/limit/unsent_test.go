package limit_test

import (
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/internal/testserver"
)

// unreached is a client of a Redis that takes no connection.
func unreached(t *testing.T) *redis.Client {
	t.Helper()
	client, err := redis.Open(redis.Options{URL: "redis://" + testserver.Refusing(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// TestEndNotSent holds that an end of a lease of which the Redis has heard nothing for certain, since there was no connection, is
// told again as long as that takes, and nobody doubts whether it has heard of it.
func TestEndNotSent(t *testing.T) {
	t.Parallel()
	c := newClock()
	shared := limit.NewShared(unreached(t), c.now).Patient()
	away := limit.NewAway(shared, false, nil)
	t.Cleanup(func() { away.Close() })
	lease, _, err := shared.Acquire(t.Context(), set(t, limit.Limit{Scope: key, Kind: limit.Money, Max: 1000, Window: limit.Total}), "runs", holds(10, 5))
	if err == nil || lease == nil {
		t.Fatal(lease, err)
	}
	for range 2 {
		if err := shared.Release(t.Context(), lease); err == nil {
			t.Error("got no error, want that there is no connection")
		}
		c.move(31 * time.Minute)
	}
	if n := away.AwayStats().Unsure; n != 0 {
		t.Errorf("got %d ends that nobody is sure of, want 0", n)
	}
}
