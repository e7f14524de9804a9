package billing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
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

const (
	// recordWait is how long Record and Begin wait at most for the disk.
	recordWait = 100 * time.Millisecond
	// closeWait is how long Close waits for the disk, once all is in the ledger, or is not waited for any more.
	closeWait = 5 * time.Second
	// maxRoom is for how many rows a batch has room at once, if the one before had so many.
	maxRoom = 2048
)

// Book takes rows and sees to it that they come into the ledger: it writes each to its journal before
// Record returns, and from there to the ledger, in batches. While the ledger is away they wait in the
// journal, and so do those of a process that was killed, until the next one with that journal starts. That one
// makes rows as well of the answers that the killed one had begun ([Book.Begin]).
//
// The gateway has one, from its start to its end. It may be used by many goroutines; a nil Book takes
// nothing.
type Book struct {
	o       Options
	journal *journal // nil: rows wait in memory
	begun   *begun   // nil without a journal
	log     *slog.Logger
	costs   *costs

	mu     sync.Mutex // guards what follows
	next   *batch     // what the journal gets next
	sealed []*segment // what the ledger gets, oldest first
	counts Stats
	closed bool
	slow   bool          // somebody has waited in vain for the batch that is written now
	said   time.Time     // when the log said that answers are not noted
	moved  chan struct{} // closed once something was put
	memory int64         // bytes of segments' rows in memory

	wake    chan struct{} // there is a next batch
	flush   chan chan struct{}
	deliver chan struct{} // there is a sealed segment
	ended   sync.WaitGroup
	over    context.Context //nolint:containedctx // the Book's own: it ends what puts rows
	cancel  context.CancelFunc
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

// Stats say what a Book has done, for metrics.
type Stats struct {
	// Recorded are all rows that were handed over, and Written those that the ledger has taken. Known were
	// there before, and Late are older than what is kept: they are not in the ledger.
	Recorded, Written, Known, Late uint64
	// Dropped are lost but for their line in the log: no disk, no room, or not a row.
	Dropped uint64
	// Estimated have a usage that was not reported, and Unpriced no price.
	Estimated, Unpriced uint64
	// Unfinished are rows of answers that a process had begun which was killed: they were made at the start.
	Unfinished uint64
	// JournalErrors is how often the journal could not be written, and LedgerErrors the ledger.
	JournalErrors, LedgerErrors uint64
	// Queued rows wait for the ledger, in so many bytes.
	Queued, QueuedBytes int64
	// Away says that the last attempt to put rows has failed.
	Away bool
}

// NewBook opens the journal, and begins with the rows that it finds there. The caller calls Close.
func NewBook(o Options) (*Book, error) {
	o.JournalBytes, o.MemoryBytes = cmp.Or(o.JournalBytes, 1<<30), cmp.Or(o.MemoryBytes, 16<<20)
	o.Interval = cmp.Or(o.Interval, 500*time.Millisecond)
	b := &Book{o: o, log: o.Log, costs: newCosts(), next: newBatch(0), moved: make(chan struct{}),
		wake: make(chan struct{}, 1), flush: make(chan chan struct{}), deliver: make(chan struct{}, 1)}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if o.Journal != "" {
		var err error
		if b.journal, b.sealed, err = openJournal(o.Journal); err != nil {
			return nil, fmt.Errorf("usage: the journal: %w", err)
		}
		if b.begun, err = newBegun(filepath.Join(o.Journal, b.journal.name+begunSuffix)); err != nil {
			return nil, errors.Join(fmt.Errorf("usage: the journal: %w", err), b.journal.close(true))
		}
		b.counts.Unfinished = uint64(b.journal.unended)
		for _, s := range b.sealed {
			b.counts.QueuedBytes += s.bytes
			b.counts.Queued += int64(s.count)
		}
		if n := b.counts.Queued; n > 0 {
			b.log.Info("usage: rows of an earlier run are written to the ledger now", "rows", n, "unfinished", b.journal.unended, "journal", o.Journal)
			notify(b.deliver)
		}
	}
	b.over, b.cancel = context.WithCancel(context.Background())
	b.ended.Go(b.write)
	b.ended.Go(func() { b.put(b.over) })
	if o.Retention > 0 {
		b.ended.Go(func() { b.sweep(b.over) })
	}
	return b, nil
}

// newBatch makes a batch, with room for so many rows.
func newBatch(rows int) *batch {
	return &batch{rows: make([]Row, 0, min(rows, maxRoom)), done: make(chan struct{})}
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// wait waits for the end of a batch, a tenth of a second, and not at all while somebody has waited in vain.
func (b *Book) wait(done <-chan struct{}) bool {
	b.mu.Lock()
	slow := b.slow
	b.mu.Unlock()
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
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-done:
		return true
	default:
		b.slow = true
		return false
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
	reason := r.clean()
	var line []byte
	size := r.size()
	if b.journal != nil && reason == "" {
		line = appendLine(nil, &r)
		size = int64(len(line))
	}
	done := b.add(&r, line, size, reason)
	if done == nil {
		b.Forget(r.ID) // the log has it
		return
	}
	if b.journal == nil {
		return // nothing makes it safer
	}
	b.wait(done)
}

// lost logs rows that come into no ledger.
func (b *Book) lost(reason string, rows []Row, err error) {
	for i := range rows {
		line, _ := json.Marshal(rows[i].Record())
		b.log.Error("usage: a row is lost but for this line: "+reason, "row", string(line), "error", err)
	}
}

// add puts a row into the next batch, whose end it returns; nil if the row is dropped.
func (b *Book) add(r *Row, line []byte, size int64, reason string) <-chan struct{} {
	b.mu.Lock()
	switch {
	case reason != "":
	case b.closed:
		reason = errEnded.Error()
	case b.next.bytes+size > b.o.MemoryBytes:
		reason = "the disk of the journal does not take what waits in memory"
	case b.journal != nil && b.counts.QueuedBytes+size > b.o.JournalBytes:
		reason = "the journal is full"
	case b.journal == nil && b.counts.QueuedBytes+size > b.o.MemoryBytes:
		reason = "no more rows can wait in memory"
	}
	b.counts.Recorded++
	if reason != "" {
		b.counts.Dropped++
		b.mu.Unlock()
		b.lost(reason, []Row{*r}, nil)
		return nil
	}
	if r.Estimated {
		b.counts.Estimated++
	}
	if !r.Priced {
		b.counts.Unpriced++
	}
	b.counts.Queued++
	b.counts.QueuedBytes += size
	next := b.next
	next.rows, next.lines, next.bytes = append(next.rows, *r), append(next.lines, line...), next.bytes+size
	done := next.done
	soon := b.journal != nil || next.bytes >= segmentBytes
	b.mu.Unlock()
	b.costs.add(r)
	if soon {
		notify(b.wake)
	}
	return done
}

// Flush waits until all rows that were recorded before are in the ledger, or ctx ends.
func (b *Book) Flush(ctx context.Context) error {
	if b == nil {
		return nil
	}
	flushed := make(chan struct{})
	select {
	case b.flush <- flushed:
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
	b.mu.Lock()
	wanted := slices.Clone(b.sealed)
	b.mu.Unlock()
	return b.until(ctx, func() bool {
		return !slices.ContainsFunc(wanted, func(s *segment) bool { return slices.Contains(b.sealed, s) })
	})
}

// until waits for something that comes true when rows are put.
func (b *Book) until(ctx context.Context, is func() bool) error {
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

// Close takes no more rows, and waits until the ledger has all, or ctx ends: then those in the journal wait
// for the next start, and those in memory are lost, which the error says.
func (b *Book) Close(ctx context.Context) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	b.mu.Unlock()
	notify(b.wake)
	waited := b.until(ctx, func() bool { return b.counts.Queued == 0 })
	b.cancel()
	left := make(chan error, 1)
	go func() { // it ends when the disk has done what it was told
		b.ended.Wait()
		left <- b.leave(waited)
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

// leave says what the ledger has not got, and gives the journal up.
func (b *Book) leave(waited error) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sealed {
		err = errors.Join(err, s.sync())
		if s.path == "" {
			b.counts.Dropped += uint64(s.count)
			b.lost("it has waited in memory, and the ledger does not take it before the gateway ends", s.rows, nil)
			err = errors.Join(err, fmt.Errorf("usage: %d rows that waited in memory are lost: the ledger does not take them", s.count))
		}
	}
	if b.journal == nil {
		return err
	}
	if waited != nil {
		b.log.Warn("usage: rows wait in the journal for the next start", "rows", b.counts.Queued, "journal", b.o.Journal)
	}
	if n := len(b.begun.places); n > 0 {
		b.log.Warn("usage: answers have not ended; the next start makes rows of them", "answers", n, "journal", b.o.Journal)
	}
	return errors.Join(err, b.begun.close(), b.journal.close(len(b.sealed) == 0))
}

// Stats are those of now.
func (b *Book) Stats() Stats {
	if b == nil {
		return Stats{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts
}

// Costs are what rows of this process have cost, by team and model.
func (b *Book) Costs() []Cost {
	if b == nil {
		return nil
	}
	return b.costs.list()
}
