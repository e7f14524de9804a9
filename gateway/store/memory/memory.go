package memory

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/internal/mutex"
)

// Store keeps responses and conversations in memory. Methods are those of [store.Store].
type Store struct {
	mutex.Set // Lock and Locked

	o store.Options

	mu      sync.Mutex
	tenants map[string]*tenant
	size    usage
	spare   usage // of it, what can be given up: responses
	evicted uint64
}

// usage is what counts against bounds.
type usage struct{ bytes, entries int64 }

func (u usage) plus(bytes, entries int) usage {
	return usage{u.bytes + int64(bytes), u.entries + int64(entries)}
}

// tenant is what one has.
type tenant struct {
	size, spare   usage // as those of the store
	responses     map[string]*response
	conversations map[string]*conversation
	// items are those of all owners, by id, the one stored last at the end.
	items map[string][]store.Item
	// used has the response that was not used for the longest time in front, which is the
	// one that expires first.
	used *list.List // of *response
}

type response struct {
	store.Response
	expires int64
	place   *list.Element
}

type conversation struct {
	store.Conversation
	items []store.Item
}

// New makes an empty store.
func New(o store.Options) (*Store, error) {
	o, err := o.Complete()
	if err != nil {
		return nil, err
	}
	return &Store{o: o, tenants: map[string]*tenant{}}, nil
}

// Immediate implements [store.Immediate].
func (s *Store) Immediate() {}

// Close implements store.Keeper.
func (s *Store) Close() error { return nil }

// Stats implements store.Keeper.
func (s *Store) Stats(context.Context) (store.Stats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return store.Stats{Entries: s.size.entries, Bytes: s.size.bytes, Evicted: s.evicted}, nil
}

// Sweep implements store.Keeper.
func (s *Store) Sweep(context.Context) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.tenants {
		n += s.sweep(name)
	}
	return n, nil
}

// sweep takes out what has expired of a tenant's.
func (s *Store) sweep(name string) (n int) {
	t, now := s.tenants[name], s.o.Clock()
	for t != nil && t.used.Len() > 0 {
		first := t.oldest()
		if first.expires > now {
			break
		}
		s.remove(name, first)
		n++
	}
	return n
}

func (t *tenant) oldest() *response {
	return t.used.Front().Value.(*response) //nolint:forcetypeassert // there are no others
}

// tenant returns what a tenant has, and makes room for what it will have.
func (s *Store) tenant(name string) *tenant {
	t := s.tenants[name]
	if t == nil {
		t = &tenant{responses: map[string]*response{}, conversations: map[string]*conversation{}, items: map[string][]store.Item{}, used: list.New()}
		s.tenants[name] = t
	}
	return t
}

// count notes that a tenant has more or less, and forgets one that has nothing.
func (s *Store) count(name string, bytes, entries int) {
	t := s.tenants[name]
	t.size, s.size = t.size.plus(bytes, entries), s.size.plus(bytes, entries)
	if t.size == (usage{}) {
		delete(s.tenants, name)
	}
}

// fits reports whether there is room for so much more where every response is given up.
func (s *Store) fits(t *tenant, more usage) bool {
	l := s.o.Limits
	return t.size.bytes-t.spare.bytes+more.bytes <= l.TenantBytes && t.size.entries-t.spare.entries+more.entries <= l.TenantEntries &&
		s.size.bytes-s.spare.bytes+more.bytes <= l.Bytes && s.size.entries-s.spare.entries+more.entries <= l.Entries
}

// room makes room for so much more of a tenant's. Where that cannot be nothing is given up.
func (s *Store) room(name string, bytes, entries int) error {
	l, more := s.o.Limits, usage{int64(bytes), int64(entries)}
	s.sweep(name)
	t := s.tenant(name)
	if !s.fits(t, more) {
		s.count(name, 0, 0)
		return store.ErrFull
	}
	for t.size.bytes+more.bytes > l.TenantBytes || t.size.entries+more.entries > l.TenantEntries {
		if !s.evict(name) {
			return store.ErrFull
		}
		t = s.tenant(name)
	}
	for s.size.bytes+more.bytes > l.Bytes || s.size.entries+more.entries > l.Entries {
		if !s.evict(s.largest()) {
			return store.ErrFull
		}
	}
	s.tenant(name)
	return nil
}

