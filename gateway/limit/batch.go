package limit

import (
	"context"
	"sync"
	"time"
)

// Batches is a Limiter in front of a Shared one that asks the Redis for some requests at once: where a set is used a lot,
// and all its limits have ample room, one lease holds what the requests of the next moment will want, and they take of it here.
// Near a limit, and for a set that is used little, each request asks for itself. It owns a goroutine, which ends with Close.
type Batches struct {
	shared  *Shared
	reserve bool
	wake    chan struct{}
	stop    chan struct{}
	ended   chan struct{}

	mu    sync.Mutex
	awake bool // the goroutine
	pools map[*Set]*pool
	swept int64 // µs
	// closing are the batches that take no more requests, until they are settled.
	closing []*batch
}

const (
	// ahead is how long a batch takes requests, and how long requests are counted to know how large the next one is to be.
	// So what a gateway holds ahead is never more than what the set has used in such a time; and since no use runs out of a
	// rate before it is one, the rate lets pass at most what it has in that time beyond its limit.
	ahead = 200 * time.Millisecond
	// fewest is how many requests a batch is made for, and spare for how many more at a time than there were. No batch has more than most at
	// a time: each is a value on the script's stack, which has room for 8000.
	fewest, spare, most = 4, 8, 1000
	// ample is how many times what a batch holds must be left of a rate or budget; amply that of requests at a time, which it gives back.
	ample, amply = 10, 3
	// tending is how often batches are looked at, at least: a gateway that is killed takes along what was used since. together is for how many
	// at once the Redis is told.
	tending  = 50 * time.Millisecond
	together = 32
	// forgotten is when a set that nobody has used since is forgotten.
	forgotten = time.Minute
)

// pool is what is known of a set.
type pool struct {
	set        *Set
	open       *batch // that takes requests; nil: none
	opening    bool   // somebody asks for the next one
	seen       seen   // by the Redis, last
	this, last period
	running    int64 // requests
}

// period is what was asked for in some time.
type period struct {
	began          int64 // µs
	requests, peak int64 // peak: at a time
	hold           Amount
}

// batch is a lease that requests share. What is held is taken by requests that run, spent by those that have ended, or free. What is
// asked for is free for nobody, and not held before the Redis has said so.
type batch struct {
	pool  *pool
	began int64 // µs
	open  bool
	// telling is had by whoever tells the Redis of it, since a lease is told of by one at a time.
	telling sync.Mutex
	lease   *Lease

	// The lock of all that follows is that of the Batches.
	told int64 // when the Redis was, µs; 0: nobody knows what it has heard
	gone bool  // it is settled
	seen seen  // what limits had when the Redis was told last
	parts
	said           Amount // what the Redis was told of all that was used
	requests       int64  // that may yet come
	slots, running int64
	// floors are what the batch's own requests alone would have left in each rate, since what is free must not run out of it.
	floors []bucket
}

// parts are what becomes of that which a batch holds.
type parts struct {
	held, taken, spent Amount
	asked              Amount // beyond what is held, by those that the Redis has not answered yet
	used               Amount // so far, by those that run
}

// NewBatches makes Batches; without reserve each request asks for itself. The caller closes it.
func NewBatches(s *Shared, reserve bool) *Batches {
	b := newBatches(s)
	b.reserve = reserve
	go b.follow()
	return b
}

// newBatches makes one that the caller tends.
func newBatches(s *Shared) *Batches {
	return &Batches{shared: s, reserve: true, wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}), pools: map[*Set]*pool{}}
}

// Close settles what is open.
func (b *Batches) Close() error {
	close(b.stop)
	<-b.ended
	b.mu.Lock()
	for _, p := range b.pools {
		b.shut(p)
	}
	b.mu.Unlock()
	b.tend()
	return nil
}

// Acquire implements Limiter. A lease is returned also with an error, as Shared does.
func (b *Batches) Acquire(ctx context.Context, s *Set, id string, holds Holds) (*Lease, Verdict, error) {
	if !b.reserve {
		return b.shared.Acquire(ctx, s, id, holds)
	}
	h := holds.bounded().only(s)
	now := b.shared.now()
	b.mu.Lock()
	p := b.pool(s, now)
	p.count(now, h.Hold)
	if o := p.open; o != nil {
		if o.takes(now, h.Hold) {
			l, v := o.take(id, now, h)
			b.mu.Unlock()
			return l, v, nil
		}
		b.shut(p)
	}
	w, some := p.want(now, h)
	p.opening = p.opening || some
	b.mu.Unlock()
	if !some {
		return b.alone(ctx, p, id, h)
	}
	lease, v, found, err := b.shared.acquire(ctx, s, "batch-"+id, w)
	b.mu.Lock()
	p.opening = false
	if err != nil {
		b.mu.Unlock()
		return lease, v, err
	}
	p.seen = found
	if lease == nil { // there was less room than it seemed
		b.mu.Unlock()
		return b.alone(ctx, p, id, h)
	}
	o := &batch{pool: p, began: now, open: true, lease: lease, told: found.at, seen: found, said: w.Used, parts: parts{held: w.Hold},
		requests: w.requests, slots: w.slots, floors: make([]bucket, len(s.limits))}
	p.open = o
	l, v := o.take(id, found.at, h)
	if !b.awake {
		b.awake = true
		b.rouse()
	}
	b.mu.Unlock()
	return l, v, nil
}

