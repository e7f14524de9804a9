package billing

import "time"

// segmentBytes is how large a segment grows.
const segmentBytes = 1 << 20

// write takes what was recorded to the journal, and seals a segment once it is old or large. It ends when
// the Book is closed and all is sealed.
func (b *Book) write() {
	defer close(b.deliver)
	open := &segment{}
	tick := time.NewTicker(b.o.Interval)
	defer tick.Stop()
	for {
		var flushed chan struct{}
		seal := false
		select {
		case <-b.wake:
		case <-tick.C:
			seal = true
		case flushed = <-b.flush:
			seal = true
		}
		next, closed := b.take()
		if next != nil {
			open = b.append(open, next)
		}
		if seal || closed || open.bytes >= segmentBytes {
			if b.begun != nil {
				_ = b.begun.erase() // while the segment is there
			}
			open = b.seal(open)
		}
		if flushed != nil {
			close(flushed)
		}
		if closed {
			return
		}
	}
}

// take takes the next batch; nil if it is empty, and grows.
func (b *Book) take() (next *batch, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.next.rows)+len(b.next.notes) > 0 {
		next = b.next
		b.next = newBatch(len(next.rows)) // mostly as many follow
	}
	return next, b.closed
}

// append writes a batch, and tells those who wait for it. It returns the segment that is open then.
func (b *Book) append(open *segment, next *batch) *segment {
	for _, n := range next.notes {
		n.err = b.begun.write(n)
	}
	written := true
	if len(next.rows) > 0 {
		open, written = b.appendRows(open, next)
	}
	b.mu.Lock()
	close(next.done)
	b.slow = false
	b.mu.Unlock()
	if b.begun != nil && written { // else the notes are what outlives the process
		for i := range next.rows {
			b.begun.end(next.rows[i].ID)
		}
	}
	return open
}

// appendRows adds the rows of a batch to the open segment, or, if the journal cannot be written, to one in memory. It
// returns the segment that is open then, and whether the rows outlive the process, or are in the log.
func (b *Book) appendRows(open *segment, next *batch) (now *segment, written bool) {
	if b.journal == nil {
		return b.grow(open, next, true), false
	}
	err := b.journal.append(open, next.lines)
	if err == nil {
		return b.grow(open, next, b.fits(next.bytes)), true
	}
	if open.count == 0 {
		open.discard()
	}
	open = b.seal(open)
	b.mu.Lock()
	b.counts.JournalErrors++
	b.mu.Unlock()
	if b.fits(next.bytes) {
		b.log.Error("usage: the journal cannot be written; rows wait in memory, and are lost if the process is killed", "rows", len(next.rows), "error", err)
		return b.seal(b.grow(open, next, true)), false
	}
	b.mu.Lock()
	b.counts.Dropped += uint64(len(next.rows))
	b.counts.Queued -= int64(len(next.rows))
	b.counts.QueuedBytes -= next.bytes
	b.mu.Unlock()
	b.lost("the journal cannot be written, and no more can wait in memory", next.rows, err)
	return open, true
}

// grow adds a batch to a segment. Its rows stay in memory only if all those before do.
func (b *Book) grow(s *segment, next *batch, keep bool) *segment {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case keep && s.count == 0:
		s.rows = next.rows
		b.memory += next.bytes
	case keep && s.rows != nil:
		s.rows = append(s.rows, next.rows...)
		b.memory += next.bytes
	case s.rows != nil:
		s.rows = nil
		b.memory -= s.bytes
	}
	s.count, s.bytes = s.count+len(next.rows), s.bytes+next.bytes
	return s
}

// fits reports whether there is room in memory.
func (b *Book) fits(size int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.memory+size <= b.o.MemoryBytes
}

// seal hands the open segment to those who put rows into the ledger, and opens another one. An empty one stays
// open.
func (b *Book) seal(open *segment) *segment {
	if open.count == 0 {
		return open
	}
	b.mu.Lock()
	b.sealed = append(b.sealed, open)
	b.mu.Unlock()
	notify(b.deliver)
	return &segment{}
}
