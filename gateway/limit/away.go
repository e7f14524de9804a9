package limit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Away is a Limiter in front of a Shared one, which it asks by [Batches], for when its Redis is away: then each limit goes by its
// policy, and what is used is kept in a journal, and added when the Redis is back. It owns goroutines, which end with Close.
type Away struct {
	shared *Shared
	ahead  *Batches
	log    *slog.Logger
	stop   chan struct{}
	ended  chan struct{}
	asked  atomic.Bool // somebody has limits: nothing is said to the Redis before

	mu       sync.Mutex
	replicas int64     // gateways, as of when the Redis was last there
	since    time.Time // it is away; zero: it is not
	local    *Memory   // of all absences; nil before the first
	sets     map[*Set]*Set
	known    amounts // of budgets: what is used
	told     amounts // of budgets: what of that which local has, the Redis has been told
	journal  []entry
	lost     int64
}

// entry is a lease that is to be settled, or released.
type entry struct {
	lease   *Lease
	used    Amount
	release bool
}

// amounts are something of budgets, by the key of the window. They are bounded: others make room.
type amounts map[string]int64

// set sets that of a key.
func (a amounts) set(key string, n int64) {
	if _, ok := a[key]; !ok && len(a) >= maxKnown {
		for one := range a {
			delete(a, one)
			break
		}
	}
	a[key] = n
}

// Bounds of what is kept for an absence.
const (
	maxJournal = 100_000
	maxKnown   = 10_000
	// Spared is how long budgets have a share while the Redis is away, if nobody says otherwise; then they are closed.
	Spared = 30 * time.Second
	// probe is how often a Redis that is away is asked whether it is back, and beat how often the gateways are counted.
	probe = 250 * time.Millisecond
	beat  = 5 * time.Second
)

// NewAway makes an Away; log may be nil. reserve says that its Batches may ask for several requests at once. The caller closes it.
func NewAway(s *Shared, reserve bool, log *slog.Logger) *Away {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s.log = log
	a := &Away{shared: s, ahead: NewBatches(s, reserve), log: log, stop: make(chan struct{}), ended: make(chan struct{}), replicas: 1, known: amounts{}, told: amounts{}}
	go a.follow()
	return a
}

// Close ends the goroutines, behind a last attempt to settle all that is to be settled.
func (a *Away) Close() error {
	err := a.ahead.Close()
	close(a.stop)
	<-a.ended
	return err
}

// AwayStats is how the Redis is.
type AwayStats struct {
	Up       bool
	Replicas int64
	// Journal is how many requests, or batches of them, are to be settled when it is back; Lost how many could not be kept.
	Journal int
	Lost    int64
	// Unsure is how many ends of requests were told again so late that the Redis could not say whether it had heard of them.
	Unsure int64
}

// AwayStats says how the Redis is, for metrics.
func (a *Away) AwayStats() AwayStats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := AwayStats{Up: a.since.IsZero(), Replicas: a.replicas, Journal: len(a.journal), Lost: a.lost, Unsure: a.shared.unsure.Load()}
	if !s.Up { // else they are in a moment
		s.Journal += a.ahead.waiting()
	}
	return s
}

// follow counts the gateways, sees when the Redis is back, and writes the journal.
func (a *Away) follow() {
	defer close(a.ended)
	for last := (time.Time{}); ; {
		select {
		case <-a.stop:
			a.write(2 * time.Second)
			return
		case <-time.After(probe):
		}
		if !a.asked.Load() || a.isUp() && time.Since(last) < beat {
			a.write(time.Second)
			continue
		}
		last = time.Now()
		a.beat()
	}
}

func (a *Away) beat() {
	ctx, cancel := context.WithTimeout(context.Background(), probe)
	defer cancel()
	n, err := a.shared.beat(ctx)
	if err != nil {
		a.leaves(err)
		return
	}
	a.mu.Lock()
	back := !a.since.IsZero()
	a.replicas, a.since, a.sets = max(n, 1), time.Time{}, nil
	a.mu.Unlock()
	if back {
		a.log.Info("limits: the Redis is back", "gateways", n)
	}
	a.write(time.Second)
}

