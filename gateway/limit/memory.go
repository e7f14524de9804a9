package limit

import (
	"context"
	"sync"
	"time"
)

// Memory is a Limiter for one gateway, whose numbers end with its process. [Memory.Seed] says what was spent before.
type Memory struct {
	now func() time.Time

	mu      sync.Mutex
	buckets map[string]*bucket
	running map[string]*running
	budgets map[string]*budget
	known   map[string]int64 // budgets that were seeded, without their windows: when the last one ends, µs; 0 never
	swept   int64            // µs
	sweeps  uint64           // that there were
}

// bucket is what a rate has: its level at a time, in units of so much cost.
type bucket struct{ level, last, cost int64 }

// running are requests at a time: holds that say no more than when they end.
type running struct{ leases }

// budget is what one window of a budget has.
type budget struct {
	leases
	spent, held int64
	end         int64 // of the window, µs; 0 never
}

// NewMemory makes a Memory; now may be nil.
func NewMemory(now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	return &Memory{now: now, buckets: map[string]*bucket{}, running: map[string]*running{}, budgets: map[string]*budget{}, known: map[string]int64{}}
}

// Acquire implements Limiter.
func (m *Memory) Acquire(_ context.Context, s *Set, id string, holds Holds) (*Lease, Verdict, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now().UnixMicro()
	m.sweep(now)
	p := s.at(now)
	h := holds.bounded()
	asked := func(i int) int64 { return h.Hold.of(s.limits[i].Kind) }
	var room [MaxLimits]pair
	pairs, cells := room[:len(s.limits)], m.cells(s, p)
	for i := range s.limits {
		pairs[i] = m.read(s, p, &cells[i], i, now)
	}
	if !s.hasRoom(pairs, asked) {
		return nil, s.judge(pairs, p, now, asked, false), nil
	}
	l := newLease(s.held)
	l.ID, l.set, l.place, l.held, l.used, l.sure = id, s, p, h.Hold.Tokens, h.Used, true
	for i := range s.limits {
		pairs[i] = m.take(l, &cells[i], i, now, h)
	}
	return l, s.judge(pairs, p, now, func(int) int64 { return 0 }, true), nil
}

// read is what a limit has now.
func (m *Memory) read(s *Set, p *place, c *cell, i int, now int64) pair {
	m.find(c, p.keys[i], s.limits[i].Kind)
	switch {
	case c.bucket != nil:
		b, r := c.bucket, &s.rates[i]
		b.level, b.cost = converted(b.level, b.cost, r.cost), r.cost
		b.level, b.last = r.drained(b.level, b.last, now), now
		return pair{b.level}
	case c.running != nil:
		c.running.reap(now)
		return pair{c.running.n}
	case c.budget != nil:
		c.budget.reap(now)
		return pair{c.budget.spent, c.budget.held}
	}
	return pair{}
}

// reap takes away the leases that are over.
func (r *running) reap(now int64) {
	r.expire(now, func(h *hold) { r.remove(h) })
}

// reap lets holds that are over become what was used.
func (b *budget) reap(now int64) {
	b.expire(now, func(h *hold) {
		if h.expired {
			b.remove(h)
			return
		}
		b.held, b.spent = b.held-h.amount, add(b.spent, h.used)
		h.amount, h.expired, h.expires = 0, true, now+grave.Microseconds()
	})
}

// add adds what is bounded.
func add(a, b int64) int64 { return min(max(a+b, 0), 1<<53-1) }

// take has a lease take hold of a limit that has been read.
func (m *Memory) take(l *Lease, c *cell, i int, now int64, h Holds) pair {
	s, kind := l.set, l.set.limits[i].Kind
	switch {
	case kind.IsRate():
		b := m.bucket(c, l.place.keys[i], s.rates[i].cost, now)
		b.level = add(b.level, s.rates[i].units(h.Hold.of(kind)))
		return pair{b.level}
	case kind == Concurrency:
		r := m.runs(c, l.place.keys[i], now)
		r.renew(l.hold(i), now)
		return pair{r.n}
	}
	b := m.budget(c, l.place, i)
	b.put(l.hold(i), h.Hold.of(kind), h.Used.of(kind), now)
	return pair{b.spent, b.held}
}

