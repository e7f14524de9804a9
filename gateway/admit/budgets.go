package admit

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway/limit"
)

// maxBudgets is how many budgets are known. What is more is left out: a page for people has no room
// for it either.
const maxBudgets = 500

// budgets are how much of each was spent when a request was last weighed against it.
type budgets struct {
	seeing sync.Mutex
	seen   map[budgetKey]*Budget
}

// budgetKey is what tells budgets apart.
type budgetKey struct {
	scope  limit.Scope
	kind   limit.Kind
	window limit.Window
}

// Budget is how much of a budget is spent, as the last request found it: 10⁻⁹ US dollars of
// limit.Money, else tokens. What running requests hold is in Used.
type Budget struct {
	Scope     limit.Scope
	Kind      limit.Kind
	Window    limit.Window
	Used, Max int64
	// Refused says that it had no room for the last request.
	Refused bool
	ends    time.Time // zero: never
	gone    bool      // it is not among those that were seen any more
}

// see notes the state of the budgets in a verdict.
func (b *budgets) see(t *tally, limits []limit.Limit, v *limit.Verdict) {
	if v.Away || !t.hasBudget {
		return
	}
	now := time.Now()
	b.seeing.Lock()
	defer b.seeing.Unlock()
	for i := range v.States {
		st := &v.States[i]
		if st.Limit == nil || !st.Limit.Kind.IsBudget() {
			continue
		}
		var known **Budget
		if i < len(limits) && st.Limit == &limits[i] {
			known = &t.budgets[i]
		}
		b.note(now, st, v.Refusal != nil && v.Refusal.Limit == st.Limit, known)
	}
}

// note keeps how a budget is. known is where that stands, once it was looked up; nil for nowhere. The caller has the lock.
func (b *budgets) note(now time.Time, st *limit.State, refused bool, known **Budget) {
	var seen *Budget
	if known != nil && *known != nil && !(*known).gone {
		seen = *known
	} else if seen = b.find(now, st.Limit); seen == nil {
		return
	} else if known != nil {
		*known = seen
	}
	l := st.Limit
	seen.Used, seen.Max, seen.Refused = st.Used, l.Max, refused
	if l.Window != limit.Total {
		seen.ends = now.Add(st.Reset)
	}
}

// find is where a budget is noted; nil if there is no room. The caller has the lock.
func (b *budgets) find(now time.Time, l *limit.Limit) *Budget {
	key := budgetKey{l.Scope, l.Kind, l.Window}
	seen := b.seen[key]
	if seen == nil && b.room(now) {
		seen = &Budget{Scope: l.Scope, Kind: l.Kind, Window: l.Window}
		b.seen[key] = seen
	}
	return seen
}

// room makes room for another budget, if need be of those that are over. The caller has the lock.
func (b *budgets) room(now time.Time) bool {
	if b.seen == nil {
		b.seen = map[budgetKey]*Budget{}
	}
	if len(b.seen) >= maxBudgets {
		maps.DeleteFunc(b.seen, func(_ budgetKey, old *Budget) bool {
			old.gone = old.over(now)
			return old.gone
		})
	}
	return len(b.seen) < maxBudgets
}

// over reports whether the budget's window has ended, so that it is whole again.
func (b *Budget) over(now time.Time) bool { return !b.ends.IsZero() && !now.Before(b.ends) }

// Budgets are those that requests were weighed against in their windows, in the order of their names.
func (s *State) Budgets() []Budget {
	now := time.Now()
	s.seeing.Lock()
	defer s.seeing.Unlock()
	var out []Budget
	for _, b := range s.seen {
		if !b.over(now) {
			out = append(out, *b)
		}
	}
	slices.SortFunc(out, func(a, b Budget) int { return strings.Compare(a.Scope.String(), b.Scope.String()) })
	return out
}