func (a *Away) isUp() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.since.IsZero()
}

// leaves notes that the Redis is away. What this gateway counts for itself goes on where it was at the end of the absence before: a Redis that
// comes and goes does not give it a share anew each time.
func (a *Away) leaves(err error) {
	a.mu.Lock()
	first := a.since.IsZero()
	if first {
		a.since, a.sets = time.Now(), map[*Set]*Set{}
		if a.local == nil {
			a.local = NewMemory(nil)
		}
	}
	a.mu.Unlock()
	if first {
		a.log.Warn("limits: the Redis is away", "error", err)
	}
}

// write settles what is in the journal, as far as it goes.
func (a *Away) write(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for {
		a.mu.Lock()
		if len(a.journal) == 0 {
			a.mu.Unlock()
			return
		}
		e := a.journal[0]
		a.mu.Unlock()
		var err error
		if e.release {
			err = a.shared.Release(ctx, e.lease)
		} else {
			err = a.shared.Settle(ctx, e.lease, e.used)
		}
		if err != nil {
			a.leaves(err)
			return
		}
		a.mu.Lock()
		a.journal = a.journal[1:] // others add at its end only
		a.tells(&e)
		a.mu.Unlock()
	}
}

// tells notes what the Redis knows from now on of what was counted here. The caller has the lock.
func (a *Away) tells(e *entry) {
	l := e.lease
	if l.local == nil {
		return
	}
	for i := range l.set.limits {
		if k := l.set.limits[i].Kind; k.IsBudget() {
			key, n := l.place.keys[i], e.used.clamp().of(k)
			a.known.set(key, a.known[key]+n)
			a.told.set(key, a.told[key]+n)
		}
	}
}

// keep puts a lease into the journal.
func (a *Away) keep(e entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.journal) >= maxJournal {
		a.lost++
		return
	}
	a.journal = append(a.journal, e)
}

// gone reports whether an error says that the Redis is away, and not the client.
func gone(ctx context.Context, err error) bool {
	return errors.Is(err, ErrAway) && !errors.Is(ctx.Err(), context.Canceled)
}

// Acquire implements Limiter.
func (a *Away) Acquire(ctx context.Context, s *Set, id string, holds Holds) (*Lease, Verdict, error) {
	a.asked.Store(true)
	if a.isUp() {
		l, v, err := a.ahead.Acquire(ctx, s, id, holds)
		switch {
		case err == nil:
			a.learn(s, &v)
			return l, v, nil
		case l != nil: // it may be held
			a.keep(entry{lease: l, release: true})
		}
		if !gone(ctx, err) {
			return nil, v, err
		}
		a.leaves(err)
		id += "+" // the other one is released
	}
	return a.alone(ctx, s, id, holds)
}

// learn keeps what is used of budgets, for an absence.
func (a *Away) learn(s *Set, v *Verdict) {
	for i := range v.States {
		if !s.limits[i].Kind.IsBudget() {
			continue
		}
		key := s.at(a.shared.now()).keys[i]
		a.mu.Lock()
		a.known.set(key, v.States[i].Used)
		a.mu.Unlock()
	}
}

