package quality_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/quality"
)

// world is a route with two upstreams: what they do with calls, and who asks. Time is its own.
type world struct {
	now   time.Time
	rand  *rand.Rand
	books []*quality.Book
	group []*quality.Group
	// truth is how likely a call is right at a time with a share of the load on the arm.
	truth func(arm int, since time.Duration, load float64) float64
	// choose says which arm a new conversation goes to; nil asks the gateways.
	choose func(w *world) int

	begun   time.Time
	queue   []due
	recent  []int // arms of the last requests
	mean    []float64
	asked   []int
	shares  [][]float64 // by minute, of the first gateway
	learned func(arm int, ok bool)
}

// due is a result that is known later.
type due struct {
	at     time.Time
	book   int
	arm    int
	result quality.Result
}

const (
	feedback = 20 * time.Second
	rate     = 5 // requests a second
)

var arms = []quality.Target{{Provider: "a", Model: "m", Parser: "auto"}, {Provider: "b", Model: "m", Parser: "auto"}}

func newWorld(seed uint64, gateways int, truth func(arm int, since time.Duration, load float64) float64) *world {
	w := &world{now: time.Unix(1_800_000_000, 0), rand: rand.New(rand.NewPCG(seed, 1)), truth: truth, asked: make([]int, len(arms)), mean: []float64{1, 1}}
	w.begun = w.now
	for range gateways {
		b := quality.New(quality.Options{Now: func() time.Time { return w.now }, Rand: w.rand.Float64})
		w.books = append(w.books, b)
		w.group = append(w.group, groupOf(b))
	}
	return w
}

func groupOf(b *quality.Book) *quality.Group {
	return configure(b, map[string]quality.Settings{"r": {Apply: true}},
		map[string][]quality.Arm{"r": {{Target: arms[0], Weight: 1}, {Target: arms[1], Weight: 1}}})["r"]
}

// configure makes groups that are used at once.
func configure(b *quality.Book, settings map[string]quality.Settings, list map[string][]quality.Arm) map[string]*quality.Group {
	groups, begin := b.Configure(settings, list)
	begin()
	return groups
}

var search = quality.Tool{Name: "search", Schema: 1}

func turnOf(r quality.Result) (t quality.Turn) {
	t.Add(search, r)
	return t
}

// run lets time pass.
func (w *world) run(d time.Duration) {
	exchange := w.now
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(time.Second / rate) {
		for len(w.queue) > 0 && !w.queue[0].at.After(w.now) {
			e := w.queue[0]
			w.queue = w.queue[1:]
			w.books[e.book].Record(arms[e.arm], turnOf(e.result))
			if w.learned != nil {
				w.learned(e.arm, e.result == quality.Clean)
			}
		}
		if len(w.books) > 1 && w.now.Sub(exchange) >= 5*time.Second {
			exchange = w.now
			w.exchange()
		}
		gateway := w.rand.IntN(len(w.books))
		var arm int
		if w.choose != nil {
			arm = w.choose(w)
		} else if c, ok := w.group[gateway].Choose(quality.Conversation{Key: w.rand.Uint64()}, func(int) bool { return true }); ok {
			arm = c.Arm
		}
		w.asked[arm]++
		w.recent = append(w.recent, arm)
		if n := len(w.recent); n > 30*rate {
			w.recent = w.recent[n-30*rate:]
		}
		load := 0.0
		for _, a := range w.recent {
			if a == arm {
				load += 1 / float64(len(w.recent))
			}
		}
		result := quality.Invalid
		if w.rand.Float64() < w.truth(arm, w.now.Sub(w.begun), load) {
			result = quality.Clean
		}
		w.queue = append(w.queue, due{at: w.now.Add(feedback), book: gateway, arm: arm, result: result})
		if w.now.Sub(w.begun)%time.Minute < time.Second/rate {
			w.shares = append(w.shares, w.sharesOf(0))
		}
	}
}

// exchange takes what gateways have counted to all others.
func (w *world) exchange() {
	for i, from := range w.books {
		for _, c := range from.Take(false) {
			for j, to := range w.books {
				if i != j {
					to.Apply(c)
				}
			}
		}
	}
}

func (w *world) sharesOf(gateway int) (out []float64) {
	for _, a := range w.books[gateway].Snapshot().Routes[0].Arms {
		out = append(out, a.Share)
	}
	return out
}

// flips is how often the share of the first arm has begun to go the other way.
func (w *world) flips() (n int) {
	direction := 0.0
	for i := 1; i < len(w.shares); i++ {
		d := w.shares[i][0] - w.shares[i-1][0]
		if d == 0 {
			continue
		}
		if direction*d < 0 || direction == 0 {
			n++
		}
		direction = d
	}
	return n
}

