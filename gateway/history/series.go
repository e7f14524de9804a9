package history

import (
	"math"
	"math/bits"
	"time"
)

// Count is one of the numbers that are kept of a span of time.
type Count int

// The counts. Of a target Requests are what it was asked, with retries; of the whole they are those of
// clients.
const (
	Requests     Count = iota
	Failed             // ended in an error that is not the client's doing
	Refused            // the request itself was at fault, or not allowed
	Left               // the client left before the end
	Faulted            // the answer had a broken call, broken JSON or a claim that no call bears out
	Repaired           // answers that were repaired
	Broken             // answers that could not be repaired
	Ghosts             // answers that claim, or owe, what no call has done
	GhostsPassed       // those that the client got, marked
	Retried            // attempts at the same target
	FellBack           // attempts at another target
	Reasked            // attempts in which the model was told what to do better
	TextCalls          // calls that were read from the model's text
	NativeCalls        // calls that came as such
	Replayed           // answers out of the response cache
	Input              // tokens
	Cached             // those of them that an upstream's cache had
	Output             // tokens
	counts
)

// Counts are all of them.
type Counts [counts]uint64

func (c *Counts) add(d *Counts) {
	for i, n := range d {
		c[i] += n
	}
}

// Window is a span of time up to now, and how finely it is divided.
type Window struct {
	Name  string
	Step  time.Duration
	Steps int
	ring  int
}

// The windows.
var (
	Hour = Window{"hour", time.Minute, 60, 0}
	Day  = Window{"day", 15 * time.Minute, 96, 1}
	Week = Window{"week", time.Hour, 168, 2}
)

// Last is the last minutes, at most 60.
func Last(minutes int) Window {
	return Window{Name: "minutes", Step: Hour.Step, Steps: min(minutes, Hour.Steps)}
}

// Span is how long the window is.
func (w Window) Span() time.Duration { return time.Duration(w.Steps) * w.Step }

var windows = [...]Window{Hour, Day, Week}

// step is the number of the step that a moment is in.
func (w *Window) step(t time.Time) int64 { return t.Unix() / int64(w.Step/time.Second) }

// bucket is one step of a series. One that was not used for longer than the window is of an older
// step, and so may one be after the clock was set back.
type bucket struct {
	step int64
	Counts
	first, took histogram
}

// series is what happened over a week, in all windows at once.
type series struct{ rings [len(windows)][]bucket }

// add counts something that has happened now. A time of 0 is none.
func (s *series) add(now time.Time, c *Counts, first, took time.Duration) {
	f, t := slot(first), slot(took)
	for i := range s.rings {
		w := &windows[i]
		if s.rings[i] == nil {
			s.rings[i] = make([]bucket, w.Steps)
		}
		step := w.step(now)
		b := &s.rings[i][uint64(step)%uint64(w.Steps)]
		if b.step != step {
			*b = bucket{step: step}
		}
		b.add(c)
		b.first.count(f)
		b.took.count(t)
	}
}

// histogram counts durations: two slots for each power of two, from a millisecond to 18 minutes.
type histogram [slots]uint32

const (
	slots     = 41
	shortest  = 20 // a slot begins at 2^20 ns, 1.05 ms
	halfSteps = 2
)

// slot is where a duration is counted, -1 for none.
func slot(d time.Duration) int {
	if d <= 0 {
		return -1
	}
	high := bits.Len64(uint64(d)) - 1
	if high < shortest {
		return 0
	}
	upper := int(uint64(d) >> (high - 1) & 1)
	return min(1+(high-shortest)*halfSteps+upper, slots-1)
}

// bounds are those of a slot.
func bounds(slot int) (from, to float64) {
	at := func(i int) float64 {
		octave, upper := (i-1)/halfSteps, (i-1)%halfSteps
		return math.Ldexp(1+float64(upper)/halfSteps, shortest+octave)
	}
	if slot == 0 {
		return 0, at(1)
	}
	return at(slot), at(slot + 1)
}

func (h *histogram) count(slot int) {
	if slot >= 0 {
		h[slot]++
	}
}

func (h *histogram) add(o *histogram) {
	for i, n := range o {
		h[i] += n
	}
}

// at is the duration that a share of all stays below, and 0 without any. It is right to a third: where
// in its slot it is, nobody knows.
func (h *histogram) at(share float64) time.Duration {
	var sum uint64
	for _, n := range h {
		sum += uint64(n)
	}
	if sum == 0 {
		return 0
	}
	want, below := share*float64(sum), 0.0
	for i, n := range h {
		if n > 0 && below+float64(n) >= want {
			from, to := bounds(i)
			return time.Duration(from + (to-from)*(want-below)/float64(n))
		}
		below += float64(n)
	}
	return 0
}

// tally is one number over a week, in all windows at once.
type tally struct{ rings [len(windows)][]tallied }

type tallied struct {
	step int64
	n    uint64
}

func (t *tally) add(now time.Time, n uint64) {
	for i := range t.rings {
		w := &windows[i]
		if t.rings[i] == nil {
			t.rings[i] = make([]tallied, w.Steps)
		}
		step := w.step(now)
		b := &t.rings[i][uint64(step)%uint64(w.Steps)]
		if b.step != step {
			*b = tallied{step: step}
		}
		b.n += n
	}
}

// sum is the number in a window that ends now.
func (t *tally) sum(now time.Time, w Window) (n uint64) {
	last := w.step(now)
	for _, b := range t.rings[w.ring] {
		if b.step <= last && b.step > last-int64(w.Steps) {
			n += b.n
		}
	}
	return n
}
