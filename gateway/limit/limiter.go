package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Limiter counts. All methods may be called by many goroutines, but those of one lease by one at a
// time. An error says that it could not be asked, or that it did not answer: then nobody knows whether
// it has counted.
type Limiter interface {
	// Acquire takes hold of all limits of a set, or of none: then the verdict is a refusal, and there is no lease.
	// id is the lease's, and must be its own; it is not to come from a client.
	Acquire(ctx context.Context, s *Set, id string, holds Holds) (*Lease, Verdict, error)
	// Extend renews a lease, makes its hold as large as need be, and notes what was used so far. A verdict
	// that refuses says that a budget has no room for that. It is held nevertheless if force is set;
	// else the hold stays, or is what was used so far.
	Extend(ctx context.Context, l *Lease, holds Holds, force bool) (Verdict, error)
	// Settle ends a lease with what was used. To settle again changes nothing.
	Settle(ctx context.Context, l *Lease, used Amount) error
	// Release ends a lease of a request that no model has seen; a rate gets back what it took.
	Release(ctx context.Context, l *Lease) error
}

// Holds are what a request holds, and what it has used so far: at the beginning what its input costs,
// since a request that was sent is not free.
type Holds struct{ Hold, Used Amount }

// bounded has no amount that is below 0 or too large, and holds what is used.
func (h Holds) bounded() Holds {
	return Holds{h.Hold.Most(h.Used).clamp(), h.Used.clamp()}
}

// only is what the limits of a set count of it.
func (h Holds) only(s *Set) Holds {
	tokens, money := s.counts()
	if !tokens {
		h.Hold.Tokens, h.Used.Tokens = 0, 0
	}
	if !money {
		h.Hold.Nano, h.Used.Nano = 0, 0
	}
	return h
}

// Times of leases.
const (
	// Life is how long a lease lives that nobody renews. Renew is how often that is to be done.
	Life  = 60 * time.Second
	Renew = 20 * time.Second
	// grave is how long an expired hold is known, so that one who comes late to settle it does not add
	// to what it has become.
	grave = 10 * time.Minute
	// marked is how long it is known that a lease was settled, or which extension was its last.
	marked = 30 * time.Minute
	// kept is how long the numbers of a window are kept behind its end, for who settles late.
	kept = 48 * time.Hour
)

// Lease is what a request holds.
type Lease struct {
	// ID is the lease's own.
	ID    string
	set   *Set
	place *place
	held  int64  // tokens that rates have taken
	used  Amount // as it was renewed last
	sure  bool   // that it was acquired
	over  bool   // it was settled
	// holds are what it holds of limits in a Memory that are no rates. Of such a lease there is no atRedis.
	holds []hold
	*atRedis
}

// atRedis is what is known of a lease that is counted in a Redis, or was to be.
type atRedis struct {
	slots int64 // requests at a time
	seen  int64 // when it was renewed last, by the Redis's clock, µs
	steps int64 // how often it was to be extended: what the Redis does behind a later step is nothing
	// told is when the Redis was told of its end first without an answer; 0 for never, µs.
	told int64
	// back is how many requests rates get back at its end, below 0 how many they have not heard of, and floors what is left in each rate at least; nil for nothing.
	back   int64
	floors []int64
	// batch is the one that it is part of, with its own hold; nil if it is alone.
	batch *batch
	own   Holds
	// local is the lease of the gateway's own share, in memory, where it was acquired while the Redis was away.
	local  *Lease
	memory *Memory
}

// leaseAtRedis makes a lease of a set at a place.
func leaseAtRedis(id string, s *Set, p *place, at atRedis) *Lease {
	l := &struct {
		Lease
		at atRedis
	}{Lease{ID: id, set: s, place: p}, at}
	l.atRedis = &l.at
	return &l.Lease
}

// floor is what is left at least in a rate when the lease gives back.
func (l *Lease) floor(i int) int64 {
	if l.floors == nil {
		return 0
	}
	return l.floors[i]
}

// Set is what limits the lease.
func (l *Lease) Set() *Set { return l.set }

// pair is what a limit has: of a rate the level of its bucket; of requests at a time their number; of a
// budget what is spent, and what is held.
type pair [2]int64

// State is how much of a limit is used.
type State struct {
	Limit *Limit
	// Used has the holds in it, which are Held.
	Used, Held int64
	// Remaining is never below 0.
	Remaining int64
	// Reset is how long it takes until nothing is used any more, without the requests that run: a bucket's
	// time, or that to the end of the window; 0 for never.
	Reset time.Duration
	// Wait is how long it takes until the request might pass that was asked for, 0 if nobody knows, or never.
	Wait time.Duration
	// refuses says that it has no room.
	refuses bool
	never   bool
}

