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
}

// bucket is what a rate has: its level at a time, in units of so much cost.
type bucket struct{ level, last, cost int64 }

// running are requests at a time: when their leases end, µs, by their ids.
type running struct {
	leases map[string]int64
	due    int64 // nothing ends before, µs
}

// budget is what one window of a budget has.
type budget struct {
	spent, held int64
	end         int64 // of the window, µs; 0 never
	holds       map[string]hold
	due         int64 // nothing expires before, µs
}

// hold is what a request holds of a budget. An expired one holds nothing, and used was added to what is
// spent; it is known a while longer.
type hold struct {
	amount, used int64
	expires      int64 // µs
	expired      bool
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
	pairs := room[:len(s.limits)]
	for i := range s.limits {
		pairs[i] = m.read(s, p, i, now)
	}
	if !s.hasRoom(pairs, asked) {
		return nil, s.judge(pairs, p, now, asked, false), nil
	}
	for i := range s.limits {
		pairs[i] = m.take(s, p, i, id, now, h)
	}
	v := s.judge(pairs, p, now, func(int) int64 { return 0 }, true)
	return &Lease{ID: id, set: s, place: p, held: h.Hold.Tokens, used: h.Used, sure: true}, v, nil
}

// read is what a limit has now.
func (m *Memory) read(s *Set, p *place, i int, now int64) pair {
	key := p.keys[i]
	switch kind := s.limits[i].Kind; {
	case kind.IsRate():
		if b := m.buckets[key]; b != nil {
			b.level, b.cost = converted(b.level, b.cost, s.rates[i].cost), s.rates[i].cost
			b.level, b.last = s.rates[i].drained(b.level, b.last, now), now
			return pair{b.level}
		}
		return pair{}
	case kind == Concurrency:
		if r := m.running[key]; r != nil {
			r.reap(now)
			return pair{int64(len(r.leases))}
		}
		return pair{}
	}
	b := m.budgets[key]
	if b == nil {
		return pair{}
	}
	b.reap(now)
	return pair{b.spent, b.held}
}

// isDue reports whether something may expire, the first at a time; also if the clock was put back.
func isDue(due, now int64) bool { return due <= now || due > now+longest }

// longest is how far ahead anything expires, in µs.
const longest = int64((Life + grave) / time.Microsecond)

// reap takes away the leases that are over.
func (r *running) reap(now int64) {
	if !isDue(r.due, now) {
		return
	}
	r.due = now + longest
	for id, expires := range r.leases {
		if expires > now+longest {
			expires = now + Life.Microseconds()
			r.leases[id] = expires
		}
		if expires <= now {
			delete(r.leases, id)
			continue
		}
		r.due = min(r.due, expires)
	}
}

// reap lets holds that are over become what was used.
func (b *budget) reap(now int64) {
	if !isDue(b.due, now) {
		return
	}
	b.due = now + longest
	for id, h := range b.holds {
		if h.expires > now+longest {
			h.expires = now + Life.Microseconds()
		}
		if h.expires <= now && h.expired {
			delete(b.holds, id)
			continue
		}
		if h.expires <= now {
			b.held, b.spent = b.held-h.amount, add(b.spent, h.used)
			h.amount, h.expired, h.expires = 0, true, now+grave.Microseconds()
		}
		b.holds[id] = h
		b.due = min(b.due, h.expires)
	}
}

// add adds what is bounded.
func add(a, b int64) int64 { return min(max(a+b, 0), 1<<53-1) }

// take takes hold of a limit that has been read.
func (m *Memory) take(s *Set, p *place, i int, id string, now int64, h Holds) pair {
	key, kind := p.keys[i], s.limits[i].Kind
	switch {
	case kind.IsRate():
		b := m.bucket(key, s.rates[i].cost, now)
		b.level = add(b.level, s.rates[i].units(h.Hold.of(kind)))
		return pair{b.level}
	case kind == Concurrency:
		r := m.running[key]
		if r == nil {
			r = &running{leases: map[string]int64{}, due: now + longest}
			m.running[key] = r
		}
		r.leases[id] = now + Life.Microseconds()
		r.due = min(r.due, r.leases[id])
		return pair{int64(len(r.leases))}
	}
	b := m.budget(key, p.ends[i])
	b.put(id, h.Hold.of(kind), h.Used.of(kind), now)
	return pair{b.spent, b.held}
}

func (m *Memory) bucket(key string, cost, now int64) *bucket {
	b := m.buckets[key]
	if b == nil {
		b = &bucket{last: now, cost: cost}
		m.buckets[key] = b
	}
	return b
}

func (m *Memory) budget(key string, end int64) *budget {
	b := m.budgets[key]
	if b == nil {
		b = &budget{end: end, holds: map[string]hold{}, due: 1 << 53}
		m.budgets[key] = b
	}
	return b
}

