package plugins

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero/api"
)

const (
	// fuel is how many counts of the meter a guest runs before it asks for more,
	// 50 to 200 µs. The garbage collector waits as long, and asking costs nothing
	// against it.
	fuel = 40_000
	// stall is the most that the time between two looks at the clock counts. If it
	// was longer, the machine was busy with something else, or the guest's counts take longer
	// than others': then it is timed by what its thread works, see stopwatch.slow.
	stall = 5 * time.Millisecond
	// slice is how long a guest may run between two looks at the clock that is timed so: it
	// is given less fuel until it keeps to that.
	slice = time.Millisecond
)

// budget is what the calls of a response have used up together.
type budget struct {
	time   time.Duration
	input  int   // bytes
	work   int64 // of instances that were given back
	output []outputOf
}

// outputOf is how many bytes of events a parser has given for a response. Each has the
// limit for itself: what one shouts is no fault of the next.
type outputOf struct {
	parser *parser
	bytes  int
}

// give counts n more bytes of a parser's events, and returns how many they are now.
func (b *budget) give(p *parser, n int) int {
	for i := range b.output {
		if o := &b.output[i]; o.parser == p {
			o.bytes += n
			return o.bytes
		}
	}
	b.output = append(b.output, outputOf{p, n})
	return n
}

// stopwatch bounds a call into a guest. It is also the context that the call is
// made with: host functions find it there without a search, and wazero looks for
// values of its own without going through those of a request.
type stopwatch struct {
	parent      context.Context //nolint:containedctx // of the current call only
	last        time.Duration
	spent       time.Duration // in this call
	limit       time.Duration // of a call
	total       *time.Duration
	limitTotal  time.Duration
	clockOffset time.Duration // what the guest has slept
	guest       *instance
	work        int64 // counts of the meter up to the last yield, since the instance was leased
	given       int32 // fuel that the last yield gave
	grant       int32 // that the next one gives
	most        int32 // that it may become
	// slow says that a time between two looks was longer than stall: from then on only what
	// the thread has worked counts, and all of it.
	slow   bool
	thread threadClock // at the last look
	held   bool        // the goroutine is held to its thread
}

var (
	_ context.Context = (*stopwatch)(nil)

	began = time.Now()
)

func now() time.Duration { return time.Since(began) }

// threadClock is how long a thread has worked. The zero value is that of none.
type threadClock struct {
	thread int
	worked time.Duration
}

// follows reports whether the clock is that of the same thread, later.
func (c threadClock) follows(last threadClock) bool {
	return c.thread != 0 && c.thread == last.thread && c.worked >= last.worked
}

// start begins a call. The error is that of a call that must not be made.
func (w *stopwatch) start(ctx context.Context) error {
	if ctx.Err() != nil {
		return canceled(ctx)
	}
	w.spent = 0
	if *w.total >= w.limitTotal {
		return w.timeUp()
	}
	w.parent, w.last = ctx, now()
	if w.slow {
		w.hold()
	}
	return nil
}

// stop ends a call.
func (w *stopwatch) stop() {
	w.count()
	w.parent = nil
	if w.held {
		w.held = false
		runtime.UnlockOSThread()
	}
}

// hold has the call stay on its thread, whose clock counts from now on. Otherwise it goes on on another when
// it comes back from a guest that has run for long.
func (w *stopwatch) hold() {
	if !w.held {
		w.held = true
		runtime.LockOSThread()
	}
	w.thread = readThreadClock()
}

// count adds the time since the last look at the clock, and returns it.
func (w *stopwatch) count() time.Duration {
	t := now()
	d := t - w.last
	w.last = t
	if w.slow {
		d = w.worked(d)
	} else if d > stall {
		d = stall
		w.slow = true
		w.hold()
	}
	w.spent += d
	*w.total += d
	return d
}

// worked is how much of the time d since the last look the thread has worked.
func (w *stopwatch) worked(d time.Duration) time.Duration {
	last := w.thread
	w.thread = readThreadClock()
	if !w.thread.follows(last) { // it is another thread's, or there is none
		return min(d, stall)
	}
	return min(d, w.thread.worked-last.worked)
}

// ration sets the fuel that is given next by the time that the last took. What takes long for its
// counts would have the garbage collector, and with it the whole process, wait for as long.
func (w *stopwatch) ration(took time.Duration) {
	switch {
	case !w.slow:
	case took > slice:
		w.grant = int32(max(1, int64(w.given)*int64(slice)/int64(took)))
		if took > stall {
			w.guest.mod.grant.Store(w.grant)
		}
	case took < slice/4:
		w.grant = min(2*w.grant, w.most)
	}
}

// check panics with a failure if the guest may not go on. Every host function
// calls it first, so that none of them is a way to work for nothing.
func (w *stopwatch) check() {
	w.count()
	w.bound()
}

// bound is check after a look at the clock.
func (w *stopwatch) bound() {
	if w.spent > w.limit || *w.total > w.limitTotal {
		panic(w.timeUp())
	}
	if w.parent.Err() != nil {
		panic(canceled(w.parent))
	}
}

func (w *stopwatch) timeUp() *failure {
	if w.spent > w.limit {
		return fail(KindTimeLimit, "stopped after %v", w.limit)
	}
	kind := KindTotalLimit
	if w.spent > w.limitTotal/2 { // one call used most of it up
		kind = KindTimeLimit
	}
	return fail(kind, "stopped after %v of the response", w.limitTotal)
}

func canceled(ctx context.Context) *failure {
	return &failure{KindCanceled, fmt.Errorf("canceled: %w", context.Cause(ctx))}
}

// yield is meter.HostYield.
func yield(ctx context.Context, stack []uint64) {
	w := watchOf(ctx)
	w.ration(w.count())
	w.bound()
	if w.guest.fuel != nil { // else it is being instantiated
		w.work += int64(w.given) - int64(int32(w.guest.fuel.Get()))
	}
	w.given = w.grant
	stack[0] = uint64(w.given)
}

var _ api.GoFunc = yield

// watchOf returns the stopwatch of the current call. While a module is
// instantiated wazero's own values lie around it.
func watchOf(ctx context.Context) *stopwatch {
	if w, ok := ctx.(*stopwatch); ok {
		return w
	}
	return ctx.Value(watchKey{}).(*stopwatch)
}

type watchKey struct{}

// Deadline implements context.Context.
func (*stopwatch) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context. Nobody waits: check looks at the parent.
func (*stopwatch) Done() <-chan struct{} { return nil }

// Err implements context.Context.
func (*stopwatch) Err() error { return nil }

// Value implements context.Context.
func (w *stopwatch) Value(key any) any {
	if key == (watchKey{}) {
		return w
	}
	return nil
}