// alone asks for one request, again if it is refused what this gateway holds ahead.
func (b *Batches) alone(ctx context.Context, p *pool, id string, h Holds) (l *Lease, v Verdict, err error) {
	for range 2 {
		var found seen
		if l, v, found, err = b.shared.acquire(ctx, p.set, id, ofOne(h)); err != nil {
			return l, v, err
		}
		b.mu.Lock()
		p.seen = found
		b.mu.Unlock()
		if v.Refusal == nil || !b.giveBack(p.set.group) {
			break
		}
	}
	return l, v, nil
}

// giveBack gives back what a group holds ahead, and reports whether that was something.
func (b *Batches) giveBack(group string) bool {
	b.mu.Lock()
	for _, p := range b.pools {
		if p.set.group == group {
			b.shut(p)
		}
	}
	some := false
	for _, o := range b.closing {
		some = some || o.pool.set.group == group && o.surplus()
	}
	b.mu.Unlock()
	if some {
		b.tend()
	}
	return some
}

// shut has the batch of a pool take no more requests. The Redis is told soon.
func (b *Batches) shut(p *pool) {
	if o := p.open; o != nil {
		o.open, p.open = false, nil
		b.closing = append(b.closing, o)
		b.rouse()
	}
}

// pool is that of a set. Those that nobody uses any more are forgotten.
func (b *Batches) pool(s *Set, now int64) *pool {
	if age := now - b.swept; age < 0 || age > forgotten.Microseconds() {
		b.swept = now
		for set, p := range b.pools {
			if p.open == nil && !p.opening && now-p.this.began > forgotten.Microseconds() {
				delete(b.pools, set)
			}
		}
	}
	p := b.pools[s]
	if p == nil {
		p = &pool{set: s}
		b.pools[s] = p
	}
	return p
}

// count counts a request.
func (p *pool) count(now int64, hold Amount) {
	if age := now - p.this.began; age < 0 || age >= ahead.Microseconds() {
		if p.last = (period{}); age >= 0 && age < 2*ahead.Microseconds() {
			p.last = p.this
		}
		p.this = period{began: now}
	}
	p.this.requests++
	p.this.peak = max(p.this.peak, p.running+1)
	p.this.hold = p.this.hold.plus(hold).clamp()
}

// want is what a batch is to hold, and whether there is to be one: if there were some requests in this period or the last,
// nobody asks for one yet, and all limits had ample room a moment ago.
func (p *pool) want(now int64, h Holds) (w want, some bool) {
	like := p.last
	if p.this.requests > like.requests {
		like = p.this
	}
	if age := now - p.seen.at; p.opening || like.requests < fewest || age < 0 || age > time.Second.Microseconds() {
		return w, false
	}
	w = want{Holds: Holds{Hold: like.hold.plus(h.Hold).clamp(), Used: h.Used}, requests: like.requests + 1, slots: min(like.peak+like.peak/4+spare, most)}
	for i := range p.set.limits {
		l := &p.set.limits[i]
		has, n := p.seen.pairs[i], w.of(l.Kind)
		room, times := l.Max-has[0]-has[1], int64(ample)
		switch {
		case l.Kind.IsRate():
			r := &p.set.rates[i]
			room, n = r.full-r.drained(has[0], p.seen.at, now), r.units(n)
		case l.Kind == Concurrency:
			times = amply
		}
		if n > room/times {
			return w, false
		}
	}
	return w, true
}

// free is what is held and nobody has taken.
func (p *parts) free() Amount { return p.held.minus(p.needs()).minus(p.asked) }

// needs is what is taken or spent.
func (p *parts) needs() Amount { return p.taken.plus(p.spent) }

// lacks reports whether requests have more than is held.
func (p *parts) lacks() bool {
	needs := p.needs()
	return needs.Tokens > p.held.Tokens || needs.Nano > p.held.Nano
}

