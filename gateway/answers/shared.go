package answers

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Server keeps values by their keys for a time, for several gateways. A client of a Redis
// is one.
type Server interface {
	// Key is the key of something, by the words that name it.
	Key(words ...string) string
	// GetUpTo reads a value, of a longer one the first so many bytes.
	GetUpTo(ctx context.Context, key string, most int) (value []byte, found bool, err error)
	// Set writes a value, which is gone after ttl.
	Set(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

// Shared keeps answers in a server that several gateways have in common. What is written
// there nobody reads or changes who does not have both the salt and the request. A server
// that fails, or is slow, has no answers: after five failures in a row it is left alone for a
// second, then tried with one call. It is safe for concurrent use.
type Shared struct {
	server  Server
	largest int
	log     *slog.Logger

	mu            sync.Mutex
	reads, writes side // apart, since a server that is full still reads
	foreign       uint64
}

// side is how calls of one kind do.
type side struct {
	away             bool
	inARow           int       // failures
	next             time.Time // when a server that is away is tried again
	failures, spared uint64
}

// SharedStats say how the server does.
type SharedStats struct {
	// Away says that the last call of a kind, to read or to write, failed.
	Away bool
	// Failures is how many calls failed, and Spared how many were not made therefore.
	Failures, Spared uint64
	// Foreign is how many values were found that are no answers, or were changed.
	Foreign uint64
}

// Times of a Shared.
const (
	// MaxWait is how long a call waits for the server, and all calls of one request together: an upstream
	// that answers takes several times as long.
	MaxWait = 100 * time.Millisecond
	// awayAfter is how many calls in a row must fail for the server to be away: one that is
	// slow once, or a crowd that waits for connections, is none that is.
	awayAfter = 5
	// awayTime is how long a server that is away is left alone.
	awayTime = time.Second
)

// NewShared makes a store for answers with a body of at most so many bytes.
func NewShared(s Server, largest int, log *slog.Logger) *Shared {
	return &Shared{server: s, largest: largest, log: log}
}

// Get returns the answer of a key, if the server has it and says so in time.
func (s *Shared) Get(ctx context.Context, key Key) (*Answer, bool) {
	if !s.present(&s.reads) {
		return nil, false
	}
	own, cancel := context.WithTimeout(ctx, MaxWait)
	defer cancel()
	box, found, err := s.server.GetUpTo(own, s.key(key), frameHead+maxAbout+s.largest+sealSize)
	s.called(ctx, &s.reads, err)
	if err != nil || !found {
		return nil, false
	}
	a, err := key.read(box)
	if err != nil {
		s.refuse(err)
		return nil, false
	}
	return a, true
}

// Put keeps an answer for a time, if the server takes it in time. The context's deadline is what its request
// may still wait, as far as that is less than MaxWait; no call is made where it is over.
func (s *Shared) Put(ctx context.Context, key Key, a *Answer, ttl time.Duration) {
	if len(a.Body) > s.largest {
		return
	}
	if ctx.Err() != nil {
		s.spare(&s.writes)
		return
	}
	if !s.present(&s.writes) {
		return
	}
	box, err := key.write(a, time.Now().Add(ttl))
	if err != nil {
		s.log.Warn("answer not kept", "error", err)
		return
	}
	own, cancel := context.WithTimeout(ctx, MaxWait)
	defer cancel()
	s.called(ctx, &s.writes, s.server.Set(own, s.key(key), box, ttl))
}

// Stats are the counts so far.
func (s *Shared) Stats() SharedStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return SharedStats{
		Away: s.reads.away || s.writes.away, Failures: s.reads.failures + s.writes.failures,
		Spared: s.reads.spared + s.writes.spared, Foreign: s.foreign,
	}
}

func (s *Shared) key(k Key) string { return s.server.Key("answer", k.Name.String()) }

// present reports whether a call is worth while. Of a server that is away it says so to one
// caller in each second.
func (s *Shared) present(of *side) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if of.away && now.Before(of.next) {
		of.spared++
		return false
	}
	of.next = now.Add(awayTime)
	return true
}

// spare counts a call that is not made.
func (s *Shared) spare(of *side) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of.spared++
}

