package share

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/internal/repeat"
)

// Bounds of the sharing.
const (
	batchMarks = 8192 // of one batch, which are some 40 KB
	maxBatches = 16   // that wait to be written
	maxPages   = 128  // of one reading
	callTime   = 2 * time.Second
	// streamLength is how many batches Redis keeps. Eight gateways that learn something
	// each second write them in eight minutes; they are some 20 MB then, and 200 MB if each
	// learns 4 MB of prompts in a second.
	streamLength = 4096
)

// DefaultInterval is that of Options.
const DefaultInterval = time.Second

// Stream is where batches go and come from: a [redis.Stream], or a test's.
type Stream interface {
	// Append adds batches at the end.
	Append(ctx context.Context, batches [][]byte) error
	// Next returns what is new since it was called before, and whether there may be more.
	Next(ctx context.Context) (entries []redis.Entry, more bool, err error)
}

// StreamOf returns the stream of the gateways with a salt. idle is the longest time for
// which any target keeps what nobody uses: what is older helps nobody.
func StreamOf(c *redis.Client, salt []byte, idle time.Duration) *redis.Stream {
	return c.Stream(c.Key("prefix", Fingerprint(salt)), redis.StreamOptions{
		Keep: max(idle, prefix.DefaultIdle), Length: streamLength,
	})
}

// Options are what a Sharer is made of.
type Options struct {
	Index  *prefix.Index // made with Share
	Stream Stream
	Salt   []byte // the one that the index's chains are keyed with
	// Interval is how often Run writes and reads; 0 is DefaultInterval.
	Interval time.Duration
	// Log may be nil.
	Log *slog.Logger
}

// Sharer takes what one gateway learns to the others, and the other way. Push, Pull and
// Run are for one goroutine; all else may be called by any.
type Sharer struct {
	o      Options
	seal   seal
	sender sender
	unsent []batch

	mu    sync.Mutex
	state Snapshot
	known bool // whether anything has worked or failed yet
}

// batch is what was learned up to a time.
type batch struct {
	deltas []prefix.Delta
	at     time.Time
}

// New makes a sharer. Whoever makes it calls Run, or Push and Pull.
func New(o Options) *Sharer {
	o.Interval = cmp.Or(o.Interval, DefaultInterval)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Sharer{o: o, seal: newSeal(o.Salt)}
	_, _ = rand.Read(s.sender[:]) // never fails
	return s
}

// Run shares until ctx ends, and then writes once more what is new. The index forgets
// nothing meanwhile: while Redis is away it keeps for the others what its bounds allow.
func (s *Sharer) Run(ctx context.Context) {
	repeat.Until(ctx, s.o.Interval, func(ctx context.Context) error {
		err := s.exchange(ctx)
		if ctx.Err() == nil {
			s.note(err)
		}
		return err
	}, func(ctx context.Context) {
		if n, err := s.Push(ctx); n > 0 || err != nil {
			s.note(err)
		}
	})
}

func (s *Sharer) exchange(ctx context.Context) error {
	if _, err := s.Push(ctx); err != nil {
		return err
	}
	_, err := s.Pull(ctx)
	return err
}

// Push writes what is new in the index, and returns how many batches that were. What it
// cannot write waits for the next call; the index keeps meanwhile what else is learned.
func (s *Sharer) Push(ctx context.Context) (batches int, err error) {
	for taken := false; ; {
		if len(s.unsent) == 0 {
			if taken {
				return batches, nil
			}
			s.unsent, taken = s.take(), true
		}
		if len(s.unsent) == 0 {
			return batches, nil
		}
		if err := s.send(ctx); err != nil {
			return batches, err
		}
		batches += len(s.unsent)
		s.unsent = nil
	}
}

// take gets what is new out of the index.
func (s *Sharer) take() (out []batch) {
	for range maxBatches {
		deltas := s.o.Index.Deltas(batchMarks)
		marks := 0
		for _, d := range deltas {
			marks += len(d.Marks)
		}
		if len(deltas) > 0 {
			out = append(out, batch{deltas, time.Now()})
		}
		if marks < batchMarks {
			return out
		}
	}
	return out
}

