package answers_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/gateway/answers"
)

func newMemory(t testing.TB, bytes int) *answers.Memory {
	t.Helper()
	m, err := answers.NewMemory(bytes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// key is the n-th key of a salt that the tests have in common.
func key(n int) answers.Key {
	return answers.NewKeys([]byte("salt")).Of(binary.BigEndian.AppendUint64(nil, uint64(n)))
}

func answer(n int) *answers.Answer {
	return &answers.Answer{Provider: "p", Model: "m", Body: bytes.Repeat([]byte{byte(n)}, n)}
}

func TestMemoryTTL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t, 1<<20)
		m.Put(t.Context(), key(1), answer(1), time.Minute)
		m.Put(t.Context(), key(2), answer(2), time.Hour)
		time.Sleep(time.Minute - time.Nanosecond)
		if a, ok := m.Get(t.Context(), key(1)); !ok || !bytes.Equal(a.Body, []byte{1}) {
			t.Errorf("got %v, %v before the end of the minute, want the answer", a, ok)
		}
		time.Sleep(time.Nanosecond)
		if a, ok := m.Get(t.Context(), key(1)); ok {
			t.Errorf("got %v after a minute, want nothing", a)
		}
		if a, ok := m.Get(t.Context(), key(2)); !ok || len(a.Body) != 2 {
			t.Errorf("got %v, %v, want the answer that is kept for an hour", a, ok)
		}
		if s := m.Stats(); s.Entries != 1 || s.Evicted != 0 {
			t.Errorf("got %+v, want one entry and none evicted", s)
		}
		m.Put(t.Context(), key(2), answer(3), time.Second) // in its place, and for another time
		time.Sleep(time.Second)
		m.Put(t.Context(), key(4), answer(4), time.Second) // sweeps
		if s := m.Stats(); s.Entries != 1 {
			t.Errorf("got %+v, want the expired one gone", s)
		}
	})
}

// TestMemoryExpiredFirst holds that what has expired makes room before what has not.
func TestMemoryExpiredFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t, 20<<10)
		m.Put(t.Context(), key(0), answer(4096), time.Hour)
		for n := range 3 {
			m.Put(t.Context(), key(n+1), answer(4096), time.Minute)
		}
		time.Sleep(time.Minute)
		m.Put(t.Context(), key(9), answer(4096), time.Hour)
		if _, ok := m.Get(t.Context(), key(0)); !ok || m.Stats().Evicted != 0 {
			t.Errorf("got %+v, want the oldest there, since others have expired", m.Stats())
		}
	})
}

// TestMemoryBytes holds that the store never has more than its bytes, that what was used
// last stays, and that all counts fit.
func TestMemoryBytes(t *testing.T) {
	t.Parallel()
	const room = 20 << 10
	m := newMemory(t, room)
	chance := rand.New(rand.NewPCG(1, 2))
	var keys [100]answers.Key
	for i := range keys {
		keys[i] = key(i)
	}
	for i := range 1000 {
		n := chance.IntN(len(keys))
		m.Put(t.Context(), keys[n], answer(chance.IntN(4096)), time.Hour)
		if _, ok := m.Get(t.Context(), keys[n]); !ok {
			t.Fatalf("%d: got nothing right after it was stored", i)
		}
		kept, size := 0, 0
		for _, k := range keys {
			if a, ok := m.Get(t.Context(), k); ok {
				kept++
				size += len(a.Body)
			}
		}
		s := m.Stats()
		if s.Bytes > room || s.Entries != kept || s.Bytes < size || s.Bytes > size+kept*1024 {
			t.Fatalf("%d: got %+v with %d answers of %d bytes, want at most %d", i, s, kept, size, room)
		}
	}
	if m.Stats().Evicted == 0 {
		t.Error("got none evicted")
	}
	m.Put(t.Context(), key(200), answer(room), time.Hour)
	if _, ok := m.Get(t.Context(), key(200)); ok {
		t.Error("got an answer that is larger than the store")
	}

	m = newMemory(t, room)
	for i := range 4 {
		m.Put(t.Context(), key(i), answer(4096), time.Hour)
	}
	m.Get(t.Context(), key(0))
	m.Put(t.Context(), key(5), answer(4096), time.Hour)
	if _, ok := m.Get(t.Context(), key(0)); !ok {
		t.Error("the one that was used last is gone")
	}
	if _, ok := m.Get(t.Context(), key(1)); ok {
		t.Error("the one that was used first is there")
	}
}

func TestMemoryConcurrent(t *testing.T) {
	t.Parallel()
	m := newMemory(t, 64<<10)
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			for i := range 500 {
				n := (w*500 + i) % 97
				m.Put(t.Context(), key(n), answer(n), time.Hour)
				if a, ok := m.Get(t.Context(), key(n)); ok && len(a.Body) != n {
					t.Errorf("got %d bytes for key %d", len(a.Body), n)
				}
				m.Stats()
			}
		})
	}
	group.Wait()
	if _, err := answers.NewMemory(0); err == nil {
		t.Error("got a store without room")
	}
}