// Never reports whether the request can never pass, however long it waits.
func (s *State) Never() bool { return s.never }

// Verdict is the answer to who wants to use something.
type Verdict struct {
	// States are those of all limits, in the order of the set. If there is a refusal they are from before it.
	States []State
	// Refusal is the limit that has no room, the one that it takes longest to wait for; nil if all have.
	Refusal *State
	// Cut says that an extension was refused by a budget that has running answers cut.
	Cut bool
	// Away says that the gateway answers for itself, since the Redis is away.
	Away bool

	room *[MaxLimits]State // that the states are in
}

// statesRoom is memory of states that were used.
var statesRoom = sync.Pool{New: func() any { return new([MaxLimits]State) }}

// Free gives back the memory of the states, for another verdict: nobody looks at the verdict any more. Who does not call
// it leaves that to the collector of garbage.
func (v *Verdict) Free() {
	if v.room != nil {
		clear(v.States)
		statesRoom.Put(v.room)
	}
	*v = Verdict{}
}

// ErrAway is a limiter that cannot be asked.
var ErrAway = errors.New("limit: the Redis is away")

// errOver is for a lease that was settled before it was acquired: the two came in the wrong order.
var errOver = errors.New("limit: the lease is over")

// judge makes a verdict of the numbers. asked is what was asked for: by it is known who refuses. For
// an extension it holds how much more is wanted.
func (s *Set) judge(pairs []pair, p *place, now int64, asked func(i int) int64, extension bool) Verdict {
	v := Verdict{room: statesRoom.Get().(*[MaxLimits]State)}
	v.States = v.room[:len(pairs)]
	for i, n := range pairs {
		st := &v.States[i]
		*st = s.state(i, n, p, now, asked(i))
		if extension && !s.limits[i].Kind.IsBudget() {
			st.refuses = false
		}
		if !st.refuses {
			continue
		}
		v.Cut = v.Cut || s.limits[i].Cut
		if r := v.Refusal; r == nil || st.never && !r.never || st.never == r.never && st.Wait > r.Wait {
			v.Refusal = st
		}
	}
	return v
}

// hasRoom reports whether all limits have room for what is asked for.
func (s *Set) hasRoom(pairs []pair, asked func(i int) int64) bool {
	for i, n := range pairs {
		if s.refuses(i, n, asked(i)) {
			return false
		}
	}
	return true
}

// refuses reports whether a limit has no room.
func (s *Set) refuses(i int, n pair, asked int64) bool {
	l := &s.limits[i]
	switch {
	case l.Kind.IsRate():
		r := &s.rates[i]
		return r.units(asked) > r.full-n[0]
	case l.Kind == Concurrency:
		return n[0]+asked > l.Max
	}
	return asked > 0 && n[0]+n[1]+asked > l.Max || l.Max == 0
}

// state is that of one limit.
func (s *Set) state(i int, n pair, p *place, now, asked int64) State {
	l := &s.limits[i]
	st := State{Limit: l, refuses: s.refuses(i, n, asked)}
	switch {
	case l.Kind.IsRate():
		r := &s.rates[i]
		level := n[0]
		room := r.full - level
		want := r.units(asked)
		st.Used, st.Remaining = (level+r.cost-1)/r.cost, max(room, 0)/r.cost
		st.Reset, st.Wait = r.wait(level), r.wait(want-room)
		st.never = want > r.full
	case l.Kind == Concurrency:
		st.Used, st.Held = n[0], n[0]
		st.Remaining = max(l.Max-n[0], 0)
		st.never = l.Max == 0
	default:
		st.Used, st.Held = n[0]+n[1], n[1]
		st.Remaining = max(l.Max-st.Used, 0)
		if end := p.ends[i]; end > 0 {
			st.Reset = time.Duration(max(end-now, 0)) * time.Microsecond
		}
		st.Wait = st.Reset
		st.never = l.Max == 0 || p.ends[i] == 0
	}
	if st.never {
		st.Wait = 0
	}
	return st
}

// Of says what the limit is, for people: "60 requests per 1m", "10 USD per month".
func (l *Limit) Of() string {
	switch l.Kind {
	case Concurrency:
		return fmt.Sprintf("%d requests at a time", l.Max)
	case Money:
		return fmt.Sprintf("%s USD per %s", Dollars(l.Max), l.Window)
	case Quota:
		return fmt.Sprintf("%d tokens per %s", l.Max, l.Window)
	}
	return fmt.Sprintf("%d %s per %s", l.Max, l.Kind, shortly(l.Per))
}
