package billing

import (
	"context"
	"slices"
	"time"
)

// How long the ledger is left alone that has failed.
const (
	firstPause = 250 * time.Millisecond
	longPause  = 15 * time.Second
	putTime    = 30 * time.Second
	// sweepEvery is how often rows are deleted that are too old.
	sweepEvery = time.Hour
)

// put takes sealed segments to the ledger, until ctx ends, or all are there and the Book is closed.
func (b *Book) put(ctx context.Context) {
	pause := firstPause
	for {
		s := b.first()
		if s == nil {
			select {
			case _, more := <-b.deliver:
				if !more && b.first() == nil {
					return
				}
			case <-ctx.Done():
				return
			}
			continue
		}
		err := b.putSegment(ctx, s)
		b.settle(s, err)
		if err == nil {
			pause = firstPause
			continue
		}
		if ctx.Err() != nil {
			return
		}
		b.log.Error("usage: the ledger does not take rows; they wait", "rows", b.Stats().Queued, "retry_in", pause.String(), "error", err)
		if !b.pause(ctx, pause) {
			return
		}
		pause = min(2*pause, longPause)
	}
}

// pause waits, and brings what is sealed meanwhile to the disk. It returns false once ctx ends.
func (b *Book) pause(ctx context.Context, d time.Duration) bool {
	over, deliver := time.After(d), b.deliver
	for {
		b.mu.Lock()
		sealed := slices.Clone(b.sealed)
		b.mu.Unlock()
		for _, s := range sealed {
			if err := s.sync(); err != nil {
				b.log.Error("usage: the journal's bytes could not be brought to the disk", "error", err)
			}
		}
		select {
		case <-over:
			return true
		case <-ctx.Done():
			return false
		case _, more := <-deliver:
			if !more {
				deliver = nil
			}
		}
	}
}

func (b *Book) first() *segment {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.sealed) == 0 {
		return nil
	}
	return b.sealed[0]
}

// settle notes what became of a segment. One that has failed goes behind the others: should it be itself what
// the ledger refuses, the others do not wait for it.
func (b *Book) settle(s *segment, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.Index(b.sealed, s)
	b.sealed = slices.Delete(b.sealed, at, at+1)
	if b.counts.Away = err != nil; err != nil {
		b.counts.LedgerErrors++
		b.sealed = append(b.sealed, s)
		return
	}
	b.counts.Queued -= int64(s.count)
	if s.rows != nil {
		b.memory -= s.bytes
	}
	b.counts.QueuedBytes -= s.bytes
	close(b.moved)
	b.moved = make(chan struct{})
}

// putSegment puts the rows of a segment into the ledger. Some of them may be there already.
func (b *Book) putSegment(ctx context.Context, s *segment) error {
	rows, bad, err := s.read()
	if err != nil {
		return err
	}
	late := 0
	for some := range slices.Chunk(rows, PutMost) {
		res, err := b.putRows(ctx, some)
		if err != nil {
			return err
		}
		late += res.Late
		b.mu.Lock()
		b.counts.Written += uint64(res.Added)
		b.counts.Known += uint64(res.Known)
		b.counts.Late += uint64(res.Late)
		b.mu.Unlock()
	}
	if bad > 0 {
		b.mu.Lock()
		b.counts.Dropped += uint64(bad)
		b.mu.Unlock()
		b.log.Error("usage: lines of the journal are no rows: a process has ended while it wrote them, or somebody has changed the file; it is kept", "lines", bad, "file", s.path+badSuffix)
	}
	if late > 0 && s.path == "" {
		b.lost("it, or one that came with it, is older than what the ledger keeps", rows, nil)
	} else if late > 0 {
		b.log.Error("usage: rows are older than what the ledger keeps, and not in it: nobody can tell whether they were; their file is kept", "rows", late, "file", s.path+badSuffix)
	}
	if s.path == "" { // their notes have outlived the process for them
		for i := range rows {
			b.Forget(rows[i].ID)
		}
	}
	return s.remove(bad+late > 0)
}

func (b *Book) putRows(ctx context.Context, rows []Row) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, putTime)
	defer cancel()
	return b.o.Ledger.Put(ctx, rows)
}

// sweep deletes rows that are too old, now and every hour.
func (b *Book) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for began := time.Now(); ; {
		now := time.Now()
		if jump := now.Round(0).Sub(began.Round(0)) - now.Sub(began); jump.Abs() > sweepEvery {
			b.log.Error("usage: the machine's clock has jumped; rows are not deleted by it", "by", jump.String())
			return
		}
		n, err := b.o.Ledger.Sweep(ctx, now.Add(-b.o.Retention))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			b.log.Error("usage: old rows could not be deleted", "error", err)
		case n > 0:
			b.log.Info("usage: rows older than the retention were deleted; the hours' sums stay", "rows", n)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
