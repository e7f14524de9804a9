package answers_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/callgate/callgate/gateway/answers"
	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/internal/logtest"
	"github.com/callgate/callgate/internal/redistest"
)

// journal is a log that tests read.
type journal struct{ logtest.Buffer }

func (j *journal) count(text string) int {
	return strings.Count(j.String(), text)
}

const largest = 64 << 10

// newShared makes a store over a server, and a client of another program's.
func newShared(t *testing.T, s *redistest.Server) (*answers.Shared, *goredis.Client, *journal) {
	t.Helper()
	client, err := redis.Open(redis.Options{URL: s.URL(), KeyPrefix: s.KeyPrefix()})
	if err != nil {
		t.Fatal(err)
	}
	o, err := goredis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	other := goredis.NewClient(o)
	t.Cleanup(func() {
		client.Close()
		other.Close()
	})
	log := &journal{}
	return answers.NewShared(client, largest, slog.New(slog.NewTextHandler(log, nil))), other, log
}

// patience is how long a test waits before it says what hangs.
const patience = 5 * time.Minute

// eventually waits until a store has an answer, which it returns, or has none.
func eventually(t *testing.T, s *answers.Shared, k answers.Key, want bool) *answers.Answer {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if a, ok := s.Get(t.Context(), k); ok == want {
			return a
		} else if time.Now().After(end) {
			t.Fatalf("got %v from the store after %v, want %v", ok, patience, want)
		}
	}
}

// stored stores until the server has taken it: on a busy machine a call may take too long.
func stored(t *testing.T, s *answers.Shared, k answers.Key, a *answers.Answer, ttl time.Duration) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		s.Put(t.Context(), k, a, ttl)
		if _, ok := s.Get(t.Context(), k); ok {
			return
		} else if time.Now().After(end) {
			t.Fatalf("got nothing stored within %v", patience)
		}
	}
}

// TestShared holds that two gateways find each other's answers, for as long as they are to
// be kept, and that nothing of them can be read in the server.
func TestShared(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a, other, _ := newShared(t, server)
	b, _, _ := newShared(t, server)
	answer := &answers.Answer{Provider: "telltale", Model: "qwen", Body: []byte("a telltale answer"), Stored: time.Now()}
	stored(t, a, key(1), answer, time.Hour)
	if got := eventually(t, b, key(1), true); !bytes.Equal(got.Body, answer.Body) || got.Provider != "telltale" { // its first call connects, which may take too long
		t.Errorf("got %+v, want the other's answer", got)
	}
	if _, ok := b.Get(t.Context(), answers.NewKeys([]byte("other salt")).Of()); ok {
		t.Error("got an answer with another salt")
	}
	keys, err := other.Keys(t.Context(), server.KeyPrefix()+":*").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("got the keys %q, error %v, want one", keys, err)
	}
	value := other.Get(t.Context(), keys[0]).Val()
	if ttl := other.PTTL(t.Context(), keys[0]).Val(); ttl <= 0 || ttl > time.Hour {
		t.Errorf("got it kept for %v, want an hour", ttl)
	}
	if strings.Contains(value, "telltale") || strings.Contains(value, "qwen") {
		t.Errorf("got %q, want nothing that can be read", value)
	}
	stored(t, a, key(2), answer, 100*time.Millisecond+2*time.Second)
	eventually(t, a, key(2), false)
	a.Put(t.Context(), key(3), &answers.Answer{Body: make([]byte, largest+1)}, time.Hour)
	if n := other.Exists(t.Context(), fmt.Sprintf("%s:answer:%s", server.KeyPrefix(), key(3).Name)).Val(); n != 0 {
		t.Error("got an answer that is too large stored")
	}
}