// bucket is that of a rate, which is made if need be.
func (m *Memory) bucket(c *cell, key string, cost, now int64) *bucket {
	if c.bucket == nil {
		c.bucket = &bucket{last: now, cost: cost}
		m.buckets[key] = c.bucket
	}
	return c.bucket
}

// runs are the requests at a time of a limit.
func (m *Memory) runs(c *cell, key string, now int64) *running {
	if c.running == nil {
		c.running = &running{leases{due: now + longest}}
		m.running[key] = c.running
	}
	return c.running
}

// budget is that of a limit, in the window of a place.
func (m *Memory) budget(c *cell, p *place, i int) *budget {
	if c.budget == nil {
		c.budget = &budget{end: p.ends[i], leases: leases{due: 1 << 53}}
		m.budgets[p.keys[i]] = c.budget
	}
	return c.budget
}

// knows has a hold be one of the budget. One that the budget does not know, since it was forgotten, and made again, expired
// once: it has become what was used when it was renewed last.
func (b *budget) knows(h *hold, used int64) {
	if h.of != nil && h.of != &b.leases {
		h.of.remove(h)
		*h = hold{}
	}
	if h.of == nil && !h.expired {
		*h = hold{used: used, expired: true}
	}
}

// put makes a hold what it is to be from now on.
func (b *budget) put(h *hold, amount, used, now int64) {
	if h.expired { // a new one has not
		b.spent = add(b.spent, -h.used)
	}
	b.held += amount - h.amount
	h.amount, h.used, h.expired = amount, used, false
	b.renew(h, now)
}

// Extend implements Limiter.
func (m *Memory) Extend(_ context.Context, l *Lease, holds Holds, force bool) (Verdict, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.over {
		return Verdict{}, errOver
	}
	now := m.now().UnixMicro()
	s, p := l.set, l.place
	h := holds.bounded()
	var room [MaxLimits]pair
	var more [MaxLimits]int64
	pairs, cells := room[:len(s.limits)], m.cells(s, p)
	for i := range s.limits {
		pairs[i] = m.read(s, p, &cells[i], i, now)
		if kind := s.limits[i].Kind; kind.IsBudget() {
			m.budget(&cells[i], p, i).knows(l.hold(i), l.used.of(kind))
			more[i] = h.Hold.of(kind) - l.hold(i).amount
		}
	}
	v := s.judge(pairs, p, now, func(i int) int64 { return more[i] }, true)
	grow := v.Refusal == nil || force
	for i := range s.limits {
		kind, c := s.limits[i].Kind, &cells[i]
		switch {
		case kind == Tokens && grow:
			m.take(l, c, i, now, Holds{Hold: Amount{Tokens: h.Hold.Tokens - l.held}})
		case kind.IsBudget() && !grow:
			own := l.hold(i)
			c.budget.put(own, max(own.amount, h.Used.of(kind)), h.Used.of(kind), now)
		case !kind.IsRate():
			m.take(l, c, i, now, h)
		}
	}
	if l.used = h.Used; grow {
		l.held = h.Hold.Tokens
	}
	return v, nil
}

// Settle implements Limiter.
func (m *Memory) Settle(_ context.Context, l *Lease, used Amount) error {
	m.finish(l, used.clamp(), false)
	return nil
}

// Release implements Limiter.
func (m *Memory) Release(_ context.Context, l *Lease) error {
	m.finish(l, Amount{}, true)
	return nil
}

// finish ends a lease: used is settled, or with back all is given back that it took.
func (m *Memory) finish(l *Lease, used Amount, back bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	now := m.now().UnixMicro()
	s, p := l.set, l.place
	cells := m.cells(s, p)
	for i := range s.limits {
		kind, c := s.limits[i].Kind, &cells[i]
		m.read(s, p, c, i, now)
		switch {
		case kind == Tokens:
			b := m.bucket(c, p.keys[i], s.rates[i].cost, now)
			b.level = add(b.level, s.rates[i].units(used.Tokens-l.held))
		case kind == Requests && back:
			b := m.bucket(c, p.keys[i], s.rates[i].cost, now)
			b.level = add(b.level, -s.rates[i].cost)
		case kind == Concurrency:
			l.hold(i).end()
		case kind.IsBudget():
			b := m.budget(c, p, i)
			b.knows(l.hold(i), l.used.of(kind))
			b.settle(l.hold(i), used.of(kind))
		}
	}
}

