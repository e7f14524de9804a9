package rollout

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Options are what a rollout is made of.
type Options struct {
	// Name is unique in a Book, and Salt what units are hashed with; "" is the name.
	Name, Salt string
	// Arms are 1 to MaxArms, with names of their own and weights that add up to Buckets. The first is
	// the control.
	Arms []Arm
	Stop StopPolicy
	// Fingerprint stands for all else that the figures depend on: with another one they begin anew.
	Fingerprint string
}

// Arm is one way to serve requests.
type Arm struct {
	Name   string
	Weight int // in hundredths of a percent
}

// StopPolicy says when an arm is stopped.
type StopPolicy struct {
	// Off stops none.
	Off bool
	// Requests is how many the arm must have; 0 means 200.
	Requests int
	// Margin is how far its lowest plausible share of failures must be above the control's highest; 0
	// means 0.02.
	Margin float64
}

// The defaults of StopPolicy.
const (
	DefaultRequests = 200
	DefaultMargin   = 0.02
)

func (p StopPolicy) withDefaults() StopPolicy {
	if p.Requests <= 0 {
		p.Requests = DefaultRequests
	}
	if p.Margin <= 0 {
		p.Margin = DefaultMargin
	}
	return p
}

// Event is an arm that was stopped, or goes on.
type Event struct {
	Time    time.Time `json:"time"`
	Rollout string    `json:"rollout"`
	Arm     string    `json:"arm"`
	// Action is "stop" or "resume", and By "figures" or "operator".
	Action string `json:"action"`
	By     string `json:"by"`
	// Arm's and control's shares of failures at that time.
	Failure Interval `json:"failure"`
	Control Interval `json:"control"`
}

// Rollout is one made ready. It is safe for concurrent use.
type Rollout struct {
	o     Options
	book  *Book
	arms  *table
	state *figures
}

// figures are the counts of a rollout, which outlive its configuration as long as that says the same.
type figures struct {
	mu    sync.Mutex
	since time.Time
	arms  []tally
	pairs PairTally
	diffs DiffTally
	// spoiled are episodes that are left out.
	spoiled *simplelru.LRU[uint64, struct{}]
}

// maxSpoiled is how many are remembered of a rollout.
const maxSpoiled = 16 << 10

// Book has the state of all rollouts of a process: which arms are stopped, the figures, and what has
// happened. One that is made anew by the same name finds it there. It is safe for concurrent use.
type Book struct {
	now func() time.Time
	// told is called with each event; it may be nil.
	told func(Event)

	mu      sync.Mutex
	stopped map[[2]string]Event // by rollout and arm
	figures map[string]*figures
	order   []string // of figures, the oldest first
	events  []Event
	stops   map[[2]string]int // how often
}

// Bounds of a Book.
const (
	maxFigures = 256
	maxEvents  = 100
)

// NewBook makes a Book. told is called with each event, by whoever has made it happen; it and now may
// be nil.
func NewBook(now func() time.Time, told func(Event)) *Book {
	if now == nil {
		now = time.Now
	}
	return &Book{now: now, told: told, stopped: map[[2]string]Event{}, figures: map[string]*figures{}, stops: map[[2]string]int{}}
}

// Open makes a rollout ready. Its figures go on if one of the same name, salt, arms, weights and
// fingerprint was open before; arms that were stopped stay so. The error says what is wrong with o.
func (b *Book) Open(o Options) (*Rollout, error) {
	if o.Salt == "" {
		o.Salt = o.Name
	}
	o.Stop, o.Arms = o.Stop.withDefaults(), slices.Clone(o.Arms)
	if err := o.check(); err != nil {
		return nil, err
	}
	var weights []int
	for _, a := range o.Arms {
		weights = append(weights, a.Weight)
	}
	return &Rollout{o: o, book: b, arms: newTable(weights), state: b.figuresOf(fmt.Sprintf("%q %q %v %q", o.Name, o.Salt, o.Arms, o.Fingerprint), len(o.Arms))}, nil
}

func (o *Options) check() error {
	if o.Name == "" || len(o.Arms) == 0 || len(o.Arms) > MaxArms {
		return fmt.Errorf("rollout %q: it needs a name and 1 to %d arms", o.Name, MaxArms)
	}
	sum := 0
	for i, a := range o.Arms {
		if a.Name == "" || slices.ContainsFunc(o.Arms[:i], func(b Arm) bool { return a.Name == b.Name }) {
			return fmt.Errorf("rollout %q: an arm has no name, or that of another one: %q", o.Name, a.Name)
		}
		if a.Weight < 0 || a.Weight > Buckets {
			return fmt.Errorf("rollout %q: the weight of %q is none: %d", o.Name, a.Name, a.Weight)
		}
		sum += a.Weight
	}
	if sum != Buckets {
		return fmt.Errorf("rollout %q: the weights add up to %d, not %d", o.Name, sum, Buckets)
	}
	return nil
}

func (b *Book) figuresOf(key string, arms int) *figures {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.figures[key]
	if f == nil {
		spoiled, err := simplelru.NewLRU[uint64, struct{}](maxSpoiled, nil)
		if err != nil {
			panic(err) // the size is not positive
		}
		f = &figures{since: b.now(), arms: make([]tally, arms), spoiled: spoiled}
		if b.figures[key] = f; len(b.order) == maxFigures {
			delete(b.figures, b.order[0])
			b.order = b.order[1:]
		}
	} else {
		b.order = slices.DeleteFunc(b.order, func(k string) bool { return k == key })
	}
	b.order = append(b.order, key)
	return f
}

