package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"time"

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
			s := share.New(share.Options{Index: x, Stream: &counted{share.StreamOf(own[0], salt, 0), &r.told}, Salt: salt})
			own = own[1:]
			return simulate.Peer{
				Push: func() (int, error) { return s.Push(ctx) },
				Pull: func() (int, error) { return s.Pull(ctx) },
			}
		}
	}
	return disconnect, nil
}

// gossip is what gateways have told each other over a Redis.
type gossip struct{ written, read traffic }

// traffic is entries of a stream, and their bytes without those of the protocol.
type traffic struct{ entries, bytes int }

func (t *traffic) add(data []byte) { t.entries, t.bytes = t.entries+1, t.bytes+len(data) }

// counted is a stream whose entries are counted. All of a replay are used by one goroutine.
type counted struct {
	share.Stream
	sum *gossip
}

// Append implements share.Stream.
func (c *counted) Append(ctx context.Context, entries [][]byte) error {
	for _, e := range entries {
		c.sum.written.add(e)
	}
	return c.Stream.Append(ctx, entries)
}

// Next implements share.Stream.
func (c *counted) Next(ctx context.Context) ([]redis.Entry, bool, error) {
	entries, more, err := c.Stream.Next(ctx)
	for _, e := range entries {
		c.sum.read.add(e.Data)
	}
	return entries, more, err
}

// print writes what was told in all, and what that is in a second of the trace.
func (t *gossip) print(out io.Writer, gateways int, lasts time.Duration) {
	line := func(what string, n traffic) {
		fmt.Fprintf(out, "%s: %d batches, %d bytes; a second %.1f, %.0f bytes\n", what, n.entries, n.bytes, float64(n.entries)/lasts.Seconds(), float64(n.bytes)/lasts.Seconds())
	}
	fmt.Fprintln(out)
	line(fmt.Sprintf("written by %d gateways", gateways), t.written)
	line("read by them", t.read)
}
