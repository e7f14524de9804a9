package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/prefix"
)

// Summary is what was done for a request, for response headers, metrics and the log.
type Summary struct {
	Provider, Model string // where the answer came from
	// Route is how its targets were found.
	Route *RouteChoice
	// Attempts are all requests to upstreams, in their order; the last one gave the
	// answer.
	Attempts []Attempt
	// FirstToken is how long the client's request waited for the first useful byte;
	// 0 if none came.
	FirstToken time.Duration
	Overhead   time.Duration // spent in the gateway itself, before and between the upstream's frames
	chain.Report
	// Faults counts the calls of the answer that were broken, by class: "invalid_json",
	// "bad_index" and so on. What was done about them is in Repairs and Warnings.
	Faults map[string]int
	// Native is how many calls came as tool_calls, as Calls is how many came as text.
	Native int
	// Usage is what the upstream reports; the zero value if it does not.
	Usage Usage
	// Prompt is for a trace of requests; nil without Options.Prompts.
	Prompt *Prompt
	// Bill is what Options.Saved made of the answer, and Saved its text. They are there when
	// the answer has ended, if its usage was reported.
	Bill  Bill
	Saved string
	// UpstreamError says that the upstream ended its stream with an error, which was
	// passed on.
	UpstreamError bool
	// Prefix is how the target that answered was chosen by what it has in its cache; nil if
	// it was not. For one that was asked since the chosen one had failed, the reason is
	// prefix.Fallback.
	Prefix *prefix.Decision
	// PrefixChange is where the client has changed what it sent before; nil if nowhere, or
	// if nobody looked.
	PrefixChange *PrefixChange
	// AnswerCache is what became of the request where answers are kept; "" elsewhere.
	AnswerCache AnswerOutcome
	// Age is how old the answer is, if it is a stored one.
	Age time.Duration
	// Rounds is what there is to say of the conversation's rounds of tools; nil if it has
	// none, or nobody looked.
	Rounds *Rounds
	// Guard is the verdict on an answer that made no call; nil if nobody looked.
	Guard *Verdict
	// Corrections are what the model was told to do better, in answers that were thrown
	// away.
	Corrections []Correction
	// Called are the tools that the answer calls, in their order.
	Called []string
	// References are those that were resolved.
	References []Resolution
	// Changed says that the client received something else than the upstream sent.
	Changed bool

	own []string // warnings that no chain gave
}

// Attempt is one request to an upstream.
type Attempt struct {
	Provider, Model string
	Reason          Reason
	// Outcome is "ok", or the code of the error that ended it. It is "open" while the
	// attempt runs.
	Outcome string
	Wait    time.Duration // before it
	// RetryAfter is how long the upstream asked to wait behind it, 0 if it did not.
	RetryAfter time.Duration
	Took       time.Duration
}

// Reason is why an attempt was made.
type Reason string

// The reasons.
const (
	First    Reason = "first"
	Retry    Reason = "retry"    // the same target once more
	Fallback Reason = "fallback" // another target
	Reask    Reason = "reask"    // a call was refused, and the model was told why
	Forced   Reason = "forced"   // no call was made, and the model was told to make it
)

// Correction is a call that was asked for once more.
type Correction struct {
	Tool string // "" if nobody knows which
	// Reason is the class of the problem with the call, such as "schema_mismatch", or
	// "tool_not_triggered" where there was none.
	Reason string
	// Verdict is the guard's, where that is the reason.
	Verdict *Verdict
}

// Record is one request of a client, when it is over. The HTTP server hands it to
// the metrics.
type Record struct {
	// Route is the entry of the configuration that the model's name led to, or "".
	Route string
	// Status is the HTTP status, and Code the error's code, or "".
	Status int
	Code   string
	Stream bool
	// Tenant is whose request it was, by the name of the key.
	Tenant string
	Took   time.Duration
	// Summary is nil if the request led to no upstream.
	Summary *Summary
}

// RetryDelay is how long was waited before attempts, in all.
func (s *Summary) RetryDelay() time.Duration {
	var d time.Duration
	for _, a := range s.Attempts {
		d += a.Wait
	}
	return d
}

// Fallbacks is how many attempts went to another target than the one before.
func (s *Summary) Fallbacks() int {
	n := 0
	for _, a := range s.Attempts {
		if a.Reason == Fallback {
			n++
		}
	}
	return n
}

// Warn adds a warning of the gateway's own.
func (s *Summary) Warn(w string) {
	s.own = append(s.own, w)
	s.Warnings = append(s.Warnings, w)
}

func (s *Summary) addRepair(kind string, n int) {
	if s.Repairs == nil {
		s.Repairs = map[string]int{}
	}
	s.Repairs[kind] += n
}

func (s *Summary) addFault(class string, n int) {
	if s.Faults == nil {
		s.Faults = map[string]int{}
	}
	s.Faults[class] += n
}

// RepairList writes the repairs as a header does: args_json=1,index=2.
func (s *Summary) RepairList() string { return countList(s.Repairs) }

// FaultList writes the faults as a header does.
func (s *Summary) FaultList() string { return countList(s.Faults) }

// CorrectionList writes the corrections as a header does: tool_not_triggered:delete_task.
func (s *Summary) CorrectionList() string {
	var parts []string
	for _, c := range s.Corrections {
		parts = append(parts, strings.TrimSuffix(c.Reason+":"+c.Tool, ":"))
	}
	return strings.Join(parts, ",")
}

// GuardText writes what the guard has against the answer, as a header does; "" if that
// is nothing.
func (s *Summary) GuardText() string {
	v := s.Guard
	if v == nil || !v.Ghost && !v.Contradiction {
		return ""
	}
	what := "ghost"
	if !v.Ghost {
		what = "contradiction"
	}
	text := fmt.Sprintf("%s;score=%.2f;signals=%s", what, v.Score, strings.Join(slices.Collect(v.For()), "+"))
	if v.Tool != "" {
		text += ";tool=" + v.Tool
	}
	return text
}

// RoundsText writes the conversation's rounds of tools as a header does: 3/15 and how
// many of them brought something new; "" if there are none.
func (s *Summary) RoundsText() string {
	r := s.Rounds
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("%d/%d;efficiency=%.2f", r.Rounds, r.Limit, r.Efficiency)
	if r.Stop != "" {
		text += ";stop=" + string(r.Stop)
	}
	return text
}

func countList(counts map[string]int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s=%d", kind, counts[kind]))
	}
	return strings.Join(parts, ",")
}
