package billing

import (
	"log/slog"
	"sync"
	"time"
)

// notes have the journal know of answers that run. Of a Book without a journal they are nil, and do nothing.
type notes struct {
	to     *queue
	counts *counter
	log    *slog.Logger

	mu   sync.Mutex
	said time.Time // when the log said that answers are not noted
}

// begin notes an answer, or what it has used so far.
func (n *notes) begin(r *Row) {
	if n == nil || r.clean() != "" {
		return
	}
	one := &note{id: r.ID, line: begunLine(r)}
	done, err := n.to.note(one)
	switch {
	case err != nil:
	case n.to.wait(done):
		err = one.err
	default:
		err = errDiskSlow
	}
	if err != nil {
		n.failed(err)
	}
}

// forget ends the note of an answer.
func (n *notes) forget(id string) {
	if n != nil {
		_, _ = n.to.note(&note{id: id}) // one that is not taken is left for the next start
	}
}

// failed counts an answer that is not noted, and has the log say so every now and then.
func (n *notes) failed(err error) {
	n.counts.count(func(s *Stats) { s.JournalErrors++ })
	n.mu.Lock()
	said := time.Since(n.said) < 10*time.Second
	if !said {
		n.said = time.Now()
	}
	n.mu.Unlock()
	if !said {
		n.log.Error("usage: answers that begin are not in the journal; they have no row if the process is killed", "error", err)
	}
}
