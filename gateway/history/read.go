package history

import (
	"cmp"
	"slices"
	"time"
)

// Report is what a window holds. It is the reader's own.
type Report struct {
	Window Window
	// Since is when the history began, and Now the end of the window.
	Since, Now time.Time
	Total      Series
	// Targets are those that were asked, in the order of their names.
	Targets []Target
	// Kinds are those of each class that were seen, the most frequent first.
	Kinds [classes][]Kind
	Money []Money
}

// Of are the kinds of a class.
func (r *Report) Of(c Class) []Kind { return r.Kinds[c] }

// Series are the sums of a window, and its steps, the oldest first.
type Series struct {
	Counts
	First, Took Times
	Points      []Point
}

// Point is one step.
type Point struct {
	Counts
	First, Took Times
}

// Times are the durations that half and 95 of 100 stayed below, right to a third; 0 without any.
type Times struct{ P50, P95 time.Duration }

// Target is what a model of a provider did.
type Target struct {
	Provider, Model string
	Series
}

// Kind is how often something was seen.
type Kind struct {
	Name  string
	Count uint64
}

// Read sums up a window that ends now.
func (h *History) Read(w Window) Report {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	r := Report{Window: w, Since: h.since, Now: now, Total: h.total.read(now, w)}
	for key, t := range h.targets {
		if s := t.read(now, w); s.Counts[Requests] > 0 {
			r.Targets = append(r.Targets, Target{key.provider, key.model, s})
		}
	}
	slices.SortFunc(r.Targets, func(a, b Target) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model))
	})
	for c, kinds := range h.kinds {
		for name, t := range kinds {
			if n := t.sum(now, w); n > 0 {
				r.Kinds[c] = append(r.Kinds[c], Kind{name, n})
			}
		}
		slices.SortFunc(r.Kinds[c], func(a, b Kind) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
	}
	for _, p := range h.money {
		if m := p.sum(now, w); m.Spent != 0 || m.SavedPrompts != 0 || m.SavedAnswers != 0 {
			r.Money = append(r.Money, m)
		}
	}
	return r
}

// read sums up a window that ends now.
func (s *series) read(now time.Time, w Window) Series {
	out := Series{Points: make([]Point, w.Steps)}
	var first, took histogram
	ring, last := s.rings[w.ring], w.step(now)
	for i := range out.Points {
		step := last - int64(w.Steps-1-i)
		if len(ring) == 0 {
			continue
		}
		b := &ring[uint64(step)%uint64(len(ring))]
		if b.step != step {
			continue
		}
		out.add(&b.Counts)
		first.add(&b.first)
		took.add(&b.took)
		out.Points[i] = Point{b.Counts, b.first.times(), b.took.times()}
	}
	out.First, out.Took = first.times(), took.times()
	return out
}

func (h *histogram) times() Times { return Times{h.at(0.5), h.at(0.95)} }

// Last are the last requests that were not clean, the newest first: 200, and of those that failed or
// could not be put right the last 50, however many others came since. Entries are shared: nobody
// changes them.
func (h *History) Last() []*Entry {
	h.mu.Lock()
	out := append(h.last.list(), h.worst.list()...)
	h.mu.Unlock()
	slices.SortFunc(out, func(a, b *Entry) int { return cmp.Compare(b.Seq, a.Seq) })
	return slices.Compact(out)
}

// Find is the last of these requests with an id, or the one with a number if that is not 0 (with any id
// if that is ""); nil if there is none.
func (h *History) Find(id string, seq uint64) *Entry {
	for _, e := range h.Last() {
		if (e.ID == id || id == "" && seq != 0) && (seq == 0 || e.Seq == seq) {
			return e
		}
	}
	return nil
}
