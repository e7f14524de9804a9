package limit

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Set is the limits that hold for the requests of a key and a model. It is made once, and does not
// change; requests share it.
type Set struct {
	limits []Limit
	rates  []rate
	names  []string // of what is counted, without the window
	slots  []int    // which of a lease's holds is a limit's; rates have none
	held   int      // how many holds a lease has
	group  string
	now    atomic.Pointer[place]
	// Memo is what whoever has requests weighed against the set keeps with it.
	Memo atomic.Value
}

// MaxLimits is how many limits a request may have.
const MaxLimits = 32

// NewSet makes a set. group is the team, or the key without a team: what a gateway holds ahead for a group is given back
// together. The error names the limit that is at fault.
func NewSet(group string, limits []Limit) (*Set, error) {
	if len(limits) > MaxLimits {
		return nil, fmt.Errorf("%d limits hold for one request; at most %d may", len(limits), MaxLimits)
	}
	s := &Set{limits: limits, group: url.QueryEscape(group)}
	seen := map[string]bool{}
	for i := range limits {
		l := &limits[i]
		if err := l.Check(); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", l.Scope, l.Kind, err)
		}
		r := rate{}
		if s.slots = append(s.slots, s.held); l.Kind.IsRate() {
			r = newRate(l)
		} else {
			s.held++
		}
		name := l.name()
		if seen[name] {
			return nil, fmt.Errorf("%s: there are two limits of %s with the same time", l.Scope, l.Kind)
		}
		seen[name] = true
		s.rates, s.names = append(s.rates, r), append(s.names, name)
	}
	return s, nil
}

// Counts reports whether two limits have the same numbers: they cannot hold for one request together.
func (l *Limit) Counts(as *Limit) bool { return l.name() == as.name() }

// name is what the numbers of a limit are kept under, without the window.
func (l *Limit) name() string {
	name := l.Scope.name() + ":" + l.Kind.String()
	if l.Kind.IsRate() {
		name += fmt.Sprintf(":%d", l.Per.Microseconds())
	}
	if l.Kind.IsBudget() {
		name += ":" + string(l.Window)
	}
	return name
}

// name is what the numbers of a scope are kept under. The team of a key is not in it, and of the models' names neither the order: what was used
// counts also where these have changed.
func (s Scope) name() string {
	models := strings.Split(s.Models, ",")
	slices.Sort(models)
	return s.Of + ":" + url.QueryEscape(s.Name) + ":" + url.QueryEscape(strings.Join(models, ","))
}

// Limits are those of the set. A nil set has none.
func (s *Set) Limits() []Limit {
	if s == nil {
		return nil
	}
	return s.limits
}

// Has reports whether there is a limit of a kind.
func (s *Set) Has(k Kind) bool {
	for i := range s.Limits() {
		if s.limits[i].Kind == k {
			return true
		}
	}
	return false
}

// counts reports whether there are limits of tokens, and of money.
func (s *Set) counts() (tokens, money bool) {
	for i := range s.limits {
		k := s.limits[i].Kind
		tokens, money = tokens || k == Tokens || k == Quota, money || k == Money
	}
	return tokens, money
}

// place is where the numbers of a set are kept at a time: those of budgets in the window's own place.
type place struct {
	keys     []string
	ends     []int64     // of budgets: when their window ends, µs; 0 never
	from, to int64       // µs; the place holds in this time
	seeded   atomic.Bool // its budgets
	cells    atomic.Pointer[cells]
	shared   atomic.Pointer[sharedKeys]
}

// at is the place at a time, in µs.
func (s *Set) at(now int64) *place {
	if p := s.now.Load(); p != nil && p.from <= now && now < p.to {
		return p
	}
	p := &place{from: 0, to: 1 << 53, keys: make([]string, len(s.names)), ends: make([]int64, len(s.names))}
	for i, name := range s.names {
		p.keys[i] = name
		if !s.limits[i].Kind.IsBudget() {
			continue
		}
		id, from, to := s.limits[i].Window.id(time.UnixMicro(now))
		if p.keys[i] = name + ":" + id; to.IsZero() {
			continue
		}
		p.ends[i] = to.UnixMicro()
		p.from, p.to = max(p.from, from.UnixMicro()), min(p.to, to.UnixMicro())
	}
	s.now.Store(p)
	return p
}
