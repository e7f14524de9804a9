package cli

import (
	"context"
	"crypto/rand"
	"log/slog"

	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/prefix/share"
	"github.com/callgate/callgate/gateway/prefix/simulate"
	"github.com/callgate/callgate/gateway/redis"
)

// connect leads the talk of replays with several gateways over the Redis of the flags, if
// there is one. Each gateway has a connection of its own, and each replay a stream that no
// other knows, which Redis forgets some minutes later. disconnect is called when the
// replays are over.
func (c *simulateCmd) connect(ctx context.Context, replays []*replay) (disconnect func(), err error) {
	var clients []*redis.Client
	disconnect = func() {
		for _, client := range clients {
			_ = client.Close() // what it was for is over
		}
	}
	if c.Redis == "" {
		return disconnect, nil
	}
	redis.LogTo(slog.New(slog.DiscardHandler)) // an error ends the command, and says why
	for _, r := range replays {
		if r.options.Gateways == 1 {
			continue
		}
		salt := []byte(rand.Text())
		var own []*redis.Client
		for range r.options.Gateways {
			client, err := redis.Open(redis.Options{URL: c.Redis, KeyPrefix: "callgate-simulate"})
			if err != nil {
				disconnect()
				return nil, err
			}
			clients, own = append(clients, client), append(own, client)
		}
		r.options.Join = func(x *prefix.Index) simulate.Peer {
			s := share.New(share.Options{Index: x, Stream: share.StreamOf(own[0], salt, 0), Salt: salt})
			own = own[1:]
			return simulate.Peer{
				Push: func() (int, error) { return s.Push(ctx) },
				Pull: func() (int, error) { return s.Pull(ctx) },
			}
		}
	}
	return disconnect, nil
}
