package billingtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/billing"
)

// faulty is a ledger that fails before it writes, behind it, or between two batches, and that a killed process does
// not reach any more.
type faulty struct {
	billing.Ledger
	plan *plan
	dead atomic.Bool
}

// plan is what becomes of the next writes; then they are well.
type plan struct {
	mu   sync.Mutex
	next []string
}

func (p *plan) take() (one string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.next) > 0 {
		one, p.next = p.next[0], p.next[1:]
	}
	return one
}

func (f *faulty) Put(ctx context.Context, rows []billing.Row) (billing.Result, error) {
	if f.dead.Load() {
		return billing.Result{}, errors.New("the process is killed")
	}
	switch fault := f.plan.take(); fault {
	case "before":
		return billing.Result{}, errors.New(fault)
	case "behind":
		res, err := f.Ledger.Put(ctx, rows)
		return res, errors.Join(err, errors.New(fault))
	case "half": // as of a segment of which the ledger has taken some batches
		res, err := f.Ledger.Put(ctx, rows[:len(rows)/2])
		return res, errors.Join(err, errors.New(fault))
	}
	return f.Ledger.Put(ctx, rows)
}

// life is a gateway that is killed and started again, with what its journal holds then.
type life struct {
	t      *rapid.T
	root   string
	dirs   int
	dir    string
	ledger billing.Ledger
	plan   *plan
	books  []*billing.Book
	puts   []*faulty
	old    []*billing.Book // killed

	name    string // of this one among those in a ledger
	made    int
	clock   time.Time
	want    map[string]billing.Row // recorded
	running map[string]billing.Row // begun
	kills   map[string]billing.Row // begun when the process was killed
	maybe   map[string]billing.Row // forgotten: nobody waits for that to be written; or begun, and not noted
	slow    bool                   // the disk of the journal: rows were recorded that do not outlive a kill yet
}

// waits is more than the disk takes, and less than a Book waits for it: what takes longer may not be in the journal yet.
const waits = 50 * time.Millisecond

func (l *life) start() {
	one := &faulty{Ledger: l.ledger, plan: l.plan}
	b, err := billing.NewBook(billing.Options{Ledger: one, Journal: l.dir, Interval: time.Millisecond})
	if err != nil {
		l.t.Fatal(err)
	}
	l.books, l.puts = append(l.books, b), append(l.puts, one)
}

func (l *life) book() *billing.Book { return rapid.SampledFrom(l.books).Draw(l.t, "book") }

func (l *life) row() billing.Row {
	l.made++
	return billing.Row{ID: fmt.Sprint(l.name, "-", l.made), Time: l.clock.Truncate(time.Millisecond), Key: rapid.SampledFrom([]string{"a", "b", `"c,\n=`}).Draw(l.t, "key"), Model: l.name,
		Input: rapid.Int64Range(0, 1<<24).Draw(l.t, "input"), Nano: rapid.Int64Range(0, 1<<50).Draw(l.t, "nano"), Priced: true, PriceVersion: "v", Status: billing.StatusOK}
}

// kill ends all processes as SIGKILL does: their journals are as they are at this moment, and what they do from then on
// nobody sees.
func (l *life) kill() {
	if l.slow {
		l.flush()
	}
	for _, p := range l.puts {
		p.dead.Store(true)
	}
	l.dirs++
	dir := filepath.Join(l.root, fmt.Sprint(l.dirs))
	if err := freeze(l.dir, dir); err != nil {
		l.t.Fatal(err)
	}
	for id, r := range l.running {
		if _, unsure := l.maybe[id]; !unsure {
			l.kills[id] = r
		}
	}
	l.running = map[string]billing.Row{}
	l.old, l.books, l.puts, l.dir = append(l.old, l.books...), nil, nil, dir
}

// record hands a row over, and sees whether the disk was so slow that the row may not outlive a kill.
func (l *life) record(b *billing.Book, r billing.Row) {
	began := time.Now()
	b.Record(r)
	l.slow = l.slow || time.Since(began) > waits
	l.want[r.ID] = r
}

// flush waits until what was recorded while the disk was slow is safe.
func (l *life) flush() {
	l.well()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, b := range l.books {
		if err := b.Flush(ctx); err != nil {
			l.t.Fatal(err)
		}
	}
	l.slow = false
}

// well has all writes to the ledger be well from now on.
func (l *life) well() {
	l.plan.mu.Lock()
	defer l.plan.mu.Unlock()
	l.plan.next = nil
}

// freeze copies a journal that is written to meanwhile: the notes of what runs at first, as of a kill between a row and
// the end of its note.
func freeze(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, suffix := range []string{".begun", ".jsonl"} {
		entries, err := os.ReadDir(from)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), suffix) {
				continue
			}
			b, err := os.ReadFile(filepath.Join(from, e.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				continue // it was put meanwhile
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(to, e.Name()), b, 0o600)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// end has all processes write what they have, and end.
func (l *life) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, b := range l.books {
		if err := b.Close(ctx); err != nil {
			l.t.Error(err)
		}
	}
	over, stop := context.WithCancel(context.Background())
	stop()
	for _, b := range l.old {
		_ = b.Close(over)
	}
}

