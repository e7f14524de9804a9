package history

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/content"
	"github.com/callgate/callgate/gateway/internal/telemetry"
	"github.com/callgate/callgate/gateway/observe"
	"github.com/callgate/callgate/internal/plaintext"
)

// Entry is a request that was not clean: what was done for it, and nothing of what it says but where
// the operator has asked for that.
type Entry struct {
	// Seq tells entries apart, since clients may give one id twice.
	Seq   uint64
	ID    string
	At    time.Time // its end
	Marks Mark
	// Route, Found and Prefix are how the target was found, and Provider and Model the last one.
	Route, Found, Prefix, Provider, Model string
	Protocol, Tenant                      string
	Stream                                bool
	Status                                int
	Code                                  string // "" if it ended well
	Took, FirstToken, Overhead            time.Duration
	Attempts                              []Attempt
	// Repairs are nothing but noted where the target's mode is to report: Changed is false then.
	Changed         bool
	Repairs, Faults []Kind
	Parsers         []string
	Warnings        []string
	Calls, Native   int
	Guard           *Guard
	Corrections     []Correction
	Structured      *gateway.Structured // without its message
	Run             *Run
	Usage           gateway.Usage
	Saved           string             // as the response header says it
	Recording       *content.Recording // what was said, where that is kept
	Paid            Money
}

// Attempt is one request to an upstream.
type Attempt struct {
	Provider, Model, Reason, Outcome string
	Wait, Took, RetryAfter           time.Duration
}

// Guard is the verdict on an answer.
type Guard struct {
	Ghost, Contradiction bool
	Score                float64
	Signals              []string
	Tool                 string
}

// Correction is what the model was told to do better.
type Correction struct{ Tool, Reason string }

// Run is what the gateway did with tools of its own.
type Run struct {
	Rounds int
	Stop   string
	Calls  []RunCall
}

// RunCall is a call that the gateway made.
type RunCall struct {
	Server, Tool, Outcome string
	Attempts              int
	Took                  time.Duration
}

// Bounds on one entry.
const (
	maxItems = 24
	maxText  = 200 // bytes
)

// name is a copy of a text that somebody else has chosen, short enough to be kept. The text itself may
// be a part of a large body, which would be kept with it. Equal names have one copy.
func name(s string) string { return unique.Make(telemetry.Text(s, maxName)).Value() }

// short is name without a copy, of what is short already.
func short(s string) string {
	if len(s) <= maxName {
		return s
	}
	return name(s)
}

// words is name for what may be longer.
func words(s string) string {
	if len(s) > maxText {
		return plaintext.Excerpt(strings.ToValidUTF8(s[:maxText+1], "?"), maxText)
	}
	return unique.Make(strings.ToValidUTF8(s, "?")).Value()
}

func entryOf(r *gateway.Record, j *judgement, now time.Time) *Entry {
	e := &Entry{ID: strings.Clone(telemetry.Text(r.ID, 128)), At: now, Marks: j.marks, Route: name(r.Route), Protocol: name(r.Protocol),
		Tenant: name(r.Tenant), Stream: r.Stream, Status: r.Status, Code: name(telemetry.ErrorType(r)), Took: r.Took}
	e.Recording = r.Recording
	s := r.Summary // there is one, or nothing would be marked but a failure
	if s == nil {
		return e
	}
	e.Provider, e.Model = name(s.Provider), name(s.Model)
	e.Found, e.Prefix = words(observe.RouteText(s)), words(observe.PrefixText(s))
	e.FirstToken, e.Overhead, e.Changed, e.Usage = s.FirstToken, s.Overhead, s.Changed, s.Usage
	e.Calls, e.Native = s.Calls, s.Native
	e.Attempts = make([]Attempt, 0, min(len(s.Attempts), maxItems))
	for _, a := range head(s.Attempts) {
		e.Attempts = append(e.Attempts, Attempt{name(a.Provider), name(a.Model), string(a.Reason), name(a.Outcome), a.Wait, a.Took, a.RetryAfter})
	}
	e.Repairs, e.Faults = kindsOf(s.Repairs), kindsOf(s.Faults)
	e.Parsers, e.Warnings = texts(s.Parsers), texts(s.Warnings)
	if v := s.Guard; v != nil && (v.Ghost || v.Contradiction) {
		e.Guard = &Guard{v.Ghost, v.Contradiction, v.Score, texts(slices.Collect(v.For())), name(v.Tool)}
	}
	for _, c := range head(s.Corrections) {
		e.Corrections = append(e.Corrections, Correction{name(c.Tool), name(c.Reason)})
	}
	if o := s.Structured; o != nil {
		e.Structured = &gateway.Structured{Result: o.Result, Class: name(o.Class), Path: words(o.Path)}
	}
	if s.Bill != nil {
		e.Saved = words(s.Bill.SavedText())
	}
	e.Run = runOf(s.ToolRun)
	return e
}

func runOf(t *gateway.ToolRun) *Run {
	if t == nil || len(t.Calls) == 0 {
		return nil
	}
	run := &Run{Rounds: t.Rounds, Stop: string(t.Stop)}
	for _, c := range head(t.Calls) {
		run.Calls = append(run.Calls, RunCall{name(c.Server), name(c.Tool), name(c.Outcome), c.Attempts, c.Took})
	}
	return run
}

// head is the beginning of a list, as long as may be kept.
func head[T any](list []T) []T { return list[:min(len(list), maxItems)] }

func texts(list []string) (out []string) {
	for _, s := range head(list) {
		out = append(out, words(s))
	}
	return out
}

func kindsOf(counts map[string]int) (out []Kind) {
	if len(counts) == 0 {
		return nil
	}
	out = make([]Kind, 0, len(counts))
	for kind, n := range counts {
		out = append(out, Kind{kind, uint64(max(n, 0))})
	}
	slices.SortFunc(out, func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
	if len(out) > maxItems {
		out = slices.Clone(head(out))
	}
	for i := range out {
		out[i].Name = name(out[i].Name)
	}
	return out
}

// ring holds the last entries.
type ring struct {
	entries []*Entry
	next    int
	most    int
}

func newRing(most int) ring { return ring{most: most} }

func (r *ring) push(e *Entry) {
	if len(r.entries) < r.most {
		r.entries = append(r.entries, e)
		return
	}
	r.entries[r.next] = e
	r.next = (r.next + 1) % r.most
}

func (r *ring) list() []*Entry { return slices.Clone(r.entries) }
