package keys

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/callgate/callgate/gateway/limit"
)

// PollTime is how often a book asks its keeper what has changed: a key that was blocked at another
// gateway is refused here after at most that.
const PollTime = 2 * time.Second

// loadTime is how long the keeper may take.
const loadTime = 10 * time.Second

// Options are what a Book is made of.
type Options struct {
	// Keeper has the keys that are made at run time; nil for none.
	Keeper Keeper
	// Now is the time; nil is time.Now.
	Now func() time.Time
	// Poll is in the place of PollTime; 0 is that.
	Poll time.Duration
	// Log may be nil.
	Log *slog.Logger
}

// Book answers whose key a text is. All its methods may be called by many goroutines; what they return
// is shared, and nobody changes it.
type Book struct {
	o     Options
	index atomic.Pointer[index]
	state atomic.Pointer[State]

	refused [len(reasons)]atomic.Uint64

	loading    sync.Mutex // one asks the keeper at a time
	mu         sync.Mutex // of what the index is made of
	configured source
	stored     source
	required   bool

	revision int64 // of stored; loading is its lock
}

// State is how a book does.
type State struct {
	// Loaded is when the keeper has answered last; the zero time where there is none.
	Loaded time.Time
	// Failed is why it did not answer since; nil if it has.
	Failed error
	// Keys and Teams count what there is.
	Keys, Teams int
	// Refused counts the requests that keys did not allow.
	Refused map[Reason]uint64
}

// NewBook makes a book without keys. Load is to be called before it is asked, and Run then.
func NewBook(o Options) *Book {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Poll <= 0 {
		o.Poll = PollTime
	}
	b := &Book{o: o}
	b.index.Store(newIndex(source{}, source{}))
	b.state.Store(&State{})
	return b
}

// Configure puts the keys and teams of a configuration in the place of those of the one before. With
// required a request needs a key although there is none.
func (b *Book) Configure(keys []Key, teams []Team, required bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.configured = source{}
	for _, k := range keys {
		b.configured.keys = append(b.configured.keys, newEntry(k, Configured, 0))
	}
	for _, t := range teams {
		b.configured.teams = append(b.configured.teams, &TeamEntry{Team: t, Origin: Configured})
	}
	b.required = required || len(keys) > 0
	b.rebuild()
}

// rebuild makes the index anew. The caller has the lock.
func (b *Book) rebuild() {
	x := newIndex(b.configured, b.stored)
	x.required = b.required
	for _, k := range x.hidden {
		b.o.Log.Warn("a key that was made at run time is not taken: the configuration has another one with its name; rename that, or delete this", "key", k.Name)
	}
	b.index.Store(x)
}

// Load asks the keeper for what has changed.
func (b *Book) Load(ctx context.Context) error {
	if b.o.Keeper == nil {
		return nil
	}
	b.loading.Lock()
	defer b.loading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	records, revision, err := b.o.Keeper.LoadKeys(ctx, b.revision)
	if err != nil {
		b.state.Store(&State{Loaded: b.state.Load().Loaded, Failed: err})
		return fmt.Errorf("keys: %w", err)
	}
	b.state.Store(&State{Loaded: b.o.Now()})
	if revision == b.revision {
		return nil
	}
	stored := b.read(records)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.revision, b.stored = revision, stored
	b.rebuild()
	return nil
}

// read reads records. One that cannot be read is of a newer version, and is no key here.
func (b *Book) read(records []Record) (out source) {
	for _, r := range records {
		var err error
		switch r.Kind {
		case KeyRecord:
			var k Key
			if err = json.Unmarshal(r.Body, &k); err == nil {
				k.Name = r.Name
				out.keys = append(out.keys, newEntry(k, Stored, r.Version))
			}
		case TeamRecord:
			var t Team
			if err = json.Unmarshal(r.Body, &t); err == nil {
				t.Name = r.Name
				out.teams = append(out.teams, &TeamEntry{Team: t, Origin: Stored, version: r.Version})
			}
		}
		if err != nil {
			b.o.Log.Error("a stored key or team cannot be read and is not taken", "kind", string(r.Kind), "name", r.Name, "error", err)
		}
	}
	return out
}

// Run loads what has changed until ctx ends. While the keeper does not answer, the keys stay as they
// were.
func (b *Book) Run(ctx context.Context) {
	if b.o.Keeper == nil {
		return
	}
	tick := time.NewTicker(b.o.Poll)
	defer tick.Stop()
	for away := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := b.Load(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !away:
			b.o.Log.Error("the store does not say which keys have changed; those known so far stay as they are", "error", err)
		case err == nil && away:
			b.o.Log.Info("the store says again which keys have changed")
		}
		away = err != nil
	}
}

// State is how the book does.
func (b *Book) State() State {
	out, x := *b.state.Load(), b.index.Load()
	out.Keys, out.Teams, out.Refused = len(x.keys), len(x.teams), map[Reason]uint64{}
	for i, r := range reasons {
		out.Refused[r] = b.refused[i].Load()
	}
	return out
}

// Refuse counts a request that its key does not allow. Whoever refuses it calls it.
func (b *Book) Refuse(r Reason) {
	if i := slices.Index(reasons[:], r); i >= 0 {
		b.refused[i].Add(1)
	}
}

