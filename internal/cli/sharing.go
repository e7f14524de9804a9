package cli

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/prefix/share"
	"github.com/callgate/callgate/gateway/quality"
	"github.com/callgate/callgate/gateway/redis"
)

// sharing is what a gateway has in common with others. Nil is nothing.
type sharing struct {
	redis *redis.Client

	mu     sync.Mutex
	sharer *share.Sharer // nil: no route was chosen by prefix yet
	begin  func()        // runs the sharer; nil: not yet, or no more
	counts *quality.Sharer
}

// newSharing opens the Redis of the configuration, without waiting for it; nil if there is
// none.
func newSharing(cfg *config.Config) (*sharing, error) {
	if cfg.Redis.URL.IsZero() {
		return nil, nil //nolint:nilnil // a gateway that keeps to itself
	}
	const around = 1 << 20 // an answer, of what else a reply to one has
	client, err := redis.Open(redis.Options{
		URL: cfg.Redis.URL.Reveal(), KeyPrefix: cfg.Redis.KeyPrefix, MaxReply: max(redis.DefaultMaxReply, int(cfg.AnswerStore.Largest)+around),
	})
	if err != nil {
		return nil, fmt.Errorf("redis.url: %w", err)
	}
	return &sharing{redis: client}, nil
}

// prefixes makes the sharer of an index, which is nil if there is nothing to share. There is one:
// all editions have the same index.
func (s *sharing) prefixes(cfg *config.Config, x *prefix.Index, log *slog.Logger) {
	if s == nil || x == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sharer != nil {
		return
	}
	longest := time.Duration(0)
	for _, p := range cfg.Providers {
		longest = max(longest, time.Duration(p.PromptCacheTTL))
	}
	salt := []byte(cfg.CacheSalt.Reveal())
	s.sharer = share.New(share.Options{
		Index: x, Stream: share.StreamOf(s.redis, salt, longest), Salt: salt, Interval: time.Duration(cfg.Redis.Interval), Log: log,
	})
	if s.begin != nil {
		s.begin()
	}
}

// run shares until stop is called, which writes what is new and waits for it.
func (s *sharing) run(ctx context.Context) (stop func()) {
	if s == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // running requests still learn when ctx has ended
	var work sync.WaitGroup
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin = func() { work.Go(func() { s.sharer.Run(ctx) }) }
	if s.counts != nil {
		work.Go(func() { s.counts.Run(ctx) })
	}
	if s.sharer != nil {
		s.begin()
	}
	return func() {
		s.mu.Lock()
		s.begin = nil
		s.mu.Unlock()
		cancel()
		work.Wait()
	}
}

// snapshot is how the sharing of prefixes goes; nil if there is none.
func (s *sharing) snapshot() *share.Snapshot {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	sharer := s.sharer
	s.mu.Unlock()
	if sharer == nil {
		return nil
	}
	out := sharer.Snapshot()
	return &out
}

func (s *sharing) close() error {
	if s == nil {
		return nil
	}
	return s.redis.Close()
}