// revive has a hold that was renewed before, and is known no more, expire only now: it has become what
// was used then.
func (b *budget) revive(id string, used int64) {
	if _, known := b.holds[id]; !known {
		b.holds[id] = hold{used: used, expired: true}
	}
}

// put makes a hold what it is to be from now on.
func (b *budget) put(id string, amount, used, now int64) {
	h := b.holds[id] // a new one holds nothing
	if h.expired {
		b.spent = add(b.spent, -h.used)
	}
	b.held += amount - h.amount
	h = hold{amount: amount, used: used, expires: now + Life.Microseconds()}
	b.holds[id] = h
	b.due = min(b.due, h.expires)
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
	pairs, more := make([]pair, len(s.limits)), make([]int64, len(s.limits))
	for i := range s.limits {
		pairs[i] = m.read(s, p, i, now)
		if kind := s.limits[i].Kind; kind.IsBudget() {
			m.budget(p.keys[i], p.ends[i]).revive(l.ID, l.used.of(kind))
			more[i] = h.Hold.of(kind) - m.held(p.keys[i], l.ID)
		}
	}
	v := s.judge(pairs, p, now, func(i int) int64 { return more[i] }, true)
	grow := v.Refusal == nil || force
	for i := range s.limits {
		kind := s.limits[i].Kind
		switch {
		case kind == Tokens && grow:
			m.take(s, p, i, l.ID, now, Holds{Hold: Amount{Tokens: h.Hold.Tokens - l.held}})
		case kind.IsBudget() && !grow:
			m.budget(p.keys[i], p.ends[i]).put(l.ID, max(m.held(p.keys[i], l.ID), h.Used.of(kind)), h.Used.of(kind), now)
		case !kind.IsRate():
			m.take(s, p, i, l.ID, now, h)
		}
	}
	if l.used = h.Used; grow {
		l.held = h.Hold.Tokens
	}
	return v, nil
}

// held is what a lease holds of a budget.
func (m *Memory) held(key, id string) int64 {
	if b := m.budgets[key]; b != nil {
		return b.holds[id].amount
	}
	return 0
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

func (m *Memory) finish(l *Lease, used Amount, back bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	now := m.now().UnixMicro()
	s, p := l.set, l.place
	for i := range s.limits {
		kind, key := s.limits[i].Kind, p.keys[i]
		if !kind.IsBudget() || m.budgets[key] != nil {
			m.read(s, p, i, now)
		}
		switch {
		case kind == Tokens:
			b := m.bucket(key, s.rates[i].cost, now)
			b.level = add(b.level, s.rates[i].units(used.Tokens-l.held))
		case kind == Requests && back:
			b := m.bucket(key, s.rates[i].cost, now)
			b.level = add(b.level, -s.rates[i].cost)
		case kind == Concurrency:
			if r := m.running[key]; r != nil {
				delete(r.leases, l.ID)
			}
		case kind.IsBudget():
			m.budget(key, p.ends[i]).settle(l.ID, l.used.of(kind), used.of(kind))
		}
	}
}

// settle puts what was used in the place of a hold. One that nobody knows any more has become what was
// used when it was renewed last.
func (b *budget) settle(id string, last, used int64) {
	if h, known := b.holds[id]; known && !h.expired {
		b.held, last = b.held-h.amount, 0
	} else if known {
		last = h.used
	}
	delete(b.holds, id)
	b.spent = add(b.spent, used-last)
}

// Seed has the budgets of a set begin with what was spent before, each once: when the process, or the budget, is
// new. The next window of one that is known begins with nothing. Whoever keeps a ledger calls it before requests are
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
		if key := p.keys[o.limit]; m.budgets[key] == nil { // else somebody was faster
			m.budget(key, p.ends[o.limit]).spent = add(0, o.spent)
		}
	}
	m.know(s, p)
	p.seeded = true
	return nil
}

// Owes reports whether a set has budgets that [Memory.Seed] would seed.
func (m *Memory) Owes(s *Set) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, list := m.unseeded(s)
	if len(list) == 0 && !p.seeded {
		p.seeded = true
		m.know(s, p)
	}
	return !p.seeded
}

// know notes that the budgets of a set are known, for as long as their numbers are.
func (m *Memory) know(s *Set, p *place) {
	for i := range s.limits {
		if s.limits[i].Kind.IsBudget() {
			m.known[s.names[i]] = max(m.known[s.names[i]], p.ends[i])
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
	if p = s.at(now.UnixMicro()); p.seeded {
		return p, nil
	}
	for i := range s.limits {
		l := &s.limits[i]
		if !l.Kind.IsBudget() || m.budgets[p.keys[i]] != nil {
			continue
		}
		if _, known := m.known[s.names[i]]; !known {
			_, from, _ := l.Window.id(now)
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
	m.swept = now
	for key, b := range m.buckets {
		if b.level == 0 || now-b.last > (32*24*time.Hour).Microseconds() {
			delete(m.buckets, key)
		}
	}
	for key, r := range m.running {
		if r.reap(now); len(r.leases) == 0 {
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