// Keeps reports whether keys and teams can be made at run time.
func (b *Book) Keeps() bool { return b != nil && b.o.Keeper != nil }

// Limits are those of a key and of a team that were made at run time; nil where nothing is said. The lists are
// not changed: another pointer is another list.
func (b *Book) Limits(key, team string) (own, teams *[]limit.Spec) {
	x := b.index.Load()
	if k := x.keys[key]; k != nil && k.Origin == Stored && k.Limits != nil {
		own = &k.Limits
	}
	if t := x.teams[team]; t != nil && t.Origin == Stored && t.Limits != nil {
		teams = &t.Limits
	}
	return own, teams
}

// Required reports whether a request needs a key.
func (b *Book) Required() bool { return b.index.Load().required }

// Find is whose key a text is, and may be taken from an address now, which is asked for only where the key may not
// come from everywhere. The team is nil for none. A [*Refusal] says why not.
func (b *Book) Find(text string, from func() netip.Addr) (*Entry, *TeamEntry, *Refusal) {
	x, now := b.index.Load(), b.o.Now()
	c, ok := x.find(text)
	if !ok {
		return nil, nil, &Refusal{Reason: Unknown}
	}
	k := c.key
	switch end := ends(k.Expires, c.until); {
	case k.Blocked:
		return nil, nil, &Refusal{Blocked, k.Name, "The key " + quoted(k.Name) + " is blocked."}
	case over(end, now) && end.Equal(k.Expires):
		return nil, nil, &Refusal{Expired, k.Name, fmt.Sprintf("The key %s expired on %s.", quoted(k.Name), said(end))}
	case over(end, now):
		return nil, nil, &Refusal{Expired, k.Name, fmt.Sprintf("The key %s was replaced by a new one, and this one expired on %s.", quoted(k.Name), said(end))}
	case k.CIDR == nil:
	default:
		if address := from(); !k.mayCome(address) {
			return nil, nil, &Refusal{Address, k.Name, fmt.Sprintf("The key %s may not be used from the address %s.", quoted(k.Name), address.Unmap())}
		}
	}
	t := x.teams[k.Team]
	if k.Team != "" && t == nil {
		return nil, nil, &Refusal{NoTeam, k.Name, fmt.Sprintf("The team %s of the key %s does not exist any more.", quoted(k.Team), quoted(k.Name))}
	}
	return k, t, nil
}

func quoted(name string) string { return fmt.Sprintf("%q", name) }

func said(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Refusal says why a key is not taken.
type Refusal struct {
	Reason Reason
	// Key is its name, "" where nobody knows it.
	Key string
	// Message is one or more sentences for who has the key; "" where it is not known.
	Message string
}

// Reason is why a key is not taken, or does not allow a request.
type Reason string

// The reasons.
const (
	Unknown     Reason = "unknown"
	Expired     Reason = "expired"
	Blocked     Reason = "blocked"
	Address     Reason = "address"
	NoTeam      Reason = "team"
	Model       Reason = "model"
	Tokens      Reason = "max_tokens"
	Passthrough Reason = "passthrough"
)

var reasons = [...]Reason{Unknown, Expired, Blocked, Address, NoTeam, Model, Tokens, Passthrough}

// List returns up to limit keys whose names are behind after, in the order of bytes, and whether more
// follow. Those that are hidden come with the last of them.
func (b *Book) List(after string, limit int) (out []*Entry, more bool) {
	x := b.index.Load()
	at, found := slices.BinarySearch(x.names, after)
	if found {
		at++
	}
	for ; at < len(x.names); at++ {
		if len(out) == limit {
			return out, true
		}
		out = append(out, x.keys[x.names[at]])
	}
	return append(out, x.hidden...), false
}

// Status is a key's state in a word: active, blocked, expired, hidden, or no_team where its team is gone.
func (b *Book) Status(e *Entry) string {
	x := b.index.Load()
	switch {
	case e.Hidden:
		return "hidden"
	case e.Blocked:
		return "blocked"
	case over(e.Expires, b.o.Now()):
		return "expired"
	case e.Team != "" && x.teams[e.Team] == nil:
		return "no_team"
	}
	return "active"
}

// Key is the key with a name; nil if there is none.
func (b *Book) Key(name string) *Entry { return b.index.Load().keys[name] }

// Size is how many keys there are.
func (b *Book) Size() int { return len(b.index.Load().names) }

// Teams returns all teams, in the order of their names.
func (b *Book) Teams() []*TeamEntry {
	x := b.index.Load()
	out := make([]*TeamEntry, 0, len(x.teams)+len(x.hiddenTeams))
	for _, name := range slices.Sorted(maps.Keys(x.teams)) {
		out = append(out, x.teams[name])
	}
	return append(out, x.hiddenTeams...)
}

// Team is the team with a name; nil if there is none.
func (b *Book) Team(name string) *TeamEntry { return b.index.Load().teams[name] }

// storedKey is the key of the store with a name, hidden or not; nil if there is none.
func (b *Book) storedKey(name string) *Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.stored.keys, func(k *Entry) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return b.stored.keys[i]
}

// storedTeam is the team of the store with a name, hidden or not; nil if there is none.
func (b *Book) storedTeam(name string) *TeamEntry {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.stored.teams, func(t *TeamEntry) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return b.stored.teams[i]
}
