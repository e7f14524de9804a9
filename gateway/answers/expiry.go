package answers

import "time"

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

// Len implements heap.Interface.
func (q expiryQueue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q expiryQueue) Less(i, j int) bool { return q[i].expires.Before(q[j].expires) }

// Swap implements heap.Interface.
func (q expiryQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *expiryQueue) Push(x any) {
	e := x.(*entry) //nolint:forcetypeassert // there are no others
	e.place = len(*q)
	*q = append(*q, e)
}

// Pop implements heap.Interface.
func (q *expiryQueue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}
