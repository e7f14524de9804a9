package state

import (
	"context"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway/store"
)

// Stats is what there is to say of the state.
type Stats struct {
	store.Stats
	// Background is how many responses wait or run in the background of this gateway.
	Background int
}

const (
	// statsAge is how long a count of the store is good: a database counts row by row.
	statsAge = 10 * time.Second
	// statsTime is how long it may take.
	statsTime = 2 * time.Second
)

// counted is the last count of the store.
type counted struct {
	mu    sync.Mutex
	at    time.Time
	stats store.Stats
}

// Stats counts what is stored. A store that does not answer is what it was.
func (s *Service) Stats() (out Stats) {
	if s == nil {
		return out
	}
	s.runs.mu.Lock()
	out.Background = len(s.runs.all) - len(*s.runs.ended)
	s.runs.mu.Unlock()
	s.counted.mu.Lock()
	defer s.counted.mu.Unlock()
	if time.Since(s.counted.at) > statsAge {
		ctx, cancel := context.WithTimeout(context.Background(), statsTime)
		defer cancel()
		if got, err := s.shelf.store.Stats(ctx); err == nil {
			s.counted.stats = got
		} else {
			s.o.Log.Warn("the store could not be counted", "error", err)
		}
		s.counted.at = time.Now()
	}
	out.Stats = s.counted.stats
	return out
}