// send writes what waits.
func (s *Sharer) send(ctx context.Context) error {
	encoded := make([][]byte, 0, len(s.unsent))
	for _, b := range s.unsent {
		encoded = append(encoded, s.seal.encode(s.sender, b.deltas, time.Since(b.at)))
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := s.o.Stream.Append(ctx, encoded)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.state.Pushed.Failed += uint64(len(encoded))
		return err
	}
	s.state.Pushed.OK += uint64(len(encoded))
	s.state.LastPush = time.Now()
	return nil
}

// Pull reads what others have written, tells the index, and returns how many batches that
// were. What the index knows better changes nothing.
func (s *Sharer) Pull(ctx context.Context) (batches int, err error) {
	oldest := time.Duration(0)
	for range maxPages {
		entries, more, err := s.next(ctx)
		if err != nil {
			return batches, err
		}
		for _, e := range entries {
			if s.apply(e) {
				batches++
				oldest = max(oldest, e.Age)
			}
		}
		if !more {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.LastPull = time.Now()
	if batches > 0 {
		s.state.Lag = oldest.Seconds()
	}
	return batches, nil
}

func (s *Sharer) next(ctx context.Context) ([]redis.Entry, bool, error) {
	bounded, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	entries, more, err := s.o.Stream.Next(bounded)
	if err != nil && ctx.Err() == nil {
		s.mu.Lock()
		s.state.Pulled.Failed++
		s.mu.Unlock()
	}
	return entries, more, err
}

// apply tells the index what is in an entry, if it is another gateway's batch.
func (s *Sharer) apply(e redis.Entry) (ok bool) {
	from, deltas, err := s.seal.decode(e.Data, e.Age)
	if err != nil {
		s.skip(err)
		return false
	}
	if from == s.sender {
		return false
	}
	s.o.Index.Apply(deltas)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Pulled.OK++
	return true
}

// skip counts an entry that is not for this gateway, and says so the first time.
func (s *Sharer) skip(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := &s.state.Pulled.Foreign
	if errors.Is(why, errVersion) {
		count = &s.state.Pulled.Version
	}
	*count++
	if *count == 1 {
		s.o.Log.Warn("entries of the prefix stream are skipped", "reason", why)
	}
}

// note keeps how an exchange went, and says so when that is new.
func (s *Sharer) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, first := s.state.Up, !s.known
	s.known, s.state.Up, s.state.Error = true, err == nil, ""
	if err != nil {
		s.state.Error = err.Error()
	}
	switch {
	case err == nil && (first || !was):
		s.o.Log.Info("prefixes are shared with other gateways")
	case err != nil && (first || was):
		s.o.Log.Warn("prefixes are not shared: Redis is away, and requests go by what this gateway knows itself", "error", err)
	}
}

// Snapshot is how the sharing goes, for the operator.
type Snapshot struct {
	// Up says that the last exchange has worked.
	Up bool `json:"up"`
	// Error is why it has not: one line, without a password.
	Error string `json:"error,omitzero"`
	// LastPush is when something was written, LastPull when the stream was read to its end.
	LastPush time.Time `json:"last_push,omitzero"`
	LastPull time.Time `json:"last_pull,omitzero"`
	// Lag is how long the oldest batch of the last reading that had any was on its way, in
	// seconds. A gateway that has just begun reads old ones.
	Lag    float64 `json:"lag_seconds"`
	Pushed Pushed  `json:"pushed_batches"`
	Pulled Pulled  `json:"pulled_batches"`
}

// Pushed counts batches that were to be written. One that has failed is tried again.
type Pushed struct {
	OK     uint64 `json:"ok"`
	Failed uint64 `json:"failed"`
}

// Pulled counts batches of others that were read. Foreign are those that are not of a
// gateway with this salt, Version those of gateways of another version; both are let be.
// Failed counts readings and not batches.
type Pulled struct {
	OK      uint64 `json:"ok"`
	Foreign uint64 `json:"foreign"`
	Version uint64 `json:"version"`
	Failed  uint64 `json:"failed"`
}

// Snapshot returns how the sharing goes. It may be called by any goroutine.
func (s *Sharer) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}
