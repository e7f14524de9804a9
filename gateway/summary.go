package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/chain"
)

// Summary is what was done for a request, for response headers, metrics and the log.
type Summary struct {
	Provider, Model string // where the answer came from
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
	// UpstreamError says that the upstream ended its stream with an error, which was
	// passed on.
	UpstreamError bool
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
)

// Record is one request of a client, when it is over. The HTTP server hands it to
// the metrics.
type Record struct {
	// Route is the entry of the configuration that the model's name led to, or "".
	Route string
	// Status is the HTTP status, and Code the error's code, or "".
	Status int
	Code   string
	Stream bool
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

func countList(counts map[string]int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s=%d", kind, counts[kind]))
	}
	return strings.Join(parts, ",")
}
