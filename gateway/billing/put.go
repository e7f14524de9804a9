package billing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// carrier takes what is sealed from the backlog to the ledger.
type carrier struct {
	from   *backlog
	to     Ledger
	notes  *notes // nil without a journal
	counts *counter
	log    *slog.Logger
}

// carry takes sealed segments to the ledger, until ctx ends, or all are there and no more can come.
func (c *carrier) carry(ctx context.Context) {
	pause := firstPause
	for {
		s := c.from.first()
		if s == nil {
			select {
			case _, more := <-c.from.deliver:
				if !more && c.from.first() == nil {
					return
				}
			case <-ctx.Done():
				return
			}
			continue
		}
		err := c.put(ctx, s)
		c.settle(s, err)
		if err == nil {
			pause = firstPause
			continue
		}
		if ctx.Err() != nil {
			return
		}
		rows, _ := c.from.size()
		c.log.Error("usage: the ledger does not take rows; they wait", "rows", rows, "retry_in", pause.String(), "error", err)
		if !c.pause(ctx, pause) {
			return
		}
		pause = min(2*pause, longPause)
	}
}

// pause waits, and brings what is sealed meanwhile to the disk. It returns false once ctx ends.
func (c *carrier) pause(ctx context.Context, d time.Duration) bool {
	over, deliver := time.After(d), c.from.deliver
	for {
		for _, s := range c.from.all() {
			if err := s.sync(); err != nil {
				c.log.Error("usage: the journal's bytes could not be brought to the disk", "error", err)
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

// settle notes what became of a segment.
func (c *carrier) settle(s *segment, err error) {
	c.counts.count(func(s *Stats) {
		if s.Away = err != nil; err != nil {
			s.LedgerErrors++
		}
	})
	if err != nil {
		c.from.postpone(s)
	} else {
		c.from.put(s)
	}
}

// put puts the rows of a segment into the ledger. Some of them may be there already.
func (c *carrier) put(ctx context.Context, s *segment) error {
	rows, bad, err := s.read()
	if err != nil {
		return err
	}
	late := 0
	for some := range slices.Chunk(rows, PutMost) {
		res, err := c.putRows(ctx, some)
		if err != nil {
			return err
		}
		late += res.Late
		c.counts.count(func(s *Stats) {
			s.Written += uint64(res.Added)
			s.Known += uint64(res.Known)
			s.Late += uint64(res.Late)
		})
	}
	if bad > 0 {
		c.counts.count(func(s *Stats) { s.Dropped += uint64(bad) })
		c.log.Error("usage: lines of the journal are no rows: a process has ended while it wrote them, or somebody has changed the file; it is kept", "lines", bad, "file", s.path+badSuffix)
	}
	if late > 0 && s.path == "" {
		logLost(c.log, "it, or one that came with it, is older than what the ledger keeps", rows, nil)
	} else if late > 0 {
		c.log.Error("usage: rows are older than what the ledger keeps, and not in it: nobody can tell whether they were; their file is kept", "rows", late, "file", s.path+badSuffix)
	}
	if s.path == "" { // their notes have outlived the process for them
		for i := range rows {
			c.notes.forget(rows[i].ID)
		}
	}
	return s.remove(bad+late > 0)
}

// putRows puts rows into the ledger, within putTime.
func (c *carrier) putRows(ctx context.Context, rows []Row) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, putTime)
	defer cancel()
	return c.to.Put(ctx, rows)
}

// leave brings what the ledger has not got to the disk, once the carrier has ended. What waits in memory is lost.
func (c *carrier) leave() (err error) {
	for _, s := range c.from.all() {
		err = errors.Join(err, s.sync())
		if s.path == "" {
			c.counts.count(func(st *Stats) { st.Dropped += uint64(s.count) })
			logLost(c.log, "it has waited in memory, and the ledger does not take it before the gateway ends", s.rows, nil)
			err = errors.Join(err, fmt.Errorf("usage: %d rows that waited in memory are lost: the ledger does not take them", s.count))
		}
	}
	return err
}

// sweeper deletes rows that are older than what is kept.
type sweeper struct {
	to    Ledger
	kept  time.Duration
	began time.Time
	log   *slog.Logger
}

// doubt is how long a sweep waits that would leave no row: the machine's clock may be wrong. Then rows of the right time would
// be too late for the ledger afterwards.
const doubt = 24 * time.Hour

// sweep sweeps now and every hour, until ctx ends.
func sweep(ctx context.Context, l Ledger, kept time.Duration, log *slog.Logger) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	s := sweeper{to: l, kept: kept, began: time.Now(), log: log}
	for {
		now := time.Now()
		if jump := now.Round(0).Sub(s.began.Round(0)) - now.Sub(s.began); jump.Abs() > sweepEvery {
			log.Error("usage: the machine's clock has jumped; rows are not deleted by it", "by", jump.String())
			return
		}
		s.sweep(ctx, now)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// sweep sweeps once.
func (s *sweeper) sweep(ctx context.Context, now time.Time) {
	limit := now.Add(-s.kept)
	doubted, err := s.doubts(ctx, now, limit)
	n := 0
	if err == nil && !doubted {
		n, err = s.to.Sweep(ctx, limit)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.log.Error("usage: old rows could not be deleted", "error", err)
	case doubted:
		s.log.Warn("usage: all rows are older than the retention; they are deleted a day after the start, lest the machine's clock is wrong", "now", now.UTC())
	case n > 0:
		s.log.Info("usage: rows older than the retention were deleted; the hours' sums stay", "rows", n)
	}
}

// doubts reports whether there are rows from before the start, and all of them would go.
func (s *sweeper) doubts(ctx context.Context, now, limit time.Time) (bool, error) {
	if now.Sub(s.began) >= doubt {
		return false, nil
	}
	for _, f := range []Filter{{From: limit, To: s.began}, {To: limit}} {
		page, err := s.to.Rows(ctx, f, Page{Limit: 1})
		if err != nil || len(page.Rows) > 0 {
			return err == nil && f.From.IsZero(), err
		}
	}
	return false, nil
}
