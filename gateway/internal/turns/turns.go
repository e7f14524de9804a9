// Package turns remembers what the turns of conversations have taken so far: since when they run,
// and what upstreams have cost for them. A turn is what a client asks for one message of its user,
// request by request, each with the results of the calls in the answer before.
//
// A request is found by the ids of those calls, which its client gives back: two conversations with
// the same words are two turns. Where ids are not unique either, and two turns cannot be told
// apart, nothing is remembered of both. It would rather forget than take one for another.
package turns

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Bounds of what is remembered: together about 4 MB.
const (
	maxAnswers = 16384          // answers with calls
	maxAge     = 24 * time.Hour // since the answer
	maxLooked  = 4096           // calls of a request that are looked for, the last ones
)

// Book keeps the turns that run. It is safe for concurrent use.
type Book struct {
	now  func() time.Time
	seed maphash.Seed

	mu      sync.Mutex
	answers *simplelru.LRU[uint64, answer]
}

// answer is one with calls, and the turn that goes on behind it; nil if there are several.
type answer struct {
	turn *Turn
	at   time.Time
}

// New makes a Book; now is the clock.
func New(now func() time.Time) *Book {
	answers, err := simplelru.NewLRU[uint64, answer](maxAnswers, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &Book{now: now, seed: maphash.MakeSeed(), answers: answers}
}

// Whose says whose turn a request is of: its tenant, what the client calls the conversation, and
// what its user has said last.
type Whose struct{ Tenant, Session, Said string }

// Turn is what was taken so far. It is safe for concurrent use.
type Turn struct {
	book  *Book
	whose uint64
	began time.Time

	mu    sync.Mutex
	taken Taken
}

// Taken is what a turn has taken: since its first request, and in 10⁻⁹ US dollars what is known of
// the costs of its answers. Unpriced says that there are some of which that is not known.
type Taken struct {
	Time     time.Duration
	Nano     int64
	Unpriced bool
}

// Find returns the turn of a request with the ids of the turn's calls, in their order. One that has
// none, or that nobody remembers, begins now. A call without an id, "", tells nothing.
func (b *Book) Find(w Whose, calls []string) *Turn {
	whose := b.hash(w.Tenant, w.Session, w.Said)
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	last := ""
	for _, id := range slices.Backward(calls[max(0, len(calls)-maxLooked):]) {
		if id == "" {
			continue
		}
		last = cmp.Or(last, id)
		if a, ok := b.answers.Get(b.key(whose, id)); ok && a.turn != nil && now.Sub(a.at) < maxAge {
			return a.turn
		}
	}
	t := &Turn{book: b, whose: whose, began: now}
	if last != "" {
		b.keep(t, last, now)
	}
	return t
}

// Called notes an answer of the turn: the id of its first call, as the client sees it.
func (t *Turn) Called(id string) {
	if id == "" {
		return
	}
	now := t.book.now()
	t.book.mu.Lock()
	defer t.book.mu.Unlock()
	t.book.keep(t, id, now)
}

// keep notes that a turn goes on behind an answer, and forgets what is too old.
func (b *Book) keep(t *Turn, id string, now time.Time) {
	key := b.key(t.whose, id)
	if a, ok := b.answers.Peek(key); ok && a.turn != t && now.Sub(a.at) < maxAge {
		t = nil
	}
	b.answers.Add(key, answer{t, now})
	for {
		if _, oldest, ok := b.answers.GetOldest(); !ok || now.Sub(oldest.at) < maxAge {
			return
		}
		b.answers.RemoveOldest()
	}
}

func (b *Book) key(whose uint64, id string) uint64 {
	return maphash.Comparable(b.seed, struct {
		whose uint64
		id    string
	}{whose, id})
}

func (b *Book) hash(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(b.seed)
	for _, p := range parts {
		maphash.WriteComparable(&h, p)
	}
	return h.Sum64()
}

// Spend adds what an answer has cost, in 10⁻⁹ US dollars. Where nobody knows that, priced is false.
func (t *Turn) Spend(nano int64, priced bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !priced {
		t.taken.Unpriced = true
		return
	}
	t.taken.Nano += nano
}

// Taken is what the turn has taken by now.
func (t *Turn) Taken() Taken {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.taken
	out.Time = t.book.now().Sub(t.began)
	return out
}
