package billing_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/billing/billingtest"
)

// childJournal is the environment variable that makes the test program one that records rows into a journal.
const childJournal = "CALLGATE_TEST_JOURNAL"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childBegins); dir != "" {
		if err := beginSome(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if dir := os.Getenv(childJournal); dir != "" {
		if err := recordForever(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// ledger is one in memory that is away when a test says so.
type ledger struct {
	billing.Ledger
	away  atomic.Bool
	tries atomic.Int64
	stuck chan struct{} // Put waits for it; nil: it does not
}

func newLedger() *ledger {
	return &ledger{Ledger: billing.NewMemory(billing.MemoryLimits{Rows: 1 << 20})} // none makes room for another
}

var errAway = errors.New("connection refused")

func (l *ledger) Put(ctx context.Context, rows []billing.Row) (billing.Result, error) {
	l.tries.Add(1)
	if l.stuck != nil {
		select {
		case <-l.stuck:
		case <-ctx.Done():
			return billing.Result{}, ctx.Err()
		}
	}
	if l.away.Load() {
		return billing.Result{}, errAway
	}
	return l.Ledger.Put(ctx, rows)
}

func (l *ledger) rows(t testing.TB) []billing.Row {
	t.Helper()
	page, err := l.Rows(t.Context(), billing.Filter{}, billing.Page{Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return page.Rows
}

func newBook(t testing.TB, o billing.Options) *billing.Book {
	t.Helper()
	b, err := billing.NewBook(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, b) })
	return b
}

func shut(t testing.TB, b *billing.Book) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Error(err)
	}
}

func flush(t testing.TB, b *billing.Book) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

// ids are those of rows, sorted.
func ids(rows []billing.Row) (out []string) {
	for _, r := range rows {
		out = append(out, r.ID)
	}
	slices.Sort(out)
	return out
}

// TestBook holds that rows come into the ledger as they were recorded, with and without a journal, from many
// at once, and leave no file behind.
func TestBook(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"memory": "", "journal": filepath.Join(t.TempDir(), "a", "b")} {
		l := newLedger()
		b := newBook(t, billing.Options{Ledger: l, Journal: dir})
		rows := billingtest.Rows(1, 2000)
		var wait sync.WaitGroup
		for some := range slices.Chunk(rows, 100) {
			wait.Go(func() {
				for _, r := range some {
					b.Record(r)
					b.Record(r)
				}
			})
		}
		wait.Wait()
		flush(t, b)
		if got := ids(l.rows(t)); !slices.Equal(got, ids(rows)) {
			t.Errorf("%s: got %d rows, want %d", name, len(got), len(rows))
		}
		if s := b.Stats(); s.Recorded != 4000 || s.Written != 2000 || s.Known != 2000 || s.Dropped != 0 || s.Queued != 0 || s.QueuedBytes != 0 || s.Away {
			t.Errorf("%s: got %+v", name, s)
		}
		var want, got int64
		for _, r := range rows {
			want += 2 * r.Nano
		}
		for _, c := range b.Costs() {
			got += c.Nano
		}
		if got != want {
			t.Errorf("%s: got costs of %d, want %d", name, got, want)
		}
		shut(t, b)
		if dir == "" {
			continue
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("got the files %v, error %v, want none left", left, err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("got %v, error %v, want a folder of the owner's alone", info.Mode(), err)
		}
	}
}

// TestAway holds that rows wait while the ledger is away, and come when it is back; and that a process which
// ends meanwhile leaves them to the next one, whatever the journal's folder is called.
func TestAway(t *testing.T) {
	t.Parallel()
	dir, l, log := filepath.Join(t.TempDir(), "of [one] gateway*"), newLedger(), &bytes.Buffer{}
	l.away.Store(true)
	b, err := billing.NewBook(billing.Options{Ledger: l, Journal: dir, Interval: time.Millisecond, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	rows := billingtest.Rows(2, 300)
	for _, r := range rows[:100] {
		b.Record(r)
	}
	for l.tries.Load() == 0 || !b.Stats().Away {
		time.Sleep(time.Millisecond)
	}
	l.away.Store(false)
	flush(t, b)
	if got := ids(l.rows(t)); !slices.Equal(got, ids(rows[:100])) {
		t.Errorf("got %d rows once it was back, want 100", len(got))
	}
	l.away.Store(true)
	for _, r := range rows[100:] {
		b.Record(r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Error(err)
	}
	if s := b.Stats(); s.Queued != 200 || s.Dropped != 0 || s.LedgerErrors == 0 {
		t.Errorf("got %+v, want 200 rows that wait", s)
	}
	if text := log.String(); !strings.Contains(text, "connection refused") || !strings.Contains(text, "wait in the journal for the next start") {
		t.Errorf("got the log %s", text)
	}
	l.away.Store(false)
	b = newBook(t, billing.Options{Ledger: l, Journal: dir})
	flush(t, b)
	if got := ids(l.rows(t)); !slices.Equal(got, ids(rows)) {
		t.Errorf("got %d rows after the next start, want 300", len(got))
	}
}

// TestStuck holds that Record returns though the ledger hangs, and Flush with its context.
func TestStuck(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.stuck = make(chan struct{})
	b := newBook(t, billing.Options{Ledger: l, Journal: t.TempDir(), Interval: time.Millisecond})
	rows := billingtest.Rows(3, 50)
	for _, r := range rows {
		b.Record(r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := b.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the ledger hangs", err)
	}
	close(l.stuck)
	flush(t, b)
	if got := l.rows(t); len(got) != 50 {
		t.Errorf("got %d rows, want 50", len(got))
	}
}

// TestFull holds that what finds no room is counted, and logged whole.
func TestFull(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]billing.Options{"journal": {Journal: t.TempDir(), JournalBytes: 4000}, "memory": {MemoryBytes: 4000}} {
		l, log := newLedger(), &bytes.Buffer{}
		l.away.Store(true)
		o.Ledger, o.Log = l, slog.New(slog.NewJSONHandler(log, nil))
		b, err := billing.NewBook(o)
		if err != nil {
			t.Fatal(err)
		}
		rows := billingtest.Rows(4, 40)
		for _, r := range rows {
			b.Record(r)
		}
		s := b.Stats()
		if s.Dropped == 0 || s.Dropped+uint64(s.Queued) != 40 || s.QueuedBytes > 4000 {
			t.Errorf("%s: got %+v, want that some were dropped, and the others wait", name, s)
		}
		l.away.Store(false)
		shut(t, b)
		here := l.rows(t)
		for _, r := range rows {
			kept := slices.ContainsFunc(here, func(o billing.Row) bool { return o.ID == r.ID })
			if said := strings.Contains(log.String(), `\"id\":\"`+r.ID+`\"`); kept == said {
				t.Errorf("%s: %s: in the ledger: %v, in the log: %v; want one of both", name, r.ID, kept, said)
			}
		}
	}
}

// TestNotRows holds that what is no row is refused and said, and that odd texts are cut.
func TestNotRows(t *testing.T) {
	t.Parallel()
	l, log := newLedger(), &bytes.Buffer{}
	b := newBook(t, billing.Options{Ledger: l, Log: slog.New(slog.NewTextHandler(log, nil))})
	good := billingtest.Rows(5, 1)[0]
	for _, change := range []func(*billing.Row){
		func(r *billing.Row) { r.ID = "" }, func(r *billing.Row) { r.Time = time.Time{} }, func(r *billing.Row) { r.Input = -1 },
		func(r *billing.Row) { r.Nano, r.Priced = 1<<60, true }, func(r *billing.Row) { r.Output = 1 << 50 },
		func(r *billing.Row) { r.Time = time.Unix(1<<50, 0) },
	} {
		bad := good
		change(&bad)
		b.Record(bad)
	}
	if s := b.Stats(); s.Dropped != 6 || strings.Count(log.String(), "a row is lost") != 6 {
		t.Errorf("got %+v and the log %s, want 6 that were dropped", s, log)
	}
	odd := good
	odd.Key, odd.Model, odd.Session = "a\x00b\xff", strings.Repeat("ü", 1000), strings.Repeat("s", 10_000)
	odd.Labels = map[string]string{"": "x", strings.Repeat("l", 100): strings.Repeat("v", 1000)}
	for i := range 100 {
		odd.Labels[fmt.Sprint(i)] = "x"
	}
	odd.Took, odd.Tools, odd.Priced, odd.Nano = -time.Second, -1, false, 5
	b.Record(odd)
	flush(t, b)
	got := l.rows(t)[0]
	if got.Key != "ab" || len(got.Model) != 256 || len(got.Session) != 512 || len(got.Labels) > 16 || got.Took != 0 || got.Tools != 0 || got.Nano != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestTorn holds that a line which was cut off costs no other one, and is kept.
func TestTorn(t *testing.T) {
	t.Parallel()
	dir, l, log := t.TempDir(), newLedger(), &bytes.Buffer{}
	l.away.Store(true)
	b, err := billing.NewBook(billing.Options{Ledger: l, Journal: dir})
	if err != nil {
		t.Fatal(err)
	}
	rows := billingtest.Rows(6, 10)
	for _, r := range rows {
		b.Record(r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Close(ctx); err != nil {
		t.Error(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if len(files) != 1 {
		t.Fatalf("got the files %q, want one", files)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], append(text, text[:40]...), 0o600); err != nil {
		t.Fatal(err)
	}
	l.away.Store(false)
	b = newBook(t, billing.Options{Ledger: l, Journal: dir, Log: slog.New(slog.NewTextHandler(log, nil))})
	flush(t, b)
	if got := ids(l.rows(t)); !slices.Equal(got, ids(rows)) {
		t.Errorf("got %d rows, want 10", len(got))
	}
	kept, _ := filepath.Glob(filepath.Join(dir, "*.kept"))
	if s := b.Stats(); s.Dropped != 1 || len(kept) != 1 || !strings.Contains(log.String(), kept[0]) {
		t.Errorf("got %+v, the files %q and the log %s", s, kept, log)
	}
}

// TestNoDisk holds that rows wait in memory where the journal cannot be written.
func TestNoDisk(t *testing.T) {
	t.Parallel()
	dir, l, log := filepath.Join(t.TempDir(), "journal"), newLedger(), &bytes.Buffer{}
	b := newBook(t, billing.Options{Ledger: l, Journal: dir, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err := os.Rename(dir, dir+"-gone"); err != nil {
		t.Fatal(err)
	}
	rows := billingtest.Rows(7, 20)
	for _, r := range rows {
		b.Record(r)
	}
	flush(t, b)
	if got := ids(l.rows(t)); !slices.Equal(got, ids(rows)) {
		t.Errorf("got %d rows, want 20", len(got))
	}
	if s := b.Stats(); s.JournalErrors == 0 || s.Dropped != 0 || !strings.Contains(log.String(), "rows wait in memory") {
		t.Errorf("got %+v and the log %s", s, log)
	}
	if err := os.Rename(dir+"-gone", dir); err != nil {
		t.Fatal(err)
	}
}

// TestNeighbours has two Books with one journal: neither takes the other's rows.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	dir, away, here := t.TempDir(), newLedger(), newLedger()
	away.away.Store(true)
	rows := billingtest.Rows(8, 30)
	a := newBook(t, billing.Options{Ledger: away, Journal: dir, Interval: time.Millisecond})
	for _, r := range rows[:20] {
		a.Record(r)
	}
	b := newBook(t, billing.Options{Ledger: here, Journal: dir})
	for _, r := range rows[20:] {
		b.Record(r)
	}
	flush(t, b)
	if got := ids(here.rows(t)); !slices.Equal(got, ids(rows[20:])) {
		t.Errorf("got %q, want only its own", got)
	}
	away.away.Store(false)
	flush(t, a)
	if got := ids(away.rows(t)); !slices.Equal(got, ids(rows[:20])) {
		t.Errorf("got %q, want all its own", got)
	}
}

// TestMistakes holds that a journal which cannot be is an error.
func TestMistakes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := billing.NewBook(billing.Options{Ledger: newLedger(), Journal: file}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want an error with the file's name", err)
	}
	var none *billing.Book
	none.Record(billing.Row{})
	if err := errors.Join(none.Flush(t.Context()), none.Close(t.Context())); err != nil || none.Costs() != nil || none.Stats() != (billing.Stats{}) {
		t.Error("a nil Book does something")
	}
	b := newBook(t, billing.Options{Ledger: newLedger()})
	shut(t, b)
	shut(t, b)
	b.Record(billingtest.Rows(9, 1)[0])
	if b.Stats().Dropped != 1 || b.Flush(t.Context()) == nil {
		t.Error("a closed Book takes rows")
	}
}

// recordForever records rows into a journal, and prints the id of each once Record has returned, and the disk was not so slow
// that it did so before the row was safe.
func recordForever(dir string) error {
	l := newLedger()
	l.away.Store(true) // it would end with the process
	b, err := billing.NewBook(billing.Options{Ledger: l, Journal: dir, Interval: time.Hour})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		r := billingtest.Rows(uint64(os.Getpid()), 1)[0]
		r.ID = fmt.Sprintf("%d_%d", os.Getpid(), i)
		began := time.Now()
		if b.Record(r); time.Since(began) > 50*time.Millisecond { // it may have waited for the disk in vain
			billing.Safe(b)
		}
		fmt.Println(r.ID)
	}
}

// TestKilled kills processes that record, some at once on one journal. Every row whose Record had returned is
// in the journal, and the next one with it writes all to its ledger.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir, l := t.TempDir(), newLedger()
	var mu sync.Mutex
	var recorded []string
	var wait sync.WaitGroup
	for i := range 6 {
		wait.Go(func() {
			got := killed(t, dir, 40+i*31)
			mu.Lock()
			defer mu.Unlock()
			recorded = append(recorded, got...)
		})
	}
	wait.Wait()
	b := newBook(t, billing.Options{Ledger: l, Journal: dir})
	flush(t, b)
	here := ids(l.rows(t))
	for _, id := range recorded {
		if _, ok := slices.BinarySearch(here, id); !ok {
			t.Errorf("%s was recorded, and is not in the ledger", id)
		}
	}
	if len(here) < len(recorded) || len(recorded) < 300 || len(here) > len(recorded)+6*100 {
		t.Errorf("got %d rows, want the %d that were recorded, and few more", len(here), len(recorded))
	}
	t.Logf("%d rows were recorded in processes that were killed; the ledger has %d", len(recorded), len(here))
}

// killed starts a process that records, kills it once it has printed some ids, and returns all that it printed.
func killed(t *testing.T, dir string, after int) (out []string) {
	program, err := os.Executable()
	if err != nil {
		t.Error(err)
		return nil
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), childJournal+"="+dir)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return nil
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return nil
	}
	for lines := bufio.NewReader(pipe); ; {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break // what was cut off was not said
		}
		if out = append(out, strings.TrimSpace(line)); len(out) == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait()
	return out
}

// BenchmarkRecord is one row, with and without a journal.
func BenchmarkRecord(b *testing.B) {
	for name, dir := range map[string]string{"memory": "", "journal": b.TempDir()} {
		b.Run(name, func(b *testing.B) {
			book := newBook(b, billing.Options{Ledger: newLedger(), Journal: dir})
			row := billingtest.Rows(1, 1)[0]
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				row.ID = fmt.Sprint(n)
				book.Record(row)
			}
		})
	}
}