// TestSharedGarbage holds that what another program writes is no answer, and costs no more
// than one.
func TestSharedGarbage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, other, log := newShared(t, server)
	name := func(n int) string { return fmt.Sprintf("%s:answer:%s", server.KeyPrefix(), key(n).Name) }
	stored(t, s, key(1), answer(100), time.Hour)
	good := other.Get(t.Context(), name(1)).Val()
	values := []string{"x", strings.Repeat("x", 4*largest), good, good[:len(good)-1], good + "x", "\x01\x00\x00\x00\x02{}"}
	for i, value := range values {
		if err := other.Set(t.Context(), name(10+i), value, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		before := s.Stats()
		for end := time.Now().Add(patience); s.Stats().Foreign == before.Foreign && time.Now().Before(end); time.Sleep(time.Millisecond) {
			if a, ok := s.Get(t.Context(), key(10+i)); ok {
				t.Errorf("got %+v from %.20q", a, value)
			}
		}
	}
	if got := s.Stats(); got.Foreign != uint64(len(values)) || log.count("no answer of this gateway") != 1 {
		t.Errorf("got %+v and the log\n%s\nwant %d values that are no answers, and one line", got, log, len(values))
	}
}

// TestSharedAway holds that a server that is gone, or does not answer, costs five requests
// and then one in a second, is logged once, and is used again when it is back.
func TestSharedAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, _, log := newShared(t, server)
	for i, outage := range []struct{ begin, end func() }{{server.Stop, server.Restart}, {server.Pause, server.Resume}} {
		stored(t, s, key(i), answer(10), time.Hour)
		lines, before := log.count("are away"), s.Stats()
		outage.begin()
		began := time.Now()
		for range 2000 {
			if _, ok := s.Get(t.Context(), key(i)); ok {
				t.Fatal("got an answer from a server that is away")
			}
			s.Put(t.Context(), key(i), answer(10), time.Hour)
		}
		took, after := time.Since(began), s.Stats()
		calls := after.Failures - before.Failures
		if most := 10 + 2*uint64(took/time.Second); !after.Away || calls == 0 || calls > most || after.Spared-before.Spared != 4000-calls {
			t.Errorf("%d: got %+v after %v, from %+v, want at most %d calls", i, after, took, before, most)
		}
		if got := log.count("are away") - lines; got != 2 {
			t.Errorf("%d: got %d lines about it, want one for reads and one for writes", i, got)
		}
		outage.end()
		for end := time.Now().Add(patience); s.Stats().Away; time.Sleep(20 * time.Millisecond) {
			s.Put(t.Context(), key(i), answer(10), time.Hour)
			s.Get(t.Context(), key(i))
			if time.Now().After(end) {
				t.Fatalf("%d: got %+v, want that it is back", i, s.Stats())
			}
		}
		stored(t, s, key(i), answer(10), time.Hour)
	}
	if log.count("are back") < 4 {
		t.Errorf("got the log\n%s\nwant that reads and writes are back, twice", log)
	}
}

// slow is a server that answers when the context ends.
type slow struct{}

func (slow) Key(words ...string) string { return strings.Join(words, ":") }

func (slow) GetUpTo(ctx context.Context, _ string, _ int) ([]byte, bool, error) {
	<-ctx.Done()
	return nil, false, ctx.Err()
}

func (slow) Set(ctx context.Context, _ string, _ []byte, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestSharedClientLeaves holds that a client that leaves says nothing about the server.
func TestSharedClientLeaves(t *testing.T) {
	t.Parallel()
	s := answers.NewShared(slow{}, largest, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := s.Get(ctx, key(1)); ok || s.Stats().Away {
		t.Errorf("got %v, %+v, want nothing and a server that is there", ok, s.Stats())
	}
	for i := range 5 {
		if _, ok := s.Get(t.Context(), key(1)); ok || s.Stats().Away != (i == 4) {
			t.Errorf("failure %d: got %v, %+v, want nothing, and a server that is away after five", i+1, ok, s.Stats())
		}
	}
}

func BenchmarkMemoryGet(b *testing.B) {
	m := newMemory(b, 64<<20)
	k := key(1)
	m.Put(b.Context(), k, answer(2000), time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		m.Get(b.Context(), k)
	}
}

// BenchmarkKey is that of a request of 4 KB.
func BenchmarkKey(b *testing.B) {
	keys, body := answers.NewKeys([]byte("salt")), make([]byte, 4<<10)
	b.ReportAllocs()
	for b.Loop() {
		keys.Of([]byte("tenant"), []byte("route"), body)
	}
}