// Name is the rollout's, and Arms are the names of its arms, the control's first.
func (r *Rollout) Name() string { return r.o.Name }

// Arms are the names of the arms, the control's first.
func (r *Rollout) Arms() (names []string) {
	for _, a := range r.o.Arms {
		names = append(names, a.Name)
	}
	return names
}

// ArmName is the name of the arm at a place.
func (r *Rollout) ArmName(place int) string { return r.o.Arms[place].Name }

// Spoil notes that an episode, such as a conversation, has seen another arm's answers, and Spoiled
// reports whether it has. The latest are remembered.
func (r *Rollout) Spoil(episode uint64) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.spoiled.Add(episode, struct{}{})
}

// Spoiled reports whether an episode has seen another arm's answers.
func (r *Rollout) Spoiled(episode uint64) bool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	_, spoiled := r.state.spoiled.Get(episode)
	return spoiled
}

// Share reports whether a unit is among so many hundredths of a percent, by another dice than that for
// arms: which requests are mirrored.
func (r *Rollout) Share(unit string, parts int) bool { return bucket(r.o.Salt+"|mirror", unit) < parts }

// Arm is the place of the arm that a unit belongs to: the control's, 0, if its own is stopped.
func (r *Rollout) Arm(unit string) int {
	arm := int(r.arms[bucket(r.o.Salt, unit)])
	if arm == 0 || r.book.isStopped(r.o.Name, r.o.Arms[arm].Name) {
		return 0
	}
	return arm
}

func (b *Book) isStopped(rollout, arm string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, stopped := b.stopped[[2]string{rollout, arm}]
	return stopped
}

// Record counts a turn of an arm, by its place, and stops the arm if that is due.
func (r *Rollout) Record(arm int, t Turn) {
	s := r.state
	s.mu.Lock()
	s.arms[arm].add(t)
	due := !r.o.Stop.Off && arm > 0 && t.Result == Failed && worse(&s.arms[0], &s.arms[arm], r.o.Stop)
	s.mu.Unlock()
	if due {
		r.set(arm, "stop", "figures")
	}
}

// worse reports whether an arm does worse than the control, beyond doubt and by more than the margin.
func worse(control, arm *tally, p StopPolicy) bool {
	return arm.requests() >= p.Requests && arm.failure().Low > control.failure().High+p.Margin
}

// Stop sends the units of an arm to the control, until Resume or the end of the process; "" is all
// arms but the control. It reports whether there is such an arm.
func (r *Rollout) Stop(arm string) bool {
	places := r.places(arm)
	for _, i := range places {
		r.set(i, "stop", "operator")
	}
	return arm == "" || len(places) > 0
}

// Resume lets an arm have its units again, and begins all figures anew: those that have stopped it
// would do so again, with the first failure behind this.
func (r *Rollout) Resume(arm string) bool {
	places := r.places(arm)
	if arm != "" && len(places) == 0 {
		return false
	}
	s := r.state
	s.mu.Lock()
	var events []Event
	for _, i := range places {
		events = append(events, r.event(i, "resume", "operator"))
	}
	s.since, s.arms = r.book.now(), make([]tally, len(s.arms))
	s.mu.Unlock()
	for _, e := range events {
		r.book.happen(e)
	}
	return true
}

// places are those of the arm of a name, which is not the control; "" is all of them.
func (r *Rollout) places(arm string) (places []int) {
	for i, a := range r.o.Arms {
		if i > 0 && (arm == "" || a.Name == arm) {
			places = append(places, i)
		}
	}
	return places
}

// set stops an arm or lets it go on, if that changes anything.
func (r *Rollout) set(arm int, action, by string) {
	r.state.mu.Lock()
	e := r.event(arm, action, by)
	r.state.mu.Unlock()
	r.book.happen(e)
}

// event says what happens to an arm, with the figures of now, which are locked.
func (r *Rollout) event(arm int, action, by string) Event {
	s := r.state
	return Event{Rollout: r.o.Name, Arm: r.o.Arms[arm].Name, Action: action, By: by, Failure: s.arms[arm].failure(), Control: s.arms[0].failure()}
}

// happen notes an event, and tells of it.
func (b *Book) happen(e Event) {
	b.mu.Lock()
	e.Time = b.now()
	key := [2]string{e.Rollout, e.Arm}
	_, stopped := b.stopped[key]
	if stopped == (e.Action == "stop") {
		b.mu.Unlock()
		return
	}
	if e.Action == "stop" {
		b.stopped[key] = e
		b.stops[key]++
	} else {
		delete(b.stopped, key)
	}
	if b.events = append(b.events, e); len(b.events) > maxEvents {
		b.events = slices.Delete(b.events, 0, 1)
	}
	b.mu.Unlock()
	if b.told != nil {
		b.told(e)
	}
}

// Pair counts a mirrored request beside the one that the client has an answer to.
func (r *Rollout) Pair(live, mirror Answer) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.pairs.Add(live, mirror)
}

// Diff counts what another reading of a text came to. The sample is kept if the kinds are not Same.
func (r *Rollout) Diff(kinds []string, s Sample) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.diffs.Add(kinds, s)
}