// check holds that the ledger has what was recorded, once, and a row of each answer that a kill has ended; and that the
// hours' sums are those of the rows.
func (l *life) check() {
	own := billing.Filter{Where: []billing.Condition{{Dimension: billing.ByModel, Values: []string{l.name}}}}
	got, err := l.ledger.Rows(context.Background(), own, billing.Page{Limit: 1 << 20})
	if err != nil {
		l.t.Fatal(err)
	}
	var sum billing.Sum
	there := map[string]bool{}
	for i := range got.Rows {
		r := &got.Rows[i]
		sum.Add(r)
		want, recorded := l.want[r.ID]
		if !recorded {
			_, killed := l.kills[r.ID]
			_, maybe := l.maybe[r.ID]
			if r.Status != billing.Unfinished || !killed && !maybe {
				l.t.Errorf("got %+v, which nobody has recorded", r)
			}
			want = *r
		}
		if there[r.ID] || r.Nano != want.Nano || r.Input != want.Input || r.Status != want.Status || !r.Time.Equal(want.Time) || r.Key != want.Key {
			l.t.Errorf("got %+v, want %+v, once", r, want)
		}
		there[r.ID] = true
	}
	for _, all := range []map[string]billing.Row{l.want, l.kills} {
		for id := range all {
			if !there[id] {
				l.t.Errorf("the ledger has no %s", id)
			}
		}
	}
	sums, err := l.ledger.Sums(context.Background(), own, nil, billing.Page{Limit: 1})
	if err != nil || !sums.Hours || len(sums.Sums) > 1 || len(sums.Sums) == 0 && len(got.Rows) > 0 {
		l.t.Fatalf("got %+v, error %v, want the sum of %d rows", sums, err, len(got.Rows))
	}
	if len(sums.Sums) > 0 && (sums.Sums[0].Nano != sum.Nano || sums.Sums[0].Answers != sum.Answers || sums.Sums[0].Failed != sum.Failed) {
		l.t.Errorf("got the hours' sum %+v, want %+v", sums.Sums[0], sum)
	}
}

// actions are what happens to a gateway.
func (l *life) actions() map[string]func(*rapid.T) {
	oldest := func() (r billing.Row, ok bool) {
		for _, id := range slices.Sorted(maps.Keys(l.running)) {
			return l.running[id], true
		}
		return r, false
	}
	return map[string]func(*rapid.T){
		"record": func(*rapid.T) {
			r := l.row()
			l.record(l.book(), r)
		},
		"begin": func(*rapid.T) {
			r := l.row()
			r.Status = ""
			failed := l.books[0].Stats().JournalErrors
			l.books[0].Begin(r)
			if l.running[r.ID] = r; l.books[0].Stats().JournalErrors > failed { // it is said that the disk was slow
				l.slow, l.maybe[r.ID] = true, r
			}
		},
		"end": func(*rapid.T) {
			if r, ok := oldest(); ok {
				delete(l.running, r.ID)
				r.Status, r.Nano, r.Time = billing.StatusOK, r.Nano/2+1, l.clock.Truncate(time.Millisecond)
				l.record(l.books[0], r)
			}
		},
		"forget": func(*rapid.T) {
			if r, ok := oldest(); ok {
				delete(l.running, r.ID)
				l.books[0].Forget(r.ID)
				l.maybe[r.ID] = r
			}
		},
		"fail": func(t *rapid.T) {
			l.plan.mu.Lock()
			l.plan.next = append(l.plan.next, rapid.SampledFrom([]string{"before", "behind", "half"}).Draw(t, "fault"))
			l.plan.mu.Unlock()
		},
		"clock": func(t *rapid.T) {
			l.clock = l.clock.Add(time.Duration(rapid.Int64Range(-int64(50*time.Hour), int64(50*time.Hour)).Draw(t, "jump")))
		},
		"neighbour": func(*rapid.T) {
			if len(l.books) < 3 {
				l.start()
			}
		},
		"kill": func(*rapid.T) {
			l.kill()
			l.start()
		},
	}
}

// killed counts the lives of a test program, so that they may share a ledger.
var killed atomic.Int64 //nolint:gochecknoglobals // a counter

// Killed kills gateways that share a journal at any moment, with a ledger that fails in all ways and a clock that jumps:
// each row is there once, as it was recorded, and a row of each answer that ran. It does so a number of times.
func Killed(t *testing.T, ledger billing.Ledger, times int) {
	t.Helper()
	root := t.TempDir()
	done, failed := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		if done++; done > times && !failed { // else it is made smaller
			return
		}
		defer func() { failed = failed || rt.Failed() }()
		name := fmt.Sprint("life-", killed.Add(1))
		l := &life{t: rt, name: name, root: filepath.Join(root, name), ledger: ledger, plan: &plan{}, clock: time.Date(2026, 10, 31, 23, 0, 0, 0, time.UTC),
			want: map[string]billing.Row{}, running: map[string]billing.Row{}, kills: map[string]billing.Row{}, maybe: map[string]billing.Row{}}
		l.dir = filepath.Join(l.root, "0")
		defer l.end()
		l.start()
		actions := l.actions()
		names := []string{"record", "record", "record", "begin", "begin", "end", "forget", "fail", "clock", "neighbour", "kill"}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			actions[rapid.SampledFrom(names).Draw(rt, "step")](rt)
		}
		for len(l.running) > 0 {
			actions["end"](rt)
		}
		l.well()
		l.end()
		l.check()
	})
}
