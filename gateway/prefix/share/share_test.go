package share_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/prefix/share"
	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/internal/logtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is the stream of some gateways, without a server.
type memory struct {
	mu      sync.Mutex
	entries []redis.Entry
	broken  error
	hangs   bool
	later   time.Duration // than it is
}

// now is the clock of the gateways.
func (m *memory) now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Add(m.later)
}

func (m *memory) advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.later += d
}

// reader is one gateway's end of it.
type reader struct {
	*memory
	read int
}

func (m *memory) fails(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = err
}

func (m *memory) put(e ...redis.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = append(m.entries, e...)
}

func (m *memory) len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.entries)
}

func (m *memory) state(ctx context.Context) error {
	m.mu.Lock()
	hangs, err := m.hangs, m.broken
	m.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (r *reader) Append(ctx context.Context, batches [][]byte) error {
	if err := r.state(ctx); err != nil {
		return err
	}
	for _, b := range batches {
		r.put(redis.Entry{Data: bytes.Clone(b)})
	}
	return nil
}

func (r *reader) Next(ctx context.Context) ([]redis.Entry, bool, error) {
	if err := r.state(ctx); err != nil {
		return nil, false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	end := min(r.read+3, len(r.entries)) // pages, as the server's
	page := r.entries[r.read:end]
	r.read = end
	return page, end < len(r.entries), nil
}

var salt = []byte("salt")

// site is a gateway's index and its sharer.
type site struct {
	*prefix.Index
	*share.Sharer
}

func newSite(m *memory, salt []byte, targets ...prefix.Target) site {
	x := prefix.New(prefix.Options{Targets: targets, Share: true, Now: m.now})
	return site{x, share.New(share.Options{Index: x, Stream: &reader{memory: m}, Salt: salt})}
}

func ids(first, n int) prefix.Chain {
	key := prefix.NewKey(salt, "", "")
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(first*1000 + i)
	}
	return prefix.OfIDs(key, out)
}

func push(t *testing.T, s site, want int) {
	t.Helper()
	if got, err := s.Push(t.Context()); got != want || err != nil {
		t.Errorf("got %d batches pushed and error %v, want %d", got, err, want)
	}
}

func pull(t *testing.T, s site, want int) {
	t.Helper()
	if got, err := s.Pull(t.Context()); got != want || err != nil {
		t.Errorf("got %d batches pulled and error %v, want %d", got, err, want)
	}
}

func wantMatch(t *testing.T, x *prefix.Index, target string, c prefix.Chain, want int) {
	t.Helper()
	if got := x.Match(target, c); got != want {
		t.Errorf("got %d blocks at %s, want %d", got, target, want)
	}
}

// TestShare: what one gateway learns the others know after a push and a pull, and what
// it forgets they forget. Nobody hears itself.
func TestShare(t *testing.T) {
	t.Parallel()
	m := &memory{}
	targets := []prefix.Target{{Name: "x"}, {Name: "y"}}
	a, b, c := newSite(m, salt, targets...), newSite(m, salt, targets...), newSite(m, salt, targets[0])
	push(t, a, 0)
	a.Add("x", ids(1, 10))
	a.Add("y", ids(2, 5))
	push(t, a, 1)
	push(t, a, 0)
	pull(t, a, 0)
	pull(t, b, 1)
	pull(t, b, 0)
	wantMatch(t, b.Index, "x", ids(1, 10), 10)
	wantMatch(t, b.Index, "y", ids(2, 5), 5)
	push(t, b, 0) // what was heard is not told again
	m.advance(time.Second)
	b.Drop("x")
	push(t, b, 1)
	pull(t, a, 1)
	m.entries[0].Age = time.Second // as old as it is
	pull(t, c, 2)
	wantMatch(t, a.Index, "x", ids(1, 10), 0)
	wantMatch(t, a.Index, "y", ids(2, 5), 5)
	wantMatch(t, c.Index, "x", ids(1, 10), 0)
	if got := c.Index.Snapshot().Unknown; got != 1 {
		t.Errorf("got %d deltas about targets that are not here, want 1", got)
	}
	want := share.Pulled{OK: 2}
	if got := c.Sharer.Snapshot(); got.Pulled != want || got.LastPull.IsZero() || !got.LastPush.IsZero() {
		t.Errorf("got %+v, want two batches read and none written", got)
	}
}

// TestSalts: gateways with another salt are counted and not heard, nor is anything else.
func TestSalts(t *testing.T) {
	t.Parallel()
	m := &memory{}
	target := prefix.Target{Name: "x"}
	a, b := newSite(m, salt, target), newSite(m, []byte("pepper"), target)
	b.Add("x", ids(1, 10))
	push(t, b, 1)
	m.put(redis.Entry{}, redis.Entry{Data: []byte("garbage")}, redis.Entry{Data: append([]byte("cgp\x02"), make([]byte, 100)...)})
	pull(t, a, 0)
	wantMatch(t, a.Index, "x", ids(1, 10), 0)
	want := share.Pulled{Foreign: 3, Version: 1}
	if got := a.Sharer.Snapshot().Pulled; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if one, other := share.Fingerprint(salt), share.Fingerprint([]byte("pepper")); one == other || len(one) != 16 {
		t.Errorf("got the fingerprints %s and %s, want 16 digits each, and two", one, other)
	}
}

// TestOutage: what could not be written waits, and what is learned meanwhile waits in the
// index, as much as its bounds allow.
func TestOutage(t *testing.T) {
	t.Parallel()
	m := &memory{}
	target := prefix.Target{Name: "x", Entries: 4000}
	a, b := newSite(m, salt, target), newSite(m, salt, target)
	broken := errors.New("no connection")
	m.fails(broken)
	for i := range 30 {
		a.Add("x", ids(i, 100))
		if _, err := a.Push(t.Context()); !errors.Is(err, broken) {
			t.Fatalf("got error %v, want %v", err, broken)
		}
	}
	if got := a.Sharer.Snapshot().Pushed; got.OK != 0 || got.Failed != 30 {
		t.Errorf("got %+v, want one batch that failed 30 times", got)
	}
	m.fails(nil)
	push(t, a, 2)
	pull(t, b, 2)
	for i := range 11 { // one batch, and a quarter of the entries
		wantMatch(t, b.Index, "x", ids(i, 100), 100)
	}
	wantMatch(t, b.Index, "x", ids(20, 100), 0)
	if got, want := a.Index.Snapshot().Targets[0].Lost, uint64(1900); got != want {
		t.Errorf("got %d marks lost, want %d", got, want)
	}
	a.Add("x", ids(20, 100)) // its next use
	push(t, a, 1)
	pull(t, b, 1)
	wantMatch(t, b.Index, "x", ids(20, 100), 100)
}

// TestManyMarks: what is more than a batch comes in several, all at once.
func TestManyMarks(t *testing.T) {
	t.Parallel()
	m := &memory{}
	target := prefix.Target{Name: "x", Entries: 1 << 20}
	a, b := newSite(m, salt, target), newSite(m, salt, target)
	for i := range 30 {
		a.Add("x", ids(i, 1000))
	}
	push(t, a, 4)
	pull(t, b, 4)
	for i := range 30 {
		wantMatch(t, b.Index, "x", ids(i, 1000), 1000)
	}
}

// await waits until something holds.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	const patience = 5 * time.Minute
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("got no %s within %v", what, patience)
		}
	}
}

