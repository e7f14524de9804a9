package admit

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway/limit"
)

// figures count what became of requests.
type figures struct {
	counting sync.Mutex
	counts   map[subject]*limit.Figure
	aways    int64
	cuts     int64
	said     time.Time // when the log said that the Redis is away
}

// subject is what is counted apart: whose limit it is, and of what kind.
type subject struct {
	of   string
	kind limit.Kind
}

// figure is where a limit is counted. The caller has the lock.
func (f *figures) figure(l *limit.Limit) *limit.Figure {
	if f.counts == nil {
		f.counts = map[subject]*limit.Figure{}
	}
	at := subject{l.Scope.Of, l.Kind}
	n := f.counts[at]
	if n == nil {
		n = &limit.Figure{Of: l.Scope.Of, Kind: l.Kind.String()}
		f.counts[at] = n
	}
	return n
}

// count counts a verdict.
func (f *figures) count(t *tally, limits []limit.Limit, v *limit.Verdict) {
	f.counting.Lock()
	defer f.counting.Unlock()
	if v.Away {
		f.aways++
	}
	for i, n := range t.figures {
		switch {
		case v.Refusal == nil:
			n.Admitted++
		case v.Refusal.Limit.Same(&limits[i]): // while the Redis is away it is the gateway's part of that
			n.Refused++
		}
	}
}

// Stats are the figures of all requests so far.
func (s *State) Stats() limit.Stats {
	out := limit.Stats{Running: int64(s.Running())}
	if a, ok := s.limiter.(*limit.Away); ok {
		redis := a.AwayStats()
		out.Redis = &redis
	}
	for _, b := range s.Budgets() {
		out.Budgets = append(out.Budgets, limit.BudgetFigure{Scope: b.Scope, Kind: b.Kind.String(), Window: b.Window, Used: b.Used, Max: b.Max})
	}
	s.counting.Lock()
	defer s.counting.Unlock()
	out.Away, out.Cut = s.aways, s.cuts
	for _, n := range s.counts {
		out.Figures = append(out.Figures, *n)
	}
	slices.SortFunc(out.Figures, func(a, b limit.Figure) int { return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Kind, b.Kind)) })
	return out
}

// quiet is how long the log does not say again that the Redis is away.
const quiet = 10 * time.Second

// away notes that the limiter could not be asked.
func (s *State) away(ctx context.Context, err error) {
	s.counting.Lock()
	s.aways++
	say := time.Since(s.said) > quiet
	if say {
		s.said = time.Now()
	}
	s.counting.Unlock()
	if say {
		s.log.WarnContext(ctx, "limits cannot be looked at", "error", err)
	}
}

// cut notes that an answer was cut.
func (s *State) cut(ctx context.Context, id string, v *limit.Verdict) {
	s.counting.Lock()
	s.cuts++
	s.counting.Unlock()
	s.log.InfoContext(ctx, "answer cut by a budget", "id", id, "scope", v.Refusal.Limit.Scope.String(), "limit", v.Refusal.Limit.Of())
}
