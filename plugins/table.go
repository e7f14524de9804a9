package plugins

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// table is what is loaded at a time. It is replaced as a whole, and a session keeps to the
// one that it began with: half of a response is not read by one version of a parser and
// half by the next.
type table struct {
	version uint64 // counts changes
	modules []*module
	byName  map[string]*parser
	// fingerprint is a hash of the modules' code. The order does not count: it decides nothing.
	fingerprint string
	users       atomic.Int64 // sessions, and the host for as long as it is the newest; 0: over
}

// newTable makes a table that the host uses. Of two parsers with one name the first counts,
// see collision.
func newTable(version uint64, modules []*module) *table {
	t := &table{version: version, modules: modules, byName: map[string]*parser{}}
	t.users.Store(1)
	var hashes []string
	for _, m := range modules {
		hashes = append(hashes, m.sha256)
		for name, p := range m.byName {
			if t.byName[name] == nil {
				t.byName[name] = p
			}
		}
	}
	slices.Sort(hashes)
	t.fingerprint = fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(hashes, " "))))
	return t
}

// collision finds a name of a module's parser that another one has too.
func (t *table) collision(m *module) (name, with string, found bool) {
	for _, other := range t.modules {
		if other == m {
			continue
		}
		for name := range m.byName {
			if other.byName[name] != nil {
				return name, other.name, true
			}
		}
	}
	return "", "", false
}

// enter counts a session, unless the table is over already.
func (t *table) enter() bool {
	for {
		n := t.users.Load()
		if n == 0 {
			return false
		}
		if t.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// parsers describes all parsers, those with the highest priority first.
func (t *table) parsers() []Info {
	var infos []Info
	for _, m := range t.modules {
		for _, p := range m.parsers {
			infos = append(infos, p.info())
		}
	}
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Name, b.Name))
	})
	return infos
}