// lines is a log that several goroutines may write.
type lines struct{ logtest.Buffer }

func (l *lines) count(text string) int {
	return strings.Count(l.String(), text)
}

// runs runs a sharer until the function that it returns is called.
func runs(t *testing.T, m *memory, x *prefix.Index, log *lines) (s *share.Sharer, end func()) {
	t.Helper()
	s = share.New(share.Options{Index: x, Stream: &reader{memory: m}, Salt: salt, Interval: time.Millisecond,
		Log: slog.New(slog.NewTextHandler(log, nil))})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	return s, func() { cancel(); <-done }
}

// TestRun: the loop shares, says once that it cannot, goes on when it can, and writes in
// the end what is new.
func TestRun(t *testing.T) {
	t.Parallel()
	m, log := &memory{}, &lines{}
	x := prefix.New(prefix.Options{Targets: []prefix.Target{{Name: "x"}}, Share: true})
	listener := newSite(m, salt, prefix.Target{Name: "x"})
	s, end := runs(t, m, x, log)
	await(t, "exchange", func() bool { return s.Snapshot().Up })
	x.Add("x", ids(1, 10))
	await(t, "batch", func() bool { return m.len() == 1 })
	for range 2 {
		m.fails(errors.New("no connection"))
		await(t, "failure", func() bool { return !s.Snapshot().Up && s.Snapshot().Pulled.Failed > 0 })
		if got := s.Snapshot().Error; got != "no connection" {
			t.Errorf("got the error %q, want the stream's", got)
		}
		time.Sleep(20 * time.Millisecond)
		m.fails(nil)
		await(t, "recovery", func() bool { return s.Snapshot().Up })
	}
	if s.Snapshot().Error != "" || log.count("not shared") != 2 || log.count("are shared") != 3 {
		t.Errorf("got the error %q and the log %s, want one line for each change", s.Snapshot().Error, log)
	}
	x.Add("x", ids(2, 10))
	end()
	pull(t, listener, 2)
	wantMatch(t, listener.Index, "x", ids(1, 10), 10)
	wantMatch(t, listener.Index, "x", ids(2, 10), 10)
}

// TestRunEnds: a stream that hangs does not hold up the end for long.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	m := &memory{hangs: true}
	x := prefix.New(prefix.Options{Targets: []prefix.Target{{Name: "x"}}, Share: true})
	_, end := runs(t, m, x, &lines{})
	x.Add("x", ids(1, 10))
	time.Sleep(20 * time.Millisecond)
	began := time.Now()
	end()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("got the end after %v, want it after a second", took)
	}
}