// largest is the tenant with the most bytes that has a response to give up.
func (s *Store) largest() (name string) {
	most := int64(-1)
	for n, t := range s.tenants {
		if t.used.Len() > 0 && (t.size.bytes > most || t.size.bytes == most && n < name) {
			name, most = n, t.size.bytes
		}
	}
	return name
}

// evict takes out a tenant's response that was not used for the longest time.
func (s *Store) evict(name string) bool {
	t := s.tenants[name]
	if t == nil || t.used.Len() == 0 {
		return false
	}
	s.remove(name, t.oldest())
	s.evicted++
	return true
}

func (s *Store) remove(name string, r *response) {
	t := s.tenants[name]
	t.used.Remove(r.place)
	delete(t.responses, r.ID)
	t.forget(r.Input)
	t.forget(r.Output)
	t.spare, s.spare = t.spare.plus(-r.Size(), -1), s.spare.plus(-r.Size(), -1)
	s.count(name, -r.Size(), -1)
}

// index lets items be found by their ids.
func (t *tenant) index(items []store.Item) {
	for _, i := range items {
		t.items[i.ID] = append(t.items[i.ID], i)
	}
}

// indexTogether does so with items that are all forgotten together. An item whose id is new, as
// nearly all are, needs no list of its own: the list is the part of items that it is, without room for more, so
// that a second one of its id has it copied.
func (t *tenant) indexTogether(items []store.Item) {
	for n, i := range items {
		if same := t.items[i.ID]; len(same) > 0 {
			t.items[i.ID] = append(same, i)
		} else {
			t.items[i.ID] = items[n : n+1 : n+1]
		}
	}
}

// forget takes items out of the index. Many may have one id: the list of each id is gone through
// once, and not once an item.
func (t *tenant) forget(items []store.Item) {
	var gone map[string]map[*byte]int // how many times each body, by id
	for _, i := range items {
		switch same := t.items[i.ID]; {
		case len(same) == 0:
			continue
		case len(same) == 1: // as nearly all have
			if start(same[0].Body) == start(i.Body) {
				delete(t.items, i.ID)
			}
			continue
		}
		if gone == nil {
			gone = map[string]map[*byte]int{}
		}
		if gone[i.ID] == nil {
			gone[i.ID] = map[*byte]int{}
		}
		gone[i.ID][start(i.Body)]++
	}
	for id, bodies := range gone {
		kept := slices.DeleteFunc(t.items[id], func(i store.Item) bool {
			body := start(i.Body)
			if bodies[body] == 0 {
				return false
			}
			bodies[body]--
			return true
		})
		if t.items[id] = kept; len(kept) == 0 {
			delete(t.items, id)
		}
	}
}

// start is where a text is in memory, which tells it from others. It is one of told.
func start(text []byte) *byte { return &text[:1][0] }

// told returns items whose bodies can be told from each other by start: those of others, but for
// empty ones, which get a byte of memory of their own.
func told(items []store.Item) []store.Item {
	if !slices.ContainsFunc(items, func(i store.Item) bool { return len(i.Body) == 0 }) {
		return items
	}
	items = slices.Clone(items)
	for n := range items {
		if len(items[n].Body) == 0 {
			items[n].Body = make([]byte, 0, 1)
		}
	}
	return items
}

// live returns a response that has not expired.
func (s *Store) live(tenant, id string) (*response, error) {
	t := s.tenants[tenant]
	if t == nil {
		return nil, store.ErrNotFound
	}
	r := t.responses[id]
	if r == nil || r.expires <= s.o.Clock() {
		return nil, store.ErrNotFound
	}
	return r, nil
}

// conversation returns a conversation.
func (s *Store) conversation(tenant, id string) (*conversation, error) {
	if t := s.tenants[tenant]; t != nil {
		if c := t.conversations[id]; c != nil {
			return c, nil
		}
	}
	return nil, store.ErrNotFound
}

func at(ms int64) time.Time { return time.UnixMilli(ms) }
