package billing

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"
)

// segmentBytes is how large a segment grows.
const segmentBytes = 1 << 20

// writer takes what is queued to the journal, if there is one, and from there to the backlog. Its own goroutine alone
// changes it.
type writer struct {
	from    *queue
	to      *backlog
	journal *journal // nil: rows wait in memory
	begun   *begun   // nil without a journal
	open    *segment
	flush   chan chan struct{} // who wants all that is queued to be sealed
	counts  *counter
	log     *slog.Logger
}

// journals opens the journal in a folder, and returns the segments that it finds there.
func (w *writer) journals(folder string) (found []*segment, err error) {
	if w.journal, found, err = openJournal(folder); err != nil {
		return nil, fmt.Errorf("usage: the journal: %w", err)
	}
	if w.begun, err = newBegun(filepath.Join(folder, w.journal.name+begunSuffix)); err != nil {
		return nil, errors.Join(fmt.Errorf("usage: the journal: %w", err), w.journal.close(true))
	}
	return found, nil
}

// write takes what was recorded to the journal, and seals a segment once it is large, or old: at the latest after so
// long. It ends when the queue is closed and all is sealed.
func (w *writer) write(interval time.Duration) {
	defer close(w.to.deliver)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		var flushed chan struct{}
		seal := false
		select {
		case <-w.from.wake:
		case <-tick.C:
			seal = true
		case flushed = <-w.flush:
			seal = true
		}
		next, closed := w.from.take()
		if next != nil {
			w.append(next)
		}
		if seal || closed || w.open.bytes >= segmentBytes {
			if w.begun != nil {
				_ = w.begun.erase() // while the segment is there
			}
			w.seal()
		}
		if flushed != nil {
			close(flushed)
		}
		if closed {
			return
		}
	}
}

// append writes a batch, and tells those who wait for it.
func (w *writer) append(next *batch) {
	for _, n := range next.notes {
		n.err = w.begun.write(n)
	}
	written := true
	if len(next.rows) > 0 {
		written = w.appendRows(next)
	}
	w.from.written(next)
	if w.begun != nil && written { // else the notes are what outlives the process
		for i := range next.rows {
			w.begun.end(next.rows[i].ID)
		}
	}
}

// appendRows adds the rows of a batch to the open segment, or, if the journal cannot be written, to one in memory. It
// returns whether the rows outlive the process, or are in the log.
func (w *writer) appendRows(next *batch) (written bool) {
	if w.journal == nil {
		w.to.grow(w.open, next, true)
		return false
	}
	err := w.journal.append(w.open, next.lines)
	if err == nil {
		w.to.grow(w.open, next, w.to.fits(next.bytes))
		return true
	}
	if w.open.count == 0 {
		w.open.discard()
	}
	w.seal()
	w.counts.count(func(s *Stats) { s.JournalErrors++ })
	if w.to.fits(next.bytes) {
		w.log.Error("usage: the journal cannot be written; rows wait in memory, and are lost if the process is killed", "rows", len(next.rows), "error", err)
		w.to.grow(w.open, next, true)
		w.seal()
		return false
	}
	w.counts.count(func(s *Stats) { s.Dropped += uint64(len(next.rows)) })
	w.to.drop(len(next.rows), next.bytes)
	logLost(w.log, "the journal cannot be written, and no more can wait in memory", next.rows, err)
	return true
}

// seal hands the open segment to the backlog, and opens another one. An empty one stays open.
func (w *writer) seal() {
	if w.open.count == 0 {
		return
	}
	w.to.seal(w.open)
	w.open = &segment{}
}

// leave gives the journal up, once the writer has ended. What is left in the backlog the next start finds; waited is
// why nobody waits for the ledger any more.
func (w *writer) leave(waited error) error {
	if w.journal == nil {
		return nil
	}
	if waited != nil {
		rows, _ := w.to.size()
		w.log.Warn("usage: rows wait in the journal for the next start", "rows", rows, "journal", w.journal.dir)
	}
	if n := len(w.begun.places); n > 0 {
		w.log.Warn("usage: answers have not ended; the next start makes rows of them", "answers", n, "journal", w.journal.dir)
	}
	return errors.Join(w.begun.close(), w.journal.close(w.to.first() == nil))
}