// steady is the truth of two arms whose calls go wrong the more, the more of the load they have.
func steady(a, b float64) func(int, time.Duration, float64) float64 {
	return func(arm int, _ time.Duration, load float64) float64 { return []float64{a, b}[arm] - .03*(load-.5) }
}

// TestBestScoreSwings is what the rules of this package are there against: to take the arm whose score
// is the best now changes the arm hundreds of times in two hours, also between equal ones.
func TestBestScoreSwings(t *testing.T) {
	t.Parallel()
	for _, truth := range [][2]float64{{.95, .95}, {.97, .95}} {
		w := newWorld(1, 1, steady(truth[0], truth[1]))
		flips, current := 0, 0
		w.learned = func(arm int, ok bool) {
			x := 0.0
			if ok {
				x = 1
			}
			w.mean[arm] += (x - w.mean[arm]) * .05
			w.mean[1-arm] += (1 - w.mean[1-arm]) * .005 // who is not asked is tried again
		}
		w.choose = func(w *world) int {
			best := 0
			if w.mean[1] > w.mean[0] {
				best = 1
			}
			if best != current {
				flips++
			}
			current = best
			return best
		}
		w.run(2 * time.Hour)
		t.Logf("%v: %d flips", truth, flips)
		if flips < 100 {
			t.Errorf("%v: %d flips, want hundreds, or the simulation shows nothing", truth, flips)
		}
	}
}

// TestNoOscillation: two arms between which 200 turns cannot tell keep their shares.
func TestNoOscillation(t *testing.T) {
	t.Parallel()
	for _, gateways := range []int{1, 4} {
		for _, truth := range [][2]float64{{.95, .95}, {.97, .95}, {.80, .80}, {.99, .94}} {
			for seed := range uint64(5) {
				w := newWorld(seed, gateways, steady(truth[0], truth[1]))
				w.run(2 * time.Hour)
				if n := w.flips(); n > 3 {
					t.Errorf("%d gateways, %v, seed %d: %d flips, want 3 at most", gateways, truth, seed, n)
				}
				if share := w.sharesOf(0)[0]; truth[0] == truth[1] && truth[0] > .9 && share != .5 {
					t.Errorf("%d gateways, %v, seed %d: the first arm has %v of the requests, want a half", gateways, truth, seed, share)
				}
			}
		}
	}
}

// TestBadArmIsLeft: an arm whose every fifth call fails is left once, slowly and for good, keeps a
// twentieth, and comes back when it is repaired.
func TestBadArmIsLeft(t *testing.T) {
	t.Parallel()
	for _, gateways := range []int{1, 4} {
		for seed := range uint64(5) {
			t.Run(fmt.Sprintf("%d gateways, seed %d", gateways, seed), func(t *testing.T) {
				t.Parallel()
				const mended = 2 * time.Hour
				w := newWorld(seed, gateways, func(arm int, since time.Duration, load float64) float64 {
					if arm == 1 && since < mended {
						return .80 - .03*(load-.5)
					}
					return .96 - .03*(load-.5)
				})
				w.run(mended)
				if n := w.flips(); n != 1 {
					t.Errorf("%d flips, want 1: left once and for good", n)
				}
				for g := range gateways {
					if share := w.sharesOf(g)[1]; share != .05 {
						t.Errorf("gateway %d: the bad arm has %v, want the floor", g, share)
					}
				}
				for i := 1; i < len(w.shares); i++ { // two evaluations a minute
					if d := math.Abs(w.shares[i][1] - w.shares[i-1][1]); d > .2001 {
						t.Errorf("minute %d: a step of %v, want 20 points at most", i, d)
					}
				}
				before := w.asked[1]
				w.run(2 * time.Hour)
				if n := w.flips(); n != 2 {
					t.Errorf("%d flips, want 2: it comes back once", n)
				}
				if share := w.sharesOf(0)[1]; share != .5 {
					t.Errorf("the mended arm has %v, want its half", share)
				}
				t.Logf("asked %d times in two hours, and %d in the next two", before, w.asked[1]-before)
			})
		}
	}
}

// TestBadUnderLoad: two arms that are bad with all of the load and good with little must not send it to
// and fro: an arm is left for twice as long each time.
func TestBadUnderLoad(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		w := newWorld(seed, 1, func(arm int, _ time.Duration, load float64) float64 {
			if arm == 0 {
				return .97
			}
			return .97 - .5*max(0, load-.1) // .77 with its half
		})
		w.run(4 * time.Hour)
		t.Logf("seed %d: %d flips", seed, w.flips())
		if n := w.flips(); n > 12 {
			t.Errorf("seed %d: %d flips in four hours, want a few", seed, n)
		}
	}
}