// wasUsed is what was used so far.
func (p *parts) wasUsed() Amount { return p.spent.plus(p.used) }

// takes reports whether a request has room in the batch.
func (o *batch) takes(now int64, hold Amount) bool {
	s, free := o.pool.set, o.free()
	if age := now - o.began; age < 0 || age >= ahead.Microseconds() || o.gone || s.at(now) != o.lease.place {
		return false
	}
	for i := range s.limits {
		room := true
		switch s.limits[i].Kind {
		case Requests:
			room = o.requests > 0
		case Concurrency:
			room = o.running < o.slots
		case Tokens, Quota:
			room = hold.Tokens <= free.Tokens
		case Money:
			room = hold.Nano <= free.Nano
		}
		if !room {
			return false
		}
	}
	return true
}

// take lets a request have its part.
func (o *batch) take(id string, now int64, h Holds) (*Lease, Verdict) {
	l := leaseAtRedis(id, o.pool.set, o.lease.place, atRedis{batch: o})
	l.sure = true
	o.requests--
	o.running++
	o.pool.running++
	o.fill(Requests, 1, now)
	o.change(l, h, now)
	return l, o.verdict(now)
}

// change makes the hold of a request another one.
func (o *batch) change(l *Lease, h Holds, now int64) {
	o.taken, o.used = o.taken.plus(h.Hold).minus(l.own.Hold), o.used.plus(h.Used).minus(l.own.Used)
	o.fill(Tokens, h.Hold.Tokens-l.own.Hold.Tokens, now)
	l.own = h
}

// fill adds to the rates of a kind what the batch's own requests do.
func (o *batch) fill(k Kind, n, now int64) {
	s := o.pool.set
	for i := range s.limits {
		if s.limits[i].Kind == k {
			o.floors[i].level, o.floors[i].last = add(o.floor(i, now), s.rates[i].units(n)), now
		}
	}
}

// floor is what the batch's own requests alone would have left in a rate.
func (o *batch) floor(i int, now int64) int64 {
	f := &o.floors[i]
	return o.pool.set.rates[i].drained(f.level, f.last, now)
}

// verdict is what is left of the limits, without what is free here.
func (o *batch) verdict(now int64) Verdict {
	s, free := o.pool.set, o.free()
	var room [MaxLimits]pair
	pairs := room[:len(s.limits)]
	for i := range s.limits {
		n, k := o.seen.pairs[i], s.limits[i].Kind
		switch k {
		case Requests:
			n[0] = max(s.rates[i].drained(n[0], o.seen.at, now)-s.rates[i].units(o.requests), o.floor(i, now))
		case Tokens:
			n[0] = max(s.rates[i].drained(n[0], o.seen.at, now)-s.rates[i].units(free.Tokens), o.floor(i, now))
		case Concurrency:
			n[0] -= o.slots - o.running
		default:
			n[0], n[1] = n[0]+o.spent.of(k), n[1]-o.spent.of(k)-free.of(k)
		}
		pairs[i] = n
	}
	return s.judge(pairs, o.lease.place, now, func(int) int64 { return 0 }, true)
}

// waiting is how many batches are to be settled yet.
func (b *Batches) waiting() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.closing {
		if o.running == 0 {
			n++
		}
	}
	return n
}

// wants is what the lease of a batch is to have from now on.
func (o *batch) wants(hold Amount, slots int64) want {
	return want{Holds: Holds{Hold: hold, Used: o.wasUsed()}.bounded(), slots: slots}
}

// Settle implements Limiter.
func (b *Batches) Settle(ctx context.Context, l *Lease, used Amount) error {
	if l.batch == nil {
		return b.shared.Settle(ctx, l, used)
	}
	b.leave(l, used.clamp(), 0)
	return nil
}

// Release implements Limiter.
func (b *Batches) Release(ctx context.Context, l *Lease) error {
	if l.batch == nil {
		return b.shared.Release(ctx, l)
	}
	b.leave(l, Amount{}, 1)
	return nil
}

// leave ends a request's part in its batch. One that no model has seen leaves it for another.
func (b *Batches) leave(l *Lease, used Amount, requests int64) {
	used = Holds{Used: used}.only(l.set).Used
	now := b.shared.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	o := l.batch
	o.fill(Requests, -requests, now)
	o.fill(Tokens, used.Tokens-l.own.Hold.Tokens, now)
	o.taken, o.used = o.taken.minus(l.own.Hold), o.used.minus(l.own.Used)
	o.spent = o.spent.plus(used)
	o.requests += requests
	o.running--
	o.pool.running--
}
