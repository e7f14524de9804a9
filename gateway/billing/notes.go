package billing

import "time"

// Keeps reports whether answers that have begun outlive the process: there is a journal.
func (b *Book) Keeps() bool { return b != nil && b.begun != nil }

// Begin notes what an answer will have used at least, before its upstream is asked: what Record or Forget with its
// ID ends. If the process is killed before, the next one with this journal makes a row of it, with the status
// Unfinished, which says that it is an estimate. Begun again it is what was used so far. It waits no longer than
// Record does, and a disk that takes nothing keeps no answer from its client: it is counted and logged. Without a
// journal it does nothing.
func (b *Book) Begin(r Row) {
	if !b.Keeps() || r.clean() != "" {
		return
	}
	n := &note{id: r.ID, line: begunLine(&r)}
	done, err := b.note(n)
	switch {
	case err != nil:
	case b.wait(done):
		err = n.err
	default:
		err = errDiskSlow
	}
	if err != nil {
		b.unnoted(err)
	}
}

// Forget ends what was begun and has used nothing.
func (b *Book) Forget(id string) {
	if b.Keeps() {
		_, _ = b.note(&note{id: id}) // one that is not taken is left for the next start
	}
}

// note puts a note into the next batch, whose end it returns.
func (b *Book) note(n *note) (done <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return nil, errEnded
	case b.slow && n.line != nil, b.next.noted+n.size() > b.o.MemoryBytes:
		return nil, errDiskSlow
	}
	b.next.notes, b.next.noted = append(b.next.notes, n), b.next.noted+n.size()
	notify(b.wake)
	return b.next.done, nil
}

// unnoted counts an answer that is not noted, and has the log say so every now and then.
func (b *Book) unnoted(err error) {
	b.mu.Lock()
	b.counts.JournalErrors++
	said := time.Since(b.said) < 10*time.Second
	if !said {
		b.said = time.Now()
	}
	b.mu.Unlock()
	if !said {
		b.log.Error("usage: answers that begin are not in the journal; they have no row if the process is killed", "error", err)
	}
}
