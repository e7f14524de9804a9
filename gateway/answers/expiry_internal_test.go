package answers

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"
)

// TestExpiry holds that answers go when they have expired, also where older ones are kept for
// longer, and whatever it is that the store is asked.
func TestExpiry(t *testing.T) {
	t.Parallel()
	keys := NewKeys([]byte("salt"))
	key := func(n uint64) Key { return keys.Of(binary.BigEndian.AppendUint64(nil, n)) }
	for name, use := range map[string]func(m *Memory){
		"get":   func(m *Memory) { m.Get(t.Context(), key(1<<32)) },
		"put":   func(m *Memory) { m.Put(t.Context(), key(0), &Answer{}, 24*time.Hour) },
		"stats": func(m *Memory) { m.Stats() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, err := NewMemory(16 << 20)
				if err != nil {
					t.Fatal(err)
				}
				m.Put(t.Context(), key(0), &Answer{}, 24*time.Hour) // the oldest, and lives longest
				const short = 1000
				for n := range uint64(short) {
					m.Put(t.Context(), key(short-n), &Answer{}, time.Duration(short-n)*time.Second)
				}
				for _, left := range []int{short, short / 2, 0} {
					for range short / swept {
						use(m)
					}
					if got := m.entries.Len(); got != 1+left || len(m.expiry) != got {
						t.Errorf("got %d entries and %d in the queue, want %d", got, len(m.expiry), 1+left)
					}
					time.Sleep(short / 2 * time.Second)
				}
				if s := m.Stats(); s.Evicted != 0 || s.Bytes != (&Answer{}).size() {
					t.Errorf("got %+v, want none evicted and the bytes of one answer", s)
				}
			})
		})
	}
}
