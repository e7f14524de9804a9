package keys

import (
	"crypto/subtle"
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/callgate/callgate/internal/digest"
)

// Origin says where a key or a team is from.
type Origin string

// The origins.
const (
	Configured Origin = "configuration"
	Stored     Origin = "store"
)

// Entry is a key with where it is from. It is not changed.
type Entry struct {
	Key
	Origin Origin
	// Hidden says that the configuration has another key with its name: it is not taken.
	Hidden bool

	networks []netip.Prefix // nil: all
	version  int64
}

// TeamEntry is a team with where it is from. It is not changed.
type TeamEntry struct {
	Team
	Origin Origin
	// Hidden says that the configuration has another team with its name, which applies.
	Hidden bool
	// Keys counts its keys.
	Keys int

	version int64
}

// candidate is a secret that a text may be.
type candidate struct {
	sum   digest.Sum
	until time.Time
	key   *Entry
}

// index is all keys at one time. It is not changed.
type index struct {
	// secrets are found by the beginning of their hash, and then compared as a whole in constant time.
	// Which of them share a beginning tells nothing of their texts.
	secrets map[uint64][]candidate
	keys    map[string]*Entry
	teams   map[string]*TeamEntry
	// hidden are those of the store whose names the configuration has.
	hidden      []*Entry
	hiddenTeams []*TeamEntry
	names       []string // of keys, sorted
	required    bool     // a request needs a key
}

func start(sum digest.Sum) uint64 { return binary.BigEndian.Uint64(sum[:]) }

// newIndex puts the configuration's keys and those of the store together. The configuration's win.
func newIndex(configured, stored source) *index {
	x := &index{secrets: map[uint64][]candidate{}, keys: map[string]*Entry{}, teams: map[string]*TeamEntry{}}
	for _, from := range []source{configured, stored} {
		for _, t := range from.teams {
			if x.teams[t.Name] != nil {
				hidden := *t
				hidden.Hidden = true
				x.hiddenTeams = append(x.hiddenTeams, &hidden)
				continue
			}
			own := *t
			own.Keys = 0
			x.teams[t.Name] = &own
		}
	}
	for _, from := range []source{configured, stored} {
		for _, k := range from.keys {
			if x.keys[k.Name] != nil {
				hidden := *k
				hidden.Hidden = true
				x.hidden = append(x.hidden, &hidden)
				continue
			}
			x.add(k)
		}
	}
	x.names = slices.Sorted(maps.Keys(x.keys))
	return x
}

// add adds a key. A hash that another key has already stays that one's.
func (x *index) add(k *Entry) {
	x.keys[k.Name] = k
	if t := x.teams[k.Team]; t != nil {
		t.Keys++
	}
	for _, s := range k.Secrets {
		sum, ok := digest.Parse(s.Hash)
		if !ok || slices.ContainsFunc(x.secrets[start(sum)], func(c candidate) bool { return c.sum == sum }) {
			continue
		}
		x.secrets[start(sum)] = append(x.secrets[start(sum)], candidate{sum, s.Until, k})
	}
}

// find is the secret that a text is. It costs one SHA-256 and mostly one comparison, however many keys
// there are.
func (x *index) find(text string) (found candidate, ok bool) {
	sum := sumOf(text)
	for _, c := range x.secrets[start(sum)] {
		if subtle.ConstantTimeCompare(sum[:], c.sum[:]) == 1 {
			found, ok = c, true
		}
	}
	return found, ok
}

// source is the keys and teams of one origin.
type source struct {
	keys  []*Entry
	teams []*TeamEntry
}

// newEntry is a key as the book has it.
func newEntry(k Key, origin Origin, version int64) *Entry {
	e := &Entry{Key: k, Origin: origin, version: version}
	for _, text := range k.CIDR {
		if p, problem := ParseNetwork(text); problem == "" {
			e.networks = append(e.networks, p)
		}
	}
	return e
}

// mayCome reports whether a request may come from an address, where the key has networks.
func (e *Entry) mayCome(from netip.Addr) bool {
	from = from.Unmap().WithZone("")
	return slices.ContainsFunc(e.networks, func(p netip.Prefix) bool { return p.Contains(from) })
}
