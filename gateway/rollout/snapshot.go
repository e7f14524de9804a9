package rollout

import "time"

// Snapshot is the state of a rollout, for the operator.
type Snapshot struct {
	Name string `json:"name"`
	// Since is when the figures began: at the start, with the latest change, or when an arm went on.
	Since time.Time     `json:"since"`
	Arms  []ArmSnapshot `json:"arms"`
	Pairs PairTally     `json:"mirror"`
	Diffs DiffTally     `json:"shadow"`
	// Events are what has happened to the arms, the latest last.
	Events []Event `json:"events"`
	// MirrorQueue and ShadowQueue are what the wiring knows of those who work beside requests.
	MirrorQueue PoolStats `json:"mirror_queue"`
	ShadowQueue PoolStats `json:"shadow_queue"`
}

// ArmSnapshot is the state of an arm.
type ArmSnapshot struct {
	Name string `json:"name"`
	// Weight is the share of units in percent by the configuration, and Live what it is now.
	Weight float64 `json:"weight"`
	Live   float64 `json:"live"`
	// Stopped is the event that has stopped it; nil if nothing has. Stops is how often.
	Stopped *Event `json:"stopped,omitempty"`
	Stops   int    `json:"stops"`
	Figures
	// Failure is the share of requests that failed.
	Failure Interval `json:"failure"`
	// Verdict compares it with the control; of that itself it is "control".
	Verdict string `json:"verdict"`
	// Missing is how many requests more the arm needs, and the control, for Verdict to be more than
	// NotEnough.
	Missing int `json:"missing,omitempty"`
}

// The verdicts.
const (
	Control   = "control"
	NotEnough = "not enough data"
	Worse     = "worse"         // the intervals do not overlap
	Better    = "better"        // nor do they here
	Alike     = "no difference" // none that is as large as the margin
)

// Snapshot returns the state as it is now. It is the caller's own.
func (r *Rollout) Snapshot() Snapshot {
	out := Snapshot{Name: r.o.Name, Events: []Event{}}
	b := r.book
	b.mu.Lock()
	for _, e := range b.events {
		if e.Rollout == r.o.Name {
			out.Events = append(out.Events, e)
		}
	}
	left := 0
	for _, a := range r.o.Arms {
		key := [2]string{r.o.Name, a.Name}
		s := ArmSnapshot{Name: a.Name, Weight: percent(a.Weight), Live: percent(a.Weight), Stops: b.stops[key]}
		if e, stopped := b.stopped[key]; stopped {
			s.Stopped, s.Live = &e, 0
			left += a.Weight
		}
		out.Arms = append(out.Arms, s)
	}
	b.mu.Unlock()
	out.Arms[0].Live = percent(r.o.Arms[0].Weight + left)

	f := r.state
	f.mu.Lock()
	defer f.mu.Unlock()
	out.Since, out.Pairs, out.Diffs = f.since, f.pairs, f.diffs.clone()
	for i := range out.Arms {
		a := &out.Arms[i]
		a.Figures, a.Failure = f.arms[i].figures(), f.arms[i].failure()
		if i == 0 {
			a.Verdict = Control
			continue
		}
		a.Verdict, a.Missing = compare(&f.arms[0], &f.arms[i], r.o.Stop.Margin)
	}
	return out
}

func percent(weight int) float64 { return float64(weight) / (Buckets / 100) }

// assumed is the control's share of failures as long as too little is known of it.
const assumed, enoughForRate = 0.02, 50

// compare says what the counts bear out. As long as the intervals overlap, and either has fewer
// requests than it takes to see a difference of the margin, that is nothing.
func compare(control, arm *tally, margin float64) (verdict string, missing int) {
	c, a := control.failure(), arm.failure()
	rate := c.Rate
	if control.requests() < enoughForRate {
		rate = assumed
	}
	other := rate + margin
	if other > 1 {
		other = rate - margin
	}
	need := needed(rate, other)
	few := min(control.requests(), arm.requests())
	switch {
	case few >= enoughForRate && a.Low > c.High:
		return Worse, 0
	case few >= enoughForRate && a.High < c.Low:
		return Better, 0
	case few < need:
		return NotEnough, need - few
	}
	return Alike, 0
}
