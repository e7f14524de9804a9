package conformance

import (
	"cmp"
	"slices"
	"time"
)

// Report is what came of a run.
type Report struct {
	Target string // its base URL
	Level  Level  // that decides whether the run is well; "" is the last
	Began  time.Time
	Took   time.Duration
	Cases  []*Outcome // in the order of the suite
	Notes  []string   // what was odd, and is no case's fault
}

// Outcome is what came of a case.
type Outcome struct {
	Case *Case
	// Verdict is that of the run's level and those before it. A case that demands nothing up
	// to there is judged too, at its own level, and makes no run fail: it is Beyond.
	Verdict Verdict
	Beyond  bool
	Took    time.Duration
	Result
	known bool
}

// At is the verdict at a level, or "" where the case demands nothing there by itself.
func (o *Outcome) At(l Level) Verdict {
	if !o.Case.demands(l) {
		return ""
	}
	return o.upTo(l)
}

// upTo is the verdict on all that is demanded up to a level.
func (o *Outcome) upTo(l Level) Verdict {
	bad := false
	for _, f := range o.Failures {
		bad = bad || faulty(f.Faults, l)
	}
	switch {
	case o.Skipped != "":
		return Skipped
	case bad && o.known:
		return KnownFailed
	case bad:
		return Failed
	case o.known && len(o.Failures) == 0:
		return KnownPassed
	}
	return Passed
}

// judge gives the verdict of a run at a level.
func (o *Outcome) judge(l Level, known bool) {
	o.known = known
	o.Beyond = !o.Case.Level.within(l)
	if o.Beyond {
		o.Verdict = o.upTo(Own)
		return
	}
	if o.Verdict = o.upTo(l); o.Verdict == Passed && known {
		o.Verdict = KnownPassed
	}
}

// Verdict is an outcome in a word.
type Verdict string

// The verdicts. Failed and KnownPassed are unexpected: they make a run fail.
const (
	Passed      Verdict = "passed"
	Failed      Verdict = "failed"
	KnownFailed Verdict = "known_failing" // it is on the list of known failures
	KnownPassed Verdict = "known_passing" // it is on that list, and passes: it has to be taken off
	Skipped     Verdict = "skipped"       // the target does not claim what it needs
)

// Unexpected reports whether a verdict makes a run fail.
func (v Verdict) Unexpected() bool { return v == Failed || v == KnownPassed }

// Totals count cases by verdict, and exchanges.
type Totals struct {
	Passed      int `json:"passed"`
	Failed      int `json:"failed"`
	KnownFailed int `json:"known_failing"`
	KnownPassed int `json:"known_passing"`
	Skipped     int `json:"skipped"`
	Exchanges   int `json:"exchanges"`
}

func (t *Totals) add(o *Outcome, v Verdict) {
	t.Exchanges += o.Exchanges
	switch v {
	case Passed:
		t.Passed++
	case Failed:
		t.Failed++
	case KnownFailed:
		t.KnownFailed++
	case KnownPassed:
		t.KnownPassed++
	case Skipped:
		t.Skipped++
	}
}

// Ran is how many cases were not skipped.
func (t Totals) Ran() int { return t.Passed + t.Failed + t.KnownFailed + t.KnownPassed }

// level is the run's.
func (r *Report) level() Level {
	if r.Level == "" {
		return Own
	}
	return r.Level
}

// OK reports whether all cases came out as expected at the run's level and those before it,
// and at least one was run.
func (r *Report) OK() bool {
	t := r.Totals()
	return t.Ran() > 0 && t.Failed+t.KnownPassed == 0
}

// Totals are those of all cases that demand something up to the run's level.
func (r *Report) Totals() Totals {
	var t Totals
	for _, o := range r.Cases {
		if !o.Beyond {
			t.add(o, o.Verdict)
		}
	}
	return t
}

// AreaTotals are the totals of an area.
type AreaTotals struct {
	Area string `json:"area"`
	Totals
}

// Areas are the totals of each area, by name.
func (r *Report) Areas() []AreaTotals {
	return r.areas(func(o *Outcome) Verdict {
		if o.Beyond {
			return ""
		}
		return o.Verdict
	})
}

// LevelTotals are the totals of a level: of the cases that demand something there, each with
// what it demands up to there.
type LevelTotals struct {
	Level Level `json:"level"`
	Totals
	Areas []AreaTotals `json:"areas"`
}

// Levels are the totals of each level, the most basic first.
func (r *Report) Levels() []LevelTotals {
	var out []LevelTotals
	for _, l := range Levels() {
		at := func(o *Outcome) Verdict { return o.At(l) }
		t := LevelTotals{Level: l, Areas: r.areas(at)}
		for _, o := range r.Cases {
			if v := at(o); v != "" {
				t.add(o, v)
			}
		}
		out = append(out, t)
	}
	return out
}

// areas are the totals of each area; a case without a verdict is left out.
func (r *Report) areas(verdict func(o *Outcome) Verdict) []AreaTotals {
	areas := map[string]*AreaTotals{}
	for _, o := range r.Cases {
		v, name := verdict(o), o.Case.Area()
		if v == "" {
			continue
		}
		if areas[name] == nil {
			areas[name] = &AreaTotals{Area: name}
		}
		areas[name].add(o, v)
	}
	var out []AreaTotals
	for _, name := range sortedKeys(areas) {
		out = append(out, *areas[name])
	}
	return out
}

// Unexpected are the cases that make the run fail.
func (r *Report) Unexpected() []*Outcome {
	return slices.DeleteFunc(slices.Clone(r.Cases), func(o *Outcome) bool { return o.Beyond || !o.Verdict.Unexpected() })
}

// Reason is why cases were skipped, and how many.
type Reason struct {
	Reason string `json:"reason"`
	Cases  int    `json:"cases"`
}

// Skipped are the reasons for which cases were skipped, the most frequent first.
func (r *Report) Skipped() []Reason {
	counts := map[string]int{}
	for _, o := range r.Cases {
		if o.Verdict == Skipped {
			counts[o.Skipped]++
		}
	}
	var out []Reason
	for reason, n := range counts {
		out = append(out, Reason{reason, n})
	}
	slices.SortFunc(out, func(a, b Reason) int { return cmp.Or(b.Cases-a.Cases, cmp.Compare(a.Reason, b.Reason)) })
	return out
}