// settle puts what was used in the place of a hold that the budget knows.
func (b *budget) settle(h *hold, used int64) {
	last := h.used // what one that has expired has become
	if !h.expired {
		b.held, last = b.held-h.amount, 0
	}
	h.end()
	b.spent = add(b.spent, used-last)
}

// Seed has the budgets of a set begin with what was spent before, each once: when the process, or the budget, is
// new. The window that follows one which is known begins with nothing. Whoever keeps a ledger calls it before requests are
// weighed against the set; spent says what the ledger has of a limit since its window began. An error is that of
// spent: then nothing was seeded.
func (m *Memory) Seed(s *Set, spent func(l *Limit, from time.Time) (int64, error)) error {
	m.mu.Lock()
	p, owed := m.unseeded(s)
	m.mu.Unlock()
	for i := range owed { // without the lock: the ledger takes its time
		n, err := spent(&s.limits[owed[i].limit], owed[i].from)
		if err != nil {
			return err
		}
		owed[i].spent = n
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range owed {
		if m.budgets[p.keys[o.limit]] == nil { // else somebody was faster
			m.budget(&cell{}, p, o.limit).spent = add(0, o.spent)
		}
	}
	m.know(s, p)
	p.seeded.Store(true)
	return nil
}

// Owes reports whether a set has budgets that [Memory.Seed] would seed.
func (m *Memory) Owes(s *Set) bool {
	if s.at(m.now().UnixMicro()).seeded.Load() { // mostly
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p, list := m.unseeded(s)
	if len(list) == 0 && !p.seeded.Load() {
		m.know(s, p)
		p.seeded.Store(true)
	}
	return !p.seeded.Load()
}

// know notes that the budgets of a set are known, for as long as their numbers are.
func (m *Memory) know(s *Set, p *place) {
	for i := range s.limits {
		if s.limits[i].Kind.IsBudget() {
			m.known[s.names[i]] = p.ends[i]
		}
	}
}

// owed is a budget that is to be seeded.
type owed struct {
	limit int // its place in the set
	from  time.Time
	spent int64
}

// unseeded are the budgets of a set that nothing is known of. The caller has the lock.
func (m *Memory) unseeded(s *Set) (p *place, list []owed) {
	now := m.now()
	if p = s.at(now.UnixMicro()); p.seeded.Load() {
		return p, nil
	}
	for i := range s.limits {
		l := &s.limits[i]
		if !l.Kind.IsBudget() || m.budgets[p.keys[i]] != nil {
			continue
		}
		_, from, _ := l.Window.id(now)
		if end, known := m.known[s.names[i]]; !known || end != from.UnixMicro() { // a clock that was wrong may have left windows out
			list = append(list, owed{limit: i, from: from})
		}
	}
	return p, list
}

// sweep forgets, every minute, what says nothing any more: buckets that are empty, windows that are over.
func (m *Memory) sweep(now int64) {
	if age := now - m.swept; age >= 0 && age < time.Minute.Microseconds() {
		return
	}
	m.swept, m.sweeps = now, m.sweeps+1 // cells are looked up anew
	for key, b := range m.buckets {
		if b.level == 0 || now-b.last > (32*24*time.Hour).Microseconds() {
			delete(m.buckets, key)
		}
	}
	for key, r := range m.running {
		if r.reap(now); r.n == 0 {
			delete(m.running, key)
		}
	}
	for key, b := range m.budgets {
		if b.reap(now); b.end > 0 && now > b.end+kept.Microseconds() {
			delete(m.budgets, key)
		}
	}
	for name, end := range m.known {
		if end > 0 && now > end+kept.Microseconds() {
			delete(m.known, name)
		}
	}
}
