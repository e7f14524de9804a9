package keys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds on what is made at run time.
const (
	MaxKeys    = 100_000
	MaxTeams   = 10_000
	MaxOverlap = 90 * 24 * time.Hour
	// Overlap is for how long a key stays valid that was rotated, where nobody says.
	Overlap = 24 * time.Hour
)

// Manager makes and changes keys and teams at run time. All its methods may be called by many
// goroutines, and by several gateways with one keeper. Errors are an [*Error] or a fault of the keeper.
type Manager struct{ b *Book }

// NewManager makes a manager of the keys in a book.
func NewManager(b *Book) *Manager { return &Manager{b} }

// Error says why keys cannot be changed so.
type Error struct {
	Kind ErrorKind
	// Field is what is wrong, as in JSON; "" for none.
	Field, Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// ErrorKind says what sort of error it is.
type ErrorKind int

// The kinds.
const (
	Invalid  ErrorKind = iota // a value is wrong
	NotFound                  // there is no such key or team
	Taken                     // the name is somebody's, or the team has keys
	Fixed                     // the configuration has it, and is what to change
	Unkept                    // there is no keeper, or the gateway asks for no keys
	Full                      // there are too many
)

// attempts is how often a change is tried that others get in the way of.
const attempts = 5

// ready says why nothing can be changed.
func (m *Manager) ready() error {
	if m.b.o.Keeper == nil {
		return &Error{Unkept, "", "Keys and teams that are made at run time need a store that lasts: set store: {kind: sqlite, path: ./callgate.db}, or kind: postgres, in the configuration."}
	}
	return nil
}

// Create makes a key, and returns its text, which nobody can find out later. Of k its name, team, scope
// and expiry count.
func (m *Manager) Create(ctx context.Context, k Key) (text string, made *Entry, err error) {
	if err := m.ready(); err != nil {
		return "", nil, err
	}
	if !m.b.Required() {
		return "", nil, &Error{Unkept, "", "This gateway asks nobody for a key, so a new one would change nothing: set require_keys: true in the configuration first."}
	}
	if err := m.check(k); err != nil {
		return "", nil, err
	}
	k.Name, k.Team, k.Expires, k.Created = strings.Clone(k.Name), strings.Clone(k.Team), k.Expires.UTC(), m.now()
	text, secret := NewSecret()
	k.Blocked, k.Secrets = false, []Secret{secret}
	err = m.put(ctx, KeyRecord, k.Name, func() (any, int64, error) {
		switch {
		case m.b.Key(k.Name) != nil, m.b.storedKey(k.Name) != nil:
			return nil, 0, &Error{Taken, "name", fmt.Sprintf("There is a key %q already.", k.Name)}
		case m.b.Size() >= MaxKeys:
			return nil, 0, &Error{Full, "", fmt.Sprintf("There are %d keys, and no more may be: delete some that nobody uses.", MaxKeys)}
		}
		return k, 0, m.checkTeam(k.Team)
	})
	if err != nil {
		return "", nil, err
	}
	if made = m.b.storedKey(k.Name); made == nil {
		made = newEntry(k, Stored, 0)
	}
	return text, made, nil
}

func (m *Manager) now() time.Time { return m.b.o.Now().UTC().Truncate(time.Second) }

func (m *Manager) check(k Key) error {
	if problem := CheckName(k.Name); problem != "" {
		return &Error{Invalid, "name", "The field name is wrong: " + Quote(k.Name) + " " + problem + "."}
	}
	if over(k.Expires, m.now()) {
		return &Error{Invalid, "expires", fmt.Sprintf("The field expires is wrong: %s is over; write a time to come, or leave it out.", said(k.Expires))}
	}
	return first(k.Check())
}

// first is the first problem as an error.
func first(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &Error{Invalid, problems[0].At(), "The field " + problems[0].At() + " is wrong: " + problems[0].Say(Quote) + "."}
}

func (m *Manager) checkTeam(name string) error {
	if name == "" || m.b.Team(name) != nil {
		return nil
	}
	return &Error{Invalid, "team", fmt.Sprintf("There is no team %.80q: make it first, or correct the name.", name)}
}

// put makes a record until nobody gets in the way. record returns what it is to be, and the version that
// it takes the place of.
func (m *Manager) put(ctx context.Context, kind Kind, name string, record func() (value any, was int64, err error)) error {
	for n := 1; ; n++ {
		if err := m.b.Load(ctx); err != nil {
			return err
		}
		value, was, err := record()
		if err != nil {
			return err
		}
		if value == nil {
			err = m.b.o.Keeper.DeleteKey(ctx, kind, name, was)
		} else {
			var body []byte
			if body, err = json.Marshal(value); err != nil {
				return err
			}
			err = m.b.o.Keeper.PutKey(ctx, Record{Kind: kind, Name: name, Body: body}, was)
		}
		if err == nil {
			_ = m.b.Load(ctx) // it is done, also where the book learns of it with the next poll only
			return nil
		}
		if !errors.Is(err, ErrConflict) || n == attempts {
			return fmt.Errorf("keys: %w", err)
		}
	}
}

// change changes a key of the store, hidden or not.
func (m *Manager) change(ctx context.Context, name string, change func(k *Key) error) (*Entry, error) {
	if err := m.own(name); err != nil {
		return nil, err
	}
	var changed *Entry
	err := m.put(ctx, KeyRecord, name, func() (any, int64, error) {
		e := m.b.storedKey(name)
		if e == nil {
			return nil, 0, m.unknown(name)
		}
		k := e.Key
		k.Secrets = slices.Clone(k.Secrets)
		err := change(&k)
		changed = newEntry(k, Stored, 0)
		return k, e.version, err
	})
	return changed, err
}

// own says why a key cannot be changed here.
func (m *Manager) own(name string) error {
	if k := m.b.Key(name); k != nil && k.Origin == Configured && m.b.storedKey(name) == nil {
		return &Error{Fixed, "name", fmt.Sprintf("The key %q is in the configuration: change it there.", name)}
	}
	return m.ready()
}

func (m *Manager) unknown(name string) error {
	return &Error{NotFound, "name", fmt.Sprintf("There is no key %.80q.", name)}
}

// Rotate makes a new text for a key, and returns it. The one before stays valid for as long as overlap,
// 0 to MaxOverlap.
func (m *Manager) Rotate(ctx context.Context, name string, overlap time.Duration) (text string, changed *Entry, err error) {
	if overlap < 0 || overlap > MaxOverlap {
		return "", nil, &Error{Invalid, "overlap", fmt.Sprintf("The field overlap is wrong: %v is out of range; it may be from 0s to %.0fh.", overlap, MaxOverlap.Hours())}
	}
	changed, err = m.change(ctx, name, func(k *Key) error {
		now := m.now()
		k.Secrets = slices.DeleteFunc(k.Secrets, func(s Secret) bool { return over(s.Until, now) })
		if len(k.Secrets) >= maxSecrets && overlap > 0 {
			return &Error{Taken, "overlap", fmt.Sprintf("The key %q has %d texts that are still valid: wait until one has expired, or rotate it with overlap 0s, which ends them all.", name, len(k.Secrets))}
		}
		for i := range k.Secrets {
			k.Secrets[i].Until = ends(k.Secrets[i].Until, now.Add(overlap))
		}
		if overlap == 0 {
			k.Secrets = nil
		}
		var s Secret
		text, s = NewSecret()
		k.Secrets = append(k.Secrets, s)
		return nil
	})
	return text, changed, err
}

// Block has a key refused from now on, or taken again. Requests that run may finish.
func (m *Manager) Block(ctx context.Context, name string, blocked bool) (*Entry, error) {
	return m.change(ctx, name, func(k *Key) error { k.Blocked = blocked; return nil })
}

// Edit changes what a key may do. Its name and texts stay. edit is called again if another change got
// in its way, with what that has made of the key.
func (m *Manager) Edit(ctx context.Context, name string, edit func(k *Key) error) (*Entry, error) {
	return m.change(ctx, name, func(k *Key) error {
		was := *k
		if err := edit(k); err != nil {
			return err
		}
		k.Name, k.Secrets, k.Created, k.Blocked = was.Name, was.Secrets, was.Created, was.Blocked
		if !k.Expires.Equal(was.Expires) {
			if err := m.check(*k); err != nil {
				return err
			}
		} else if err := first(k.Check()); err != nil {
			return err
		}
		return m.checkTeam(k.Team)
	})
}

// Delete deletes a key.
func (m *Manager) Delete(ctx context.Context, name string) error {
	if err := m.own(name); err != nil {
		return err
	}
	return m.put(ctx, KeyRecord, name, func() (any, int64, error) {
		e := m.b.storedKey(name)
		if e == nil {
			return nil, 0, m.unknown(name)
		}
		return nil, e.version, nil
	})
}

// CreateTeam makes a team.
func (m *Manager) CreateTeam(ctx context.Context, t Team) (*TeamEntry, error) {
	if problem := CheckName(t.Name); problem != "" {
		return nil, &Error{Invalid, "name", "The field name is wrong: " + Quote(t.Name) + " " + problem + "."}
	}
	if err := first(t.Check()); err != nil {
		return nil, err
	}
	if err := m.ownTeam(t.Name); err != nil {
		return nil, err
	}
	t.Created = m.now()
	err := m.put(ctx, TeamRecord, t.Name, func() (any, int64, error) {
		switch {
		case m.b.storedTeam(t.Name) != nil:
			return nil, 0, &Error{Taken, "name", fmt.Sprintf("There is a team %q already.", t.Name)}
		case len(m.b.Teams()) >= MaxTeams:
			return nil, 0, &Error{Full, "", fmt.Sprintf("There are %d teams, and no more may be.", MaxTeams)}
		}
		return t, 0, nil
	})
	if err != nil {
		return nil, err
	}
	return m.entryOf(t), nil
}

// EditTeam changes what the keys of a team may do. Its name stays. edit is called again if another
// change got in its way, with what that has made of the team.
func (m *Manager) EditTeam(ctx context.Context, name string, edit func(t *Team) error) (*TeamEntry, error) {
	if err := m.ownTeam(name); err != nil {
		return nil, err
	}
	var t Team
	err := m.put(ctx, TeamRecord, name, func() (any, int64, error) {
		e := m.b.storedTeam(name)
		if e == nil {
			return nil, 0, m.unknownTeam(name)
		}
		t = e.Team
		if err := edit(&t); err != nil {
			return nil, 0, err
		}
		t.Name, t.Created = e.Name, e.Created
		return t, e.version, first(t.Check())
	})
	if err != nil {
		return nil, err
	}
	return m.entryOf(t), nil
}

// entryOf is a team that was just stored, with the number of its keys if the book has heard of it.
func (m *Manager) entryOf(t Team) *TeamEntry {
	if e := m.b.Team(t.Name); e != nil && e.Origin == Stored {
		return e
	}
	return &TeamEntry{Team: t, Origin: Stored}
}

// ownTeam says why a team cannot be changed here.
func (m *Manager) ownTeam(name string) error {
	if t := m.b.Team(name); t != nil && t.Origin == Configured && m.b.storedTeam(name) == nil {
		return &Error{Fixed, "name", fmt.Sprintf("The team %q is in the configuration: change it there.", name)}
	}
	return m.ready()
}

func (m *Manager) unknownTeam(name string) error {
	return &Error{NotFound, "name", fmt.Sprintf("There is no team %.80q.", name)}
}

// DeleteTeam deletes a team that has no keys. Keys that another gateway gives it meanwhile are refused
// from then on.
func (m *Manager) DeleteTeam(ctx context.Context, name string) error {
	if err := m.ownTeam(name); err != nil {
		return err
	}
	return m.put(ctx, TeamRecord, name, func() (any, int64, error) {
		e := m.b.storedTeam(name)
		if e == nil {
			return nil, 0, m.unknownTeam(name)
		}
		if t := m.b.Team(name); t != nil && t.Origin == Stored && t.Keys > 0 {
			return nil, 0, &Error{Taken, "name", fmt.Sprintf("The team %q still has keys (%d), which would be refused: delete them or give them another team first.", name, t.Keys)}
		}
		return nil, e.version, nil
	})
}