// called takes note of how a call ended, and logs when that is news. That a client left
// says nothing about the server.
func (s *Shared) called(ctx context.Context, of *side, err error) {
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was := of.away
	if err == nil {
		of.away, of.inARow = false, 0
	} else {
		of.failures++
		of.inARow++
		of.away = of.inARow >= awayAfter
		of.next = time.Now().Add(awayTime)
	}
	what := "reads"
	if of == &s.writes {
		what = "writes"
	}
	switch {
	case of.away && !was:
		s.log.Warn("answers in redis are away", "calls", what, "error", err)
	case was && !of.away:
		s.log.Info("answers in redis are back", "calls", what)
	}
}

// refuse takes note of a value that is no answer. The first one is worth a line.
func (s *Shared) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.foreign++; s.foreign == 1 {
		s.log.Warn("a value in redis is no answer of this gateway, or was changed; more of them are only counted", "error", err)
	}
}

var errExpired = errors.New("the answer has expired")

// write is an answer as a value for the server.
func (k Key) write(a *Answer, expires time.Time) ([]byte, error) {
	frame, err := encode(a, expires)
	if err != nil {
		return nil, err
	}
	gcm, err := k.cipher()
	if err != nil {
		return nil, err
	}
	return gcm.Seal(nil, nil, frame, k.Name[:]), nil //nolint:gosec // this kind of cipher makes its own nonces, and wants none
}

// read is the answer in a value of the server.
func (k Key) read(box []byte) (*Answer, error) {
	gcm, err := k.cipher()
	if err != nil {
		return nil, err
	}
	frame, err := gcm.Open(nil, nil, box, k.Name[:])
	if err != nil {
		return nil, err
	}
	a, expires, err := decode(frame)
	if err != nil {
		return nil, err
	}
	if !time.Now().Before(expires) { // the server forgets in time, unless somebody has put it back
		return nil, errExpired
	}
	return a, nil
}

// An answer outside of the process is a frame: a version, the length of what is known of
// it, that as JSON, and the body. The frame is sealed with AES-256-GCM under a key of its
// own, so that the random nonces of one key stay few and nobody reads or changes it.

// frameVersion is the first byte of a frame. Another one is another gateway's.
const frameVersion = 1

// Bounds of a frame.
const (
	frameHead = 1 + 4    // bytes in front of the JSON
	maxAbout  = 16 << 10 // bytes of the JSON
	sealSize  = 12 + 16  // bytes that the seal adds: nonce and tag
)

var errFrame = errors.New("not an answer of this version")

// about is what a frame tells of an answer.
type about struct {
	*Answer
	// Expires is when the answer is none any more, whoever has kept it for longer.
	Expires time.Time `json:"expires"`
}

// encode writes an answer as a frame.
func encode(a *Answer, expires time.Time) ([]byte, error) {
	about, err := json.Marshal(about{a, expires})
	if err != nil {
		return nil, err
	}
	if len(about) > maxAbout {
		return nil, fmt.Errorf("there are %d bytes to say of an answer; the most is %d", len(about), maxAbout)
	}
	out := make([]byte, 0, frameHead+len(about)+len(a.Body)+sealSize)
	out = binary.BigEndian.AppendUint32(append(out, frameVersion), uint32(len(about)))
	return append(append(out, about...), a.Body...), nil
}

// decode reads a frame. The answer keeps its bytes.
func decode(frame []byte) (a *Answer, expires time.Time, err error) {
	if len(frame) < frameHead || frame[0] != frameVersion {
		return nil, expires, errFrame
	}
	n := binary.BigEndian.Uint32(frame[1:])
	rest := frame[frameHead:]
	if n > maxAbout || int(n) > len(rest) {
		return nil, expires, errFrame
	}
	known := about{Answer: &Answer{}}
	if err := json.Unmarshal(rest[:n], &known); err != nil {
		return nil, expires, errFrame
	}
	known.Body = rest[n:]
	return known.Answer, known.Expires, nil
}

func (k Key) cipher() (cipher.AEAD, error) {
	block, err := aes.NewCipher(k.seal[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
