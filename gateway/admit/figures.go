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
	counts   map[subject]*Figure
	aways    int64
	cuts     int64
	said     time.Time // when the log said that the Redis is away
}

type subject struct {
	of   string
	kind limit.Kind
}

// Figure is how many requests limits of one kind, of one kind of scope, have let pass and refused.
type Figure struct {
	Of, Kind          string
	Admitted, Refused int64
}

// Stats are what metrics say of limits.
type Stats struct {
	Figures []Figure
	// Running is how many requests hold something; Away how often the limiter could not be asked, and Cut how many
	// answers were cut.
	Running, Away, Cut int64
}

// count counts a verdict.
func (f *figures) count(s *limit.Set, v *limit.Verdict) {
	f.counting.Lock()
	defer f.counting.Unlock()
	if f.counts == nil {
		f.counts = map[subject]*Figure{}
	}
	limits := s.Limits()
	for i := range limits {
		l := &limits[i]
		at := subject{l.Scope.Of, l.Kind}
		n := f.counts[at]
		if n == nil {
			n = &Figure{Of: l.Scope.Of, Kind: l.Kind.String()}
			f.counts[at] = n
		}
		switch {
		case v.Refusal == nil:
			n.Admitted++
		case v.Refusal.Limit == l:
			n.Refused++
		}
	}
}

// Stats are the figures of all requests so far.
func (s *State) Stats() Stats {
	out := Stats{Running: int64(s.Running())}
	s.counting.Lock()
	defer s.counting.Unlock()
	out.Away, out.Cut = s.aways, s.cuts
	for _, n := range s.counts {
		out.Figures = append(out.Figures, *n)
	}
	slices.SortFunc(out.Figures, func(a, b Figure) int { return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Kind, b.Kind)) })
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
