package billing

import (
	"sync"
	"time"
)

const (
	// recordWait is how long Record and Begin wait at most for the disk.
	recordWait = 100 * time.Millisecond
	// maxRoom is for how many rows a batch has room at once, if the one before had so many.
	maxRoom = 2048
)

// queue is what the journal gets next: rows, and notes of answers that run. It waits for a disk that is slow, and is
// bounded.
type queue struct {
	most   int64         // bytes of rows, and of notes
	enough int64         // bytes of rows that are not to wait longer
	room   *backlog      // rows have to have room there as well
	wake   chan struct{} // there is a next batch

	mu     sync.Mutex // guards what follows
	next   *batch
	closed bool
	slow   bool // somebody has waited in vain for the batch that is written now
}

// batch is rows that go to the journal in one write, and notes of answers that have begun, which go there before.
type batch struct {
	notes []*note
	noted int64 // bytes
	rows  []Row
	lines []byte // the same for the journal
	bytes int64
	done  chan struct{} // closed when they are written
}

// newBatch makes a batch whose rows have their place in some memory.
func newBatch(rows []Row) *batch { return &batch{rows: rows, done: make(chan struct{})} }

func newQueue(most, enough int64, room *backlog) *queue {
	return &queue{most: most, enough: enough, room: room, wake: make(chan struct{}, 1), next: newBatch(nil)}
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// add puts a row into the next batch, whose end it returns; reason says why it is not taken, "" if it is.
func (q *queue) add(r *Row, line []byte, size int64) (done <-chan struct{}, reason string) {
	q.mu.Lock()
	switch {
	case q.closed:
		reason = errEnded.Error()
	case q.next.bytes+size > q.most:
		reason = "the disk of the journal does not take what waits in memory"
	default:
		reason = q.room.claim(size)
	}
	if reason != "" {
		q.mu.Unlock()
		return nil, reason
	}
	next := q.next
	next.rows, next.lines, next.bytes = append(next.rows, *r), append(next.lines, line...), next.bytes+size
	done = next.done
	soon := next.bytes >= q.enough
	q.mu.Unlock()
	if soon {
		notify(q.wake)
	}
	return done, ""
}

// note puts a note into the next batch, whose end it returns.
func (q *queue) note(n *note) (done <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return nil, errEnded
	case q.slow && n.line != nil, q.next.noted+n.size() > q.most:
		return nil, errDiskSlow
	}
	q.next.notes, q.next.noted = append(q.next.notes, n), q.next.noted+n.size()
	notify(q.wake)
	return q.next.done, nil
}

// wait waits for the end of a batch, a tenth of a second, and not at all while somebody has waited in vain.
func (q *queue) wait(done <-chan struct{}) bool {
	q.mu.Lock()
	slow := q.slow
	q.mu.Unlock()
	if slow {
		return false
	}
	timer := time.NewTimer(recordWait)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-done:
		return true
	default:
		q.slow = true
		return false
	}
}

// take takes the next batch; nil if it is empty, and grows.
func (q *queue) take() (next *batch, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.next.rows)+len(q.next.notes) > 0 {
		next = q.next
		q.next = newBatch(q.room.memoryFor(len(next.rows))) // mostly as many follow
	}
	return next, q.closed
}

// written ends a batch: those who wait for it go on.
func (q *queue) written(b *batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(b.done)
	q.slow = false
}

// close has nothing taken any more; false if it was closed before.
func (q *queue) close() bool {
	q.mu.Lock()
	was := q.closed
	q.closed = true
	q.mu.Unlock()
	if !was {
		notify(q.wake)
	}
	return !was
}
