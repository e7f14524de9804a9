package billing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Options are what a Book is made of.
type Options struct {
	// Ledger is where rows go. The Book does not close it.
	Ledger Ledger
	// Journal is the folder in which rows wait, so that they outlive the process; it is made if need be.
	// Processes that have the same one do not disturb each other. "" is none: rows wait in memory.
	Journal string
	// JournalBytes bounds what waits in the folder, of this process. Zero is 1 GiB.
	JournalBytes int64
	// MemoryBytes bounds what waits in memory: everything without a journal, and else what a disk does not
	// take. Zero is 16 MiB, about 30 000 rows.
	MemoryBytes int64
	// Interval is how long a row waits at most before it is put into a ledger that works. Zero is half a
	// second.
	Interval time.Duration
	// Retention is how long rows are kept; zero disables expiry. The hours' sums stay.
	Retention time.Duration
	// Log is told what goes wrong. It may be nil.
	Log *slog.Logger
}

// closeWait is how long Close waits for the disk, once all is in the ledger, or is not waited for any more.
const closeWait = 5 * time.Second

// Book takes rows and sees to it that they come into the ledger: it writes each to its journal before
// Record returns, and from there to the ledger, in batches. While the ledger is away they wait in the
// journal, and so do those of a process that was killed, until the next one with that journal starts. That one
// makes rows as well of the answers that the killed one had begun ([Book.Begin]).
//
// The gateway has one, from its start to its end. It may be used by many goroutines; a nil Book takes
// nothing.
//
// A row goes from the queue by the writer to the backlog, and from there by the carrier to the ledger.
type Book struct {
	queue   *queue
	writer  *writer
	backlog *backlog
	carrier *carrier
	notes   *notes // nil without a journal
	counts  *counter
	costs   *costs
	log     *slog.Logger

	ended  sync.WaitGroup
	over   context.Context //nolint:containedctx // the Book's own: it ends what puts rows
	cancel context.CancelFunc
}

// NewBook opens the journal, and begins with the rows that it finds there. The caller calls Close.
func NewBook(o Options) (*Book, error) {
	o.JournalBytes, o.MemoryBytes = cmp.Or(o.JournalBytes, 1<<30), cmp.Or(o.MemoryBytes, 16<<20)
	o.Interval = cmp.Or(o.Interval, 500*time.Millisecond)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b := &Book{costs: newCosts(), counts: &counter{}, log: o.Log}
	b.writer = &writer{open: &segment{}, flush: make(chan chan struct{}), counts: b.counts, log: o.Log}
	if o.Journal == "" {
		b.backlog = newBacklog(o.MemoryBytes, "no more rows can wait in memory", o.MemoryBytes, nil)
		b.queue = newQueue(o.MemoryBytes, segmentBytes, b.backlog)
	} else {
		found, err := b.writer.journals(o.Journal)
		if err != nil {
			return nil, err
		}
		b.backlog = newBacklog(o.JournalBytes, "the journal is full", o.MemoryBytes, found)
		b.queue = newQueue(o.MemoryBytes, 0, b.backlog)
		b.notes = &notes{to: b.queue, counts: b.counts, log: o.Log}
		b.found(o.Journal, b.writer.journal)
	}
	b.writer.from, b.writer.to = b.queue, b.backlog
	b.carrier = &carrier{from: b.backlog, to: o.Ledger, notes: b.notes, counts: b.counts, log: o.Log}
	b.over, b.cancel = context.WithCancel(context.Background())
	b.ended.Go(func() { b.writer.write(o.Interval) })
	b.ended.Go(func() { b.carrier.carry(b.over) })
	if o.Retention > 0 {
		b.ended.Go(func() { sweep(b.over, o.Ledger, o.Retention, o.Log) })
	}
	return b, nil
}

// found says what an earlier run has left in the journal.
func (b *Book) found(journal string, j *journal) {
	unfinished := j.unended
	if j.left != nil {
		b.log.Error("usage: rows of an earlier run wait in the journal for the next start: they cannot be taken over", "error", j.left, "journal", journal)
	}
	b.counts.count(func(s *Stats) { s.Unfinished = uint64(unfinished) })
	if rows, _ := b.backlog.size(); rows > 0 {
		b.log.Info("usage: rows of an earlier run are written to the ledger now", "rows", rows, "unfinished", unfinished, "journal", journal)
	}
}

