package limit

import "time"

// NewTended makes Batches that a test tends.
func NewTended(s *Shared) *Batches { return newBatches(s) }

// Tend does what the goroutine does in each round.
func (b *Batches) Tend() bool { return b.tend() }

// GiveBack gives back what is held ahead for the group of a set.
func (b *Batches) GiveBack(s *Set) { b.giveBack(s.group) }

// Open is the batch that takes requests of a set, "" for none.
func (b *Batches) Open(s *Set) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.pools[s]; p != nil && p.open != nil {
		return p.open.lease.ID
	}
	return ""
}

// Patient makes it wait for its Redis as long as a test on a loaded machine must.
func (s *Shared) Patient() *Shared {
	s.patience = time.Minute
	return s
}

// Closing reports whether there are batches that take no more requests. What they do not need seems to be used yet, and what their
// requests have spent seems to be held.
func (b *Batches) Closing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.closing) > 0
}

// InOpen reports whether a lease is part of a batch that takes requests.
func InOpen(l *Lease) bool { return l != nil && l.batch != nil && l.batch.open }

// InBatch reports whether a lease is part of a batch.
func InBatch(l *Lease) bool { return l.batch != nil }
