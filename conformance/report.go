package conformance

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Report is what came of a run.
type Report struct {
	Target string // its base URL
	Began  time.Time
	Took   time.Duration
	Cases  []*Outcome // in the order of the suite
	Notes  []string   // what was odd, and is no case's fault
}

// Outcome is what came of a case.
type Outcome struct {
	Case    *Case
	Verdict Verdict
	Took    time.Duration
	Result
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

func judged(r *Result, known bool) Verdict {
	switch {
	case r.Skipped != "":
		return Skipped
	case known && len(r.Failures) == 0:
		return KnownPassed
	case known:
		return KnownFailed
	case len(r.Failures) > 0:
		return Failed
	}
	return Passed
}

// Totals count cases by verdict, and exchanges.
type Totals struct {
	Passed      int `json:"passed"`
	Failed      int `json:"failed"`
	KnownFailed int `json:"known_failing"`
	KnownPassed int `json:"known_passing"`
	Skipped     int `json:"skipped"`
	Exchanges   int `json:"exchanges"`
}

func (t *Totals) add(o *Outcome) {
	t.Exchanges += o.Exchanges
	switch o.Verdict {
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

// OK reports whether all cases came out as expected, and at least one was run.
func (r *Report) OK() bool {
	t := r.Totals()
	return t.Ran() > 0 && t.Failed+t.KnownPassed == 0
}

// Totals are those of all cases.
func (r *Report) Totals() Totals {
	var t Totals
	for _, o := range r.Cases {
		t.add(o)
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
	areas := map[string]*AreaTotals{}
	for _, o := range r.Cases {
		name := o.Case.Area()
		if areas[name] == nil {
			areas[name] = &AreaTotals{Area: name}
		}
		areas[name].add(o)
	}
	var out []AreaTotals
	for _, name := range slices.Sorted(maps.Keys(areas)) {
		out = append(out, *areas[name])
	}
	return out
}

// Unexpected are the cases that make the run fail.
func (r *Report) Unexpected() []*Outcome {
	return slices.DeleteFunc(slices.Clone(r.Cases), func(o *Outcome) bool { return !o.Verdict.Unexpected() })
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
