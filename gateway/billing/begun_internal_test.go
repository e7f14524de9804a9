package billing

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// stuck is a disk of which writes hang while it is told to.
type stuck struct {
	disk
	hang chan struct{} // nil: it works
	came chan struct{} // one for each write that hangs
}

func (s *stuck) WriteAt(b []byte, at int64) (int, error) {
	if s.hang != nil {
		s.came <- struct{}{}
		<-s.hang
	}
	return s.disk.WriteAt(b, at)
}

// TestBegunHangs holds that a disk that hangs keeps nobody who begins, forgets or records an answer, nor the end of the
// gateway; that one write alone hangs with it; and that what was noted before is left as it was.
func TestBegunHangs(t *testing.T) {
	t.Parallel()
	const others = 200
	dir := t.TempDir()
	b, err := NewBook(Options{Ledger: NewMemory(MemoryLimits{}), Journal: dir, Interval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	row := func(i int, status string) Row {
		return Row{ID: fmt.Sprint("row-", i), Time: time.Now(), Status: status}
	}
	s := &stuck{disk: b.writer.begun.file, came: make(chan struct{}, 1)} // of a second write it would hang here
	b.writer.begun.file = s
	Noted(b, row(0, "first"))
	failed := b.Stats().JournalErrors
	s.hang = make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 1; i <= others; i++ {
			b.Begin(row(i, "first"))
			if i%2 == 0 {
				b.Forget(fmt.Sprint("row-", i))
			} else if i > 1 {
				b.Record(row(i, "ok"))
			}
		}
		b.Begin(row(0, "second"))
	}()
	<-s.came
	within(t, ended, "the disk keeps who begins an answer")
	if got := b.Stats(); got.JournalErrors != failed+others+1 || got.Dropped != 0 {
		t.Errorf("got %+v, want an error for each note, and no row that is dropped", got)
	}
	closed := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		closed <- b.Close(ctx)
	}()
	select {
	case err = <-closed:
	case <-time.After(time.Minute):
		t.Fatal("the disk keeps the end of the gateway")
	}
	if err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("got %v, want that the disk does not answer", err)
	}
	rows, err := readBegun(filepath.Join(dir, b.writer.journal.name+begunSuffix)) // killed now
	if err != nil || len(rows) != 1 || rows[0].ID != "row-0" || rows[0].Status != "first" {
		t.Errorf("got %+v, error %v", rows, err)
	}
	close(s.hang)
	<-b.over.Done()
	b.ended.Wait()
	if n := len(b.writer.begun.places); n != 2 || b.writer.begun.count != 2 {
		t.Errorf("got %d answers in %d places, want the first, and the one whose note hung", n, b.writer.begun.count)
	}
}

// TestBegunHangsAgain holds that notes are taken again once a disk that hung goes on.
func TestBegunHangsAgain(t *testing.T) {
	t.Parallel()
	b, err := NewBook(Options{Ledger: NewMemory(MemoryLimits{}), Journal: t.TempDir(), Interval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s := &stuck{disk: b.writer.begun.file, came: make(chan struct{}, 1), hang: make(chan struct{})}
	b.writer.begun.file = s
	r := Row{ID: "row-0", Time: time.Now()}
	b.Begin(r) // in vain
	<-s.came
	if got := b.Stats().JournalErrors; got != 1 {
		t.Errorf("got %d errors, want one", got)
	}
	b.queue.mu.Lock()
	done, slow := b.queue.next.done, b.queue.slow
	b.queue.mu.Unlock()
	if !slow {
		t.Error("got a disk that is not slow")
	}
	b.Forget("row-1") // the next batch
	hang := s.hang
	close(hang)
	within(t, done, "the next batch is not written")
	s.hang = nil
	Noted(b, r)
	b.Record(r)
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(b.writer.journal.dir, "*")); len(left) > 0 {
		t.Errorf("got %q, want that nothing is left", left)
	}
}

// TestBegunNoJournal holds that the note of a row which waits in memory, since the journal cannot be written, is left
// until the ledger has the row.
func TestBegunNoJournal(t *testing.T) {
	t.Parallel()
	dir, l := t.TempDir(), &awayLedger{Ledger: NewMemory(MemoryLimits{})}
	l.away.Store(true)
	b, err := NewBook(Options{Ledger: l, Journal: dir, Interval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	b.writer.journal.dir = filepath.Join(dir, "none")
	r := Row{ID: "row-0", Time: time.Now()}
	Noted(b, r)
	b.Record(r)
	Noted(b, Row{ID: "row-1", Time: time.Now()}) // in a place of its own
	path := filepath.Join(dir, b.writer.journal.name+begunSuffix)
	if rows, err := readBegun(path); err != nil || len(rows) != 2 { // killed now
		t.Errorf("got %+v, error %v, want both notes", rows, err)
	}
	l.away.Store(false)
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Forget("row-1")
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(path); len(left) > 0 {
		t.Errorf("got %q, want no note", left)
	}
}

// awayLedger takes nothing while it is away.
type awayLedger struct {
	Ledger
	away atomic.Bool
}

func (l *awayLedger) Put(ctx context.Context, rows []Row) (Result, error) {
	if l.away.Load() {
		return Result{}, errDiskSlow
	}
	return l.Ledger.Put(ctx, rows)
}

func within(t *testing.T, done <-chan struct{}, problem string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal(problem)
	}
}

// TestBegunNoRoom starts a gateway that cannot write the rows of what a killed one had begun, as on a full disk: it starts,
// the log says so, and the notes are there for the next one.
func TestBegunNoRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begun := filepath.Join(dir, "usage-killed"+begunSuffix)
	r := Row{ID: "a", Time: time.Now(), Priced: true, Nano: 5}
	if err := os.WriteFile(begun, begunLine(&r), fileMode); err != nil {
		t.Fatal(err)
	}
	j := &journal{dir: dir, name: "no-such-folder/usage-own"}
	segments, err := j.adopt()
	if err != nil || len(segments) > 0 || j.left == nil || j.unended != 0 {
		t.Errorf("got %d segments, error %v, left %v, want none and what is left", len(segments), err, j.left)
	}
	j.name, j.left = "usage-own", nil
	segments, err = j.adopt()
	if err != nil || len(segments) != 1 || segments[0].count != 1 || j.left != nil || j.unended != 1 {
		t.Errorf("got %d segments, error %v, left %v, want one", len(segments), err, j.left)
	}
	if _, err := os.Stat(begun); !os.IsNotExist(err) {
		t.Errorf("got error %v, want the notes gone", err)
	}
}
