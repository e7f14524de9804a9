package admit

import "github.com/callgate/callgate/gateway/limit"

// tally is where the requests of a set are counted, and what was seen of its budgets. It is looked up once for the set,
// and not for each request.
type tally struct {
	state   *State
	figures []*limit.Figure // by limit
	budgets []*Budget       // by limit; nil: not known yet, or none
	// hasBudget says that there is a limit which is a budget.
	hasBudget bool
}

// tally is that of a set.
func (s *State) tally(set *limit.Set) *tally {
	if t, ok := set.Memo.Load().(*tally); ok && t.state == s {
		return t
	}
	limits := set.Limits()
	t := &tally{state: s, budgets: make([]*Budget, len(limits))}
	s.counting.Lock()
	for i := range limits {
		t.figures = append(t.figures, s.figure(&limits[i]))
		t.hasBudget = t.hasBudget || limits[i].Kind.IsBudget()
	}
	s.counting.Unlock()
	set.Memo.Store(t) // that of who is faster is as good
	return t
}
