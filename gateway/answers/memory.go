package answers

import (
	"container/heap"
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
	entries *simplelru.LRU[Name, *entry]
	expiry  expiryQueue // the same entries
	bytes   int
	evicted uint64
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
	entries, err := simplelru.NewLRU(most, func(_ Name, e *entry) {
		m.bytes -= e.answer.size()
		heap.Remove(&m.expiry, e.place)
	})
	if err != nil {
		return nil, err
	}
	m.entries = entries
	return m, nil
}

// Get returns the answer of a key, unless it has expired. It does not wait.
func (m *Memory) Get(_ context.Context, key Key) (*Answer, bool) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(now, swept)
	e, ok := m.entries.Get(key.Name)
	if !ok || e.hasExpired(now) {
		return nil, false // sweep comes to it
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
	m.sweep(now, swept)
	m.entries.Remove(key.Name)
	for m.bytes+size > m.room {
		if m.sweep(now, 1) == 0 {
			m.entries.RemoveOldest()
			m.evicted++
		}
	}
	e := &entry{name: key.Name, answer: a, expires: now.Add(ttl)}
	m.bytes += size
	m.entries.Add(key.Name, e)
	heap.Push(&m.expiry, e)
}

// How many answers that have expired are taken out at once, while others wait for the store.
const (
	swept      = 8   // by Get and Put: more than one comes in with each
	sweptStats = 256 // by Stats, in a row until there are no more
)

// sweep takes out answers that have expired, at most so many, and returns how many it were.
// It goes with all that is done with the store, so that one with much room does not keep
// people's texts for no use. Only a store that nobody asks, not even how it does, keeps them.
func (m *Memory) sweep(now time.Time, most int) int {
	for n := range most {
		if len(m.expiry) == 0 || !m.expiry[0].hasExpired(now) {
			return n
		}
		m.entries.Remove(m.expiry[0].name)
	}
	return most
}

// Stats takes out what has expired, and counts what is there. The metrics ask for it each
// time that they are read.
func (m *Memory) Stats() MemoryStats {
	now := time.Now()
	for more := true; more; {
		m.mu.Lock()
		more = m.sweep(now, sweptStats) == sweptStats
		m.mu.Unlock()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return MemoryStats{Entries: m.entries.Len(), Bytes: m.bytes, Evicted: m.evicted}
}

// entry is an answer in a Memory.
type entry struct {
	name    Name
	answer  *Answer
	expires time.Time
	place   int // in the queue
}

func (e *entry) hasExpired(now time.Time) bool { return !now.Before(e.expires) }

// expiryQueue has the entry that expires first in front. It is a heap of package
// container/heap, and tells each entry its place, so that any can be taken out.
type expiryQueue []*entry

func (q expiryQueue) Len() int { return len(q) }

func (q expiryQueue) Less(i, j int) bool { return q[i].expires.Before(q[j].expires) }

func (q expiryQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

func (q *expiryQueue) Push(x any) {
	e := x.(*entry) //nolint:forcetypeassert // there are no others
	e.place = len(*q)
	*q = append(*q, e)
}

func (q *expiryQueue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}
