package quality

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway/internal/subkey"
	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/internal/repeat"
)

// Stream is where counts go and come from: a [redis.Stream], or a test's.
type Stream interface {
	// Append adds entries at the end.
	Append(ctx context.Context, entries [][]byte) error
	// Next returns what is new since it was called before, and whether there may be more.
	Next(ctx context.Context) (entries []redis.Entry, more bool, err error)
}

// StreamOf is the stream of the gateways with a salt.
func StreamOf(c *redis.Client, salt []byte) *redis.Stream {
	name := subkey.Of(salt, "quality share: name")
	return c.Stream(c.Key("quality", hex.EncodeToString(name[:8])), redis.StreamOptions{Keep: maxAge, Length: 8192})
}

// Sharer tells other gateways what a book has counted, and the book what they have. Exchange and Run
// are for one goroutine.
type Sharer struct {
	book   *Book
	stream Stream
	log    *slog.Logger
	key    [subkey.Size]byte
	from   string
	every  time.Duration
	unsent []waiting
}

// waiting are counts that wait for a Redis that is away, or for the next exchange.
type waiting struct {
	Counts
	since time.Time
}

// Shared is how the sharing goes.
type Shared struct {
	Up       bool      `json:"up"`
	Error    string    `json:"error,omitempty"` // why not, without a password
	Last     time.Time `json:"last,omitzero"`   // when it has worked
	Sent     uint64    `json:"sent_buckets"`
	Received uint64    `json:"received_buckets"`
	Foreign  uint64    `json:"foreign_entries"` // not of a gateway with this salt
}

// NewSharer makes a sharer that exchanges so often; 0 is every second. From now on the book keeps what it counts for other gateways too.
func NewSharer(b *Book, s Stream, salt []byte, every time.Duration, log *slog.Logger) *Sharer {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	b.mu.Lock()
	b.on, b.shared = true, &Shared{}
	b.mu.Unlock()
	return &Sharer{book: b, stream: s, log: log, key: subkey.Of(salt, "quality share: seal"), from: rand.Text()[:16], every: cmp.Or(every, time.Second)}
}

// Times of sharing. A call that takes longer than callTime has failed.
const (
	callTime  = 2 * time.Second
	maxPages  = 128 // of one reading
	maxUnsent = 64  // buckets that wait for a Redis that is away
	maxEntry  = 1 << 20
)

// Run shares until ctx ends, and then writes once more what is new.
func (s *Sharer) Run(ctx context.Context) {
	repeat.Until(ctx, s.every, func(ctx context.Context) error {
		err := s.Exchange(ctx)
		if ctx.Err() == nil {
			s.note(err)
		}
		return err
	}, func(ctx context.Context) { _ = s.push(ctx, true) }) // who comes next does without
}

// Exchange writes what is new, and reads what others have written.
func (s *Sharer) Exchange(ctx context.Context) error {
	if err := s.push(ctx, false); err != nil {
		return err
	}
	for range maxPages {
		bounded, cancel := context.WithTimeout(ctx, callTime)
		entries, more, err := s.stream.Next(bounded)
		cancel()
		if err != nil {
			return err
		}
		for _, e := range entries {
			s.apply(e)
		}
		if !more {
			break
		}
	}
	return nil
}

func (s *Sharer) push(ctx context.Context, all bool) error {
	for _, c := range s.book.Take(all) {
		s.unsent = append(s.unsent, waiting{c, time.Now()})
	}
	s.unsent = s.unsent[max(0, len(s.unsent)-maxUnsent):]
	if len(s.unsent) == 0 {
		return nil
	}
	var entries [][]byte
	for _, w := range s.unsent {
		w.Age += time.Since(w.since)
		entries = append(entries, s.entries(w.Counts)...)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := s.stream.Append(ctx, entries); err != nil {
		s.unsent = slices.DeleteFunc(s.unsent, func(w waiting) bool { return len(w.Placed) > 0 }) // they help now or never
		return err
	}
	s.unsent = nil
	s.change(func(state *Shared) { state.Sent += uint64(len(entries)) })
	return nil
}

// entries are those of counts: mostly one, and as many as it takes for none to be larger than others read.
func (s *Sharer) entries(c Counts) [][]byte {
	one := s.encode(c)
	half := len(c.Places) / 2
	if len(one) <= maxEntry || half == 0 {
		return [][]byte{one}
	}
	return append(s.entries(Counts{Age: c.Age, Places: c.Places[:half], Placed: c.Placed}), s.entries(Counts{Age: c.Age, Places: c.Places[half:]})...)
}

// message is an entry: what a gateway has counted.
type message struct {
	Version int    `json:"v"`
	From    string `json:"from"`
	Counts  Counts `json:"counts"`
}

const messageVersion = 1

// encode writes counts, with a seal in front that who does not know the salt cannot make.
func (s *Sharer) encode(c Counts) []byte {
	text, err := json.Marshal(message{messageVersion, s.from, c})
	if err != nil {
		panic(err) // numbers and texts
	}
	return append(s.seal(text), text...)
}

const sealSize = 16

func (s *Sharer) seal(text []byte) []byte {
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write(text)
	return mac.Sum(nil)[:sealSize]
}

var errForeign = errors.New("the entry is not of a gateway with this salt and version")

func (s *Sharer) decode(b []byte) (m message, err error) {
	if len(b) < sealSize || len(b) > maxEntry || !hmac.Equal(b[:sealSize], s.seal(b[sealSize:])) {
		return m, errForeign
	}
	d := json.NewDecoder(bytes.NewReader(b[sealSize:]))
	if err := d.Decode(&m); err != nil || m.Version != messageVersion || len(m.Counts.Places) > maxPlaces {
		return m, errForeign
	}
	return m, nil
}

func (s *Sharer) apply(e redis.Entry) {
	m, err := s.decode(e.Data)
	switch {
	case err != nil:
		first := false
		s.change(func(state *Shared) { first = state.Foreign == 0; state.Foreign++ })
		if first {
			s.log.Warn("entries of the quality stream are skipped", "reason", err)
		}
	case m.From != s.from:
		m.Counts.Age = max(0, m.Counts.Age) + e.Age
		s.book.Apply(m.Counts)
		s.change(func(state *Shared) { state.Received++ })
	}
}

func (s *Sharer) change(f func(*Shared)) {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	f(s.book.shared)
}

// note keeps how an exchange went, and says so when that is new.
func (s *Sharer) note(err error) {
	was := Shared{}
	s.change(func(state *Shared) {
		was = *state
		state.Up, state.Error = err == nil, ""
		if err != nil {
			state.Error = err.Error()
			return
		}
		state.Last = s.book.o.Now()
	})
	switch {
	case err == nil && !was.Up:
		s.log.Info("counts of tool calls are shared with other gateways")
	case err != nil && (was.Up || was.Error == ""):
		s.log.Warn("counts of tool calls are not shared: Redis is away, and shares follow what this gateway counts itself", "error", err)
	}
}
