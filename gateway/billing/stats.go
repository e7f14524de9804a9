package billing

import "sync"

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

// counter counts what a Book does. Queued and QueuedBytes are not its: the backlog knows them.
type counter struct {
	mu    sync.Mutex
	stats Stats
}

// count changes the figures.
func (c *counter) count(change func(s *Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.stats)
}

// now are the figures.
func (c *counter) now() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// recorded counts a row that was taken, by what is not known of it.
func (c *counter) recorded(r *Row) {
	if r.Priced && !r.Estimated {
		return
	}
	c.count(func(s *Stats) {
		if r.Estimated {
			s.Estimated++
		}
		if !r.Priced {
			s.Unpriced++
		}
	})
}