// alone answers without the Redis.
func (a *Away) alone(ctx context.Context, s *Set, id string, holds Holds) (*Lease, Verdict, error) {
	a.mu.Lock()
	if a.since.IsZero() { // it came back meanwhile
		a.mu.Unlock()
		return a.ahead.Acquire(ctx, s, id, holds)
	}
	away, local, own := time.Since(a.since), a.local, a.sets[s]
	if own == nil {
		own = a.share(s)
		if len(a.sets) >= maxKnown { // clients choose the names of models; a share that is made again is the same one
			clear(a.sets)
		}
		a.sets[s] = own
	}
	a.mu.Unlock()
	for i := range s.limits {
		if l := &s.limits[i]; l.Away == Closed || l.Away == ByKind && l.Kind.IsBudget() && away > Spared {
			st := State{Limit: l}
			return nil, Verdict{States: []State{st}, Refusal: &st, Away: true}, nil
		}
	}
	lease, v, err := local.Acquire(ctx, own, id, holds)
	v.Away = true
	if v.Refusal != nil || err != nil {
		return nil, v, err
	}
	return leaseAtRedis(id, s, s.at(a.shared.now()), atRedis{back: -1, local: lease, memory: local}), v, nil
}

// share is this gateway's part of the limits of a set. What it has used of its part already, the Redis may have been told since: then that is
// no part of it any more, and of what is left.
func (a *Away) share(s *Set) *Set {
	var limits []Limit
	p := s.at(a.shared.now())
	for i := range s.limits {
		l := s.limits[i]
		if l.Away == Open {
			continue
		}
		if l.Kind.IsBudget() {
			l.Max = min(max(l.Max-a.known[p.keys[i]], 0)/a.replicas+a.told[p.keys[i]], MaxAmount)
		} else {
			l.Max = max(l.Max/a.replicas, 1)
			if l.Burst > 0 { // 0 would be all of them
				l.Burst = max(l.Burst/a.replicas, 1)
			}
		}
		limits = append(limits, l)
	}
	out, err := NewSet(s.group, limits)
	if err != nil { // they are smaller than those that were good
		return &Set{}
	}
	return out
}

// Extend implements Limiter. A lease that the Redis cannot be told of grows nevertheless: what its
// request uses is settled when it is back.
func (a *Away) Extend(ctx context.Context, l *Lease, holds Holds, force bool) (Verdict, error) {
	if l.local != nil {
		v, err := l.memory.Extend(ctx, l.local, holds, force)
		if v.Away = true; err == nil && a.isUp() { // it is back: from now on it counts what runs
			_, err := a.shared.Extend(ctx, l, holds, true)
			if gone(ctx, err) {
				a.leaves(err)
			}
		}
		return v, err
	}
	if !a.isUp() {
		return Verdict{Away: true}, nil
	}
	v, err := a.ahead.Extend(ctx, l, holds, force)
	if err != nil && gone(ctx, err) {
		a.leaves(err)
		return Verdict{Away: true}, nil
	}
	return v, err
}

// Settle implements Limiter.
func (a *Away) Settle(ctx context.Context, l *Lease, used Amount) error {
	return a.finish(ctx, entry{lease: l, used: used})
}

// Release implements Limiter.
func (a *Away) Release(ctx context.Context, l *Lease) error {
	return a.finish(ctx, entry{lease: l, release: true})
}

func (a *Away) finish(ctx context.Context, e entry) error {
	l := e.lease
	if l.local != nil && !l.local.over {
		if !e.release {
			_ = l.memory.Settle(ctx, l.local, e.used) // it cannot fail
		} else {
			_ = l.memory.Release(ctx, l.local) // as little
			if l.steps == 0 {
				return nil // the Redis has never heard of it
			}
			l.back, l.sure = 0, l.seen > 0
		}
		a.keep(e)
		return nil
	}
	if l.over || l.local != nil {
		return nil
	}
	if l.batch != nil { // of which the Redis is told later
		if e.release {
			return a.ahead.Release(ctx, l)
		}
		return a.ahead.Settle(ctx, l, e.used)
	}
	if a.isUp() {
		var err error
		if e.release {
			err = a.shared.Release(ctx, l)
		} else {
			err = a.shared.Settle(ctx, l, e.used)
		}
		if err == nil {
			return nil
		}
		if gone(context.Background(), err) {
			a.leaves(err)
		}
	}
	a.keep(e)
	return nil
}
