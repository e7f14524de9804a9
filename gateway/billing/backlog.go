package billing

import (
	"context"
	"slices"
	"sync"
)

// backlog is what the ledger has not got yet: how much that is, and the segments that are sealed.
type backlog struct {
	most    int64         // bytes that may wait
	full    string        // why a row is dropped for which there is no room
	memory  int64         // bytes of segments' rows that may be in memory
	deliver chan struct{} // there is a sealed segment; closed: there will be none

	mu     sync.Mutex    // guards what follows, and the segments' rows until they are sealed
	sealed []*segment    // oldest first
	rows   int64         // that wait, in the queue as well
	bytes  int64         // that they count for
	held   int64         // bytes of segments' rows in memory
	spare  []Row         // memory of rows that the ledger has, for those to come
	moved  chan struct{} // closed once something was put or dropped
}

// newBacklog makes one that begins with some segments.
func newBacklog(most int64, full string, memory int64, sealed []*segment) *backlog {
	b := &backlog{most: most, full: full, memory: memory, deliver: make(chan struct{}, 1), sealed: sealed, moved: make(chan struct{})}
	for _, s := range sealed {
		b.rows, b.bytes = b.rows+int64(s.count), b.bytes+s.bytes
	}
	if b.rows > 0 {
		notify(b.deliver)
	}
	return b
}

// claim adds a row to what waits; reason says why there is no room for it, "" if there is.
func (b *backlog) claim(size int64) (reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes+size > b.most {
		return b.full
	}
	b.rows, b.bytes = b.rows+1, b.bytes+size
	return ""
}

// drop gives up rows that were claimed.
func (b *backlog) drop(rows int, size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows, b.bytes = b.rows-int64(rows), b.bytes-size
	b.wake()
}

// wake has those look again who wait. The caller has the lock.
func (b *backlog) wake() {
	close(b.moved)
	b.moved = make(chan struct{})
}

// size is how many rows wait, and what they count for.
func (b *backlog) size() (rows, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rows, b.bytes
}

// fits reports whether there is room in memory.
func (b *backlog) fits(size int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held+size <= b.memory
}

// grow adds a batch to a segment that is not sealed. Its rows stay in memory only if all those before do.
func (b *backlog) grow(s *segment, next *batch, keep bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case keep && s.count == 0:
		s.rows = next.rows
		b.held += next.bytes
	case keep && s.rows != nil:
		s.rows = append(s.rows, next.rows...)
		b.held += next.bytes
	case s.rows != nil:
		s.rows = nil
		b.held -= s.bytes
	}
	s.count, s.bytes = s.count+len(next.rows), s.bytes+next.bytes
}

// seal hands a segment to those who put rows into the ledger.
func (b *backlog) seal(s *segment) {
	b.mu.Lock()
	b.sealed = append(b.sealed, s)
	b.mu.Unlock()
	notify(b.deliver)
}

// first is the segment that the ledger gets next; nil: there is none.
func (b *backlog) first() *segment {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.sealed) == 0 {
		return nil
	}
	return b.sealed[0]
}

// all are the segments that are sealed.
func (b *backlog) all() []*segment {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sealed)
}

// put takes a segment away that the ledger has.
func (b *backlog) put(s *segment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(s)
	b.rows, b.bytes = b.rows-int64(s.count), b.bytes-s.bytes
	if s.rows != nil {
		b.held -= s.bytes
		b.reuse(s.rows)
		s.rows = nil
	}
	b.wake()
}

// reuse keeps the memory of rows for a batch to come, if it is no more than one has mostly. The caller has the lock.
func (b *backlog) reuse(rows []Row) {
	if n := cap(rows); n <= 2*maxRoom && n > cap(b.spare) {
		clear(rows)
		b.spare = rows[:0]
	}
}

// memoryFor is memory for rows: that of others, or for so many.
func (b *backlog) memoryFor(rows int) []Row {
	b.mu.Lock()
	defer b.mu.Unlock()
	if spare := b.spare; spare != nil && rows > 0 {
		b.spare = nil
		return spare
	}
	return make([]Row, 0, min(rows, maxRoom))
}

// postpone puts a segment that has failed behind the others: should it be itself what the ledger refuses, the others
// do not wait for it.
func (b *backlog) postpone(s *segment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(s)
	b.sealed = append(b.sealed, s)
}

// remove takes a segment from the list. The caller has the lock.
func (b *backlog) remove(s *segment) {
	at := slices.Index(b.sealed, s)
	b.sealed = slices.Delete(b.sealed, at, at+1)
}

// untilEmpty waits until the ledger has all that waits.
func (b *backlog) untilEmpty(ctx context.Context) error {
	return b.until(ctx, func() bool { return b.rows == 0 })
}

// untilPut waits until the ledger has all segments that are sealed now.
func (b *backlog) untilPut(ctx context.Context) error {
	wanted := b.all()
	return b.until(ctx, func() bool {
		return !slices.ContainsFunc(wanted, func(s *segment) bool { return slices.Contains(b.sealed, s) })
	})
}

// until waits for something that comes true when rows are put. It is looked at under the lock.
func (b *backlog) until(ctx context.Context, is func() bool) error {
	for {
		b.mu.Lock()
		moved, ok := b.moved, is()
		b.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
