package answers

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Memory keeps answers in the process, as many as have room. The one that was not used
// for the longest time goes first. It is safe for concurrent use.
type Memory struct {
	room int // bytes

	mu      sync.Mutex
	entries *simplelru.LRU[Name, entry]
	bytes   int
	evicted uint64
}

type entry struct {
	answer  *Answer
	expires time.Time
}

// MemoryStats say what a store in memory holds.
type MemoryStats struct {
	Entries, Bytes int
	// Evicted is how many answers have made room for others before they expired.
	Evicted uint64
}

// NewMemory makes a store for at most so many bytes, of which each answer takes some
// hundred more than its text.
func NewMemory(bytes int) (*Memory, error) {
	if bytes < overhead {
		return nil, errors.New("a store of answers needs room for one")
	}
	m := &Memory{room: bytes}
	most := bytes / overhead // no answer is smaller
	entries, err := simplelru.NewLRU(most, func(_ Name, e entry) { m.bytes -= e.answer.size() })
	if err != nil {
		return nil, err
	}
	m.entries = entries
	return m, nil
}

// Get returns the answer of a key, unless it has expired. It does not wait.
func (m *Memory) Get(_ context.Context, key Key) (*Answer, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries.Get(key.Name)
	if !ok {
		return nil, false
	}
	if !time.Now().Before(e.expires) {
		m.entries.Remove(key.Name)
		return nil, false
	}
	return e.answer, true
}

// Put keeps an answer for a time, in the place of one that was there. One that is larger
// than the store is not kept.
func (m *Memory) Put(_ context.Context, key Key, a *Answer, ttl time.Duration) {
	size := a.size()
	if size > m.room {
		return
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries.Remove(key.Name)
	for m.bytes+size > m.room {
		_, e, _ := m.entries.RemoveOldest()
		if now.Before(e.expires) {
			m.evicted++
		}
	}
	m.bytes += size
	m.entries.Add(key.Name, entry{a, now.Add(ttl)})
	m.sweep(now)
}

// swept is how many of the oldest answers are looked at for each that comes.
const swept = 4

// sweep takes out some of those that have expired and were not used for long, so that a
// store with much room does not keep people's texts for no use.
func (m *Memory) sweep(now time.Time) {
	for range swept {
		_, e, ok := m.entries.GetOldest()
		if !ok || now.Before(e.expires) {
			return
		}
		m.entries.RemoveOldest()
	}
}

// Stats counts what is there, what has expired and was not taken out yet among it.
func (m *Memory) Stats() MemoryStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return MemoryStats{Entries: m.entries.Len(), Bytes: m.bytes, Evicted: m.evicted}
}