// Record hands a row over. It returns once the row outlives the process, or after a tenth of a second, or at once
// while the disk hangs: then it is still on its way. A row for which there is no room is counted and logged as
// dropped. An answer of an upstream has one row, whose ID is its own: a row that is recorded twice counts once.
// Nobody changes its labels afterwards.
func (b *Book) Record(r Row) {
	if b == nil {
		return
	}
	b.counts.count(func(s *Stats) { s.Recorded++ })
	done, reason := b.add(&r)
	if reason != "" {
		b.counts.count(func(s *Stats) { s.Dropped++ })
		logLost(b.log, reason, []Row{r}, nil)
		b.notes.forget(r.ID) // the log has it
		return
	}
	b.counts.recorded(&r)
	b.costs.add(&r)
	if b.Keeps() { // else nothing makes it safer
		b.queue.wait(done)
	}
}

// add queues a row, in the form that ledgers keep. It returns the end of its batch, or why it is not taken.
func (b *Book) add(r *Row) (done <-chan struct{}, reason string) {
	if reason = r.clean(); reason != "" {
		return nil, reason
	}
	if !b.Keeps() {
		return b.queue.add(r, nil, r.size())
	}
	line := appendLine(nil, r)
	return b.queue.add(r, line, int64(len(line)))
}

// logLost logs rows that come into no ledger.
func logLost(log *slog.Logger, reason string, rows []Row, err error) {
	for i := range rows {
		line, _ := json.Marshal(rows[i].Record())
		log.Error("usage: a row is lost but for this line: "+reason, "row", string(line), "error", err)
	}
}

// Keeps reports whether answers that have begun outlive the process: there is a journal.
func (b *Book) Keeps() bool { return b != nil && b.notes != nil }

// Begin notes what an answer will have used at least, before its upstream is asked: what Record or Forget with its
// ID ends. If the process is killed before, the next one with this journal makes a row of it, with the status
// Unfinished, which says that it is an estimate. Begun again it is what was used so far. It waits no longer than
// Record does, and a disk that takes nothing keeps no answer from its client: it is counted and logged. Without a
// journal it does nothing.
func (b *Book) Begin(r Row) {
	if b.Keeps() {
		b.notes.begin(&r)
	}
}

// Forget ends what was begun and has used nothing.
func (b *Book) Forget(id string) {
	if b.Keeps() {
		b.notes.forget(id)
	}
}

// Flush waits until all rows that were recorded before are in the ledger, or ctx ends.
func (b *Book) Flush(ctx context.Context) error {
	if b == nil {
		return nil
	}
	flushed := make(chan struct{})
	select {
	case b.writer.flush <- flushed:
	case <-b.over.Done():
		return context.Canceled
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-flushed:
	case <-ctx.Done(): // the disk hangs
		return ctx.Err()
	}
	return b.backlog.untilPut(ctx)
}

// Close takes no more rows, and waits until the ledger has all, or ctx ends: then those in the journal wait
// for the next start, and those in memory are lost, which the error says.
func (b *Book) Close(ctx context.Context) error {
	if b == nil || !b.queue.close() {
		return nil
	}
	waited := b.backlog.untilEmpty(ctx)
	b.cancel()
	left := make(chan error, 1)
	go func() { // it ends when the disk has done what it was told
		b.ended.Wait()
		left <- errors.Join(b.carrier.leave(), b.writer.leave(waited))
	}()
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case err := <-left:
		return err
	case <-timer.C:
		return fmt.Errorf("usage: the journal: %w; the next start finds what it has", errDiskSlow)
	}
}

// Stats say what was done so far.
func (b *Book) Stats() Stats {
	if b == nil {
		return Stats{}
	}
	s := b.counts.now()
	s.Queued, s.QueuedBytes = b.backlog.size()
	return s
}

// Costs are what rows of this process have cost, by team and model.
func (b *Book) Costs() []Cost {
	if b == nil {
		return nil
	}
	return b.costs.list()
}
