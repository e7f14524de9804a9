package answers

import (
	"context"
	"sync"
)

// Flights lets one of several equal requests, the leader, go for an answer while the
// others wait for what it brings. It is safe for concurrent use.
type Flights struct {
	most int // that wait for one leader

	mu      sync.Mutex
	flights map[Name]*Flight
}

// Flight is one way to an answer.
type Flight struct {
	of   *Flights
	name Name
	// over is closed when the flight is: answer is what it brought, nil for nothing.
	over   chan struct{}
	answer *Answer
	// lead holds something when the leader is gone and one of those who wait has to take
	// its place.
	lead chan struct{}

	waiting  int  // by of.mu, as the next
	leadless bool // lead holds something
}

// Outcome is how a wait ended.
type Outcome int

// The outcomes.
const (
	Landed Outcome = iota // with an answer
	Failed                // the leader's answer is none to share
	Lead                  // the leader is gone, and the caller is it now
	Left                  // the caller's context has ended
)

// maxWaiting is how many requests wait for one leader. Each keeps its connection and its
// body for as long; beyond that they are better off on their own.
const maxWaiting = 1024

// NewFlights makes Flights.
func NewFlights() *Flights { return &Flights{most: maxWaiting, flights: map[Name]*Flight{}} }

// Join takes part in the flight to an answer. Who leads calls Land, Fail or Abandon once;
// others call Wait once. Where too many wait already the flight is nil, and the caller
// goes alone.
func (fs *Flights) Join(name Name) (f *Flight, leads bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f = fs.flights[name]
	if f == nil {
		f = &Flight{of: fs, name: name, over: make(chan struct{}), lead: make(chan struct{}, 1)}
		fs.flights[name] = f
		return f, true
	}
	if f.waiting >= fs.most {
		return nil, false
	}
	f.waiting++
	return f, false
}

// Wait waits until the flight is over, the caller has to lead it, or ctx ends.
func (f *Flight) Wait(ctx context.Context) (*Answer, Outcome) {
	select {
	case <-f.over:
		f.stop(false)
		if f.answer == nil {
			return nil, Failed
		}
		return f.answer, Landed
	case <-f.lead:
		f.stop(true)
		return nil, Lead
	case <-ctx.Done():
		f.stop(false)
		return nil, Left
	}
}

// stop ends a wait. The last one to go takes a flight that nobody leads with it.
func (f *Flight) stop(leads bool) {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.waiting--
	if leads {
		f.leadless = false
	}
	if f.waiting == 0 && f.leadless {
		f.remove()
	}
}

// Land gives an answer to all who wait. It must be in the store by then: whoever comes
// next looks there.
func (f *Flight) Land(a *Answer) {
	f.answer = a
	f.end()
}

// Fail lets all who wait go on their own, at once: what the leader found out about its
// answer says little about theirs, and one after the other they would wait without end.
func (f *Flight) Fail() { f.end() }

func (f *Flight) end() {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.remove()
	close(f.over)
}

// Abandon is for a leader that has lost interest, as its client left. One of those who
// wait leads from now on.
func (f *Flight) Abandon() {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.waiting == 0 {
		f.remove()
		return
	}
	f.leadless = true
	f.lead <- struct{}{} // it is empty: whoever leads has taken what was there
}

// remove takes the flight off the list, so that the next request begins another.
func (f *Flight) remove() {
	if f.of.flights[f.name] == f {
		delete(f.of.flights, f.name)
	}
}
