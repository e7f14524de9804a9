package history

import (
	"net/http"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/telemetry"
)

// Mark is a set of reasons why a request was not clean.
type Mark uint16

// The marks, the worst first.
const (
	MarkFailed   Mark = 1 << iota // it ended in an error that is not the client's doing
	MarkBroken                    // the answer could not be repaired
	MarkGhost                     // the client got an answer that claims what no call has done
	MarkRefused                   // an upstream found the request at fault
	MarkFallback                  // another target was asked
	MarkRetry                     // the same target was asked again
	MarkReask                     // the model was told what to do better
	MarkRepaired                  // the answer was repaired
	MarkTool                      // a tool of the gateway's failed
	MarkWarning                   // anything else that is odd
)

// Has reports whether it has a mark.
func (m Mark) Has(n Mark) bool { return m&n != 0 }

// judgement is what a record counts as.
type judgement struct {
	counts  Counts
	marks   Mark
	changed bool // the client got something else than the upstream sent
}

// Outcomes of attempts, beside codes of errors.
const (
	ok          = "ok"
	running     = "open"
	circuitOpen = "circuit_open"
	clientLeft  = "client_closed_request"
)

func judge(r *gateway.Record) (j judgement) {
	c, s := &j.counts, r.Summary
	c[Requests] = 1
	switch ending(r) {
	case Failed:
		c[Failed], j.marks = 1, MarkFailed
	case Refused:
		c[Refused] = 1
		if s != nil && len(s.Attempts) > 0 { // others nobody was asked about; their codes are counted
			j.marks = MarkRefused
		}
	case Left:
		c[Left] = 1
	}
	if s == nil {
		return j
	}
	if s.Replayed() { // what was done for the answer was counted when it was made
		c[Replayed] = 1
		return j
	}
	j.answer(s, r.Code)
	j.attempts(s)
	if slices.ContainsFunc(s.Warnings, isOdd) && j.marks == 0 {
		j.marks |= MarkWarning
	}
	if s.ToolRun != nil && s.ToolRun.Failed() > 0 {
		j.marks |= MarkTool
	}
	u := &s.Usage
	c[Input], c[Cached], c[Output] = uint64(max(u.Input, 0)), uint64(max(u.CacheRead, 0)), uint64(max(u.Output, 0))
	return j
}

// ending says how a request ended: Failed, Refused, Left, or Requests for well.
func ending(r *gateway.Record) Count {
	asked := r.Summary != nil && len(r.Summary.Attempts) > 0
	switch {
	case r.Code == clientLeft:
		return Left
	case r.Status == http.StatusTooManyRequests && !asked, // a limit of the gateway's own
		r.Status >= 400 && r.Status < 500 && r.Status != http.StatusTooManyRequests:
		return Refused
	case telemetry.ErrorType(r) != "":
		return Failed
	}
	return Requests
}

// answer judges the answer that was given, and those that were thrown away.
func (j *judgement) answer(s *gateway.Summary, code string) {
	c := &j.counts
	c[TextCalls], c[NativeCalls] = uint64(max(s.Calls, 0)), uint64(max(s.Native, 0))
	ghost := s.Guard != nil && (s.Guard.Ghost || s.Guard.Contradiction)
	caught := code == "tool_not_triggered" || code == "tool_result_contradicted"
	told := slices.ContainsFunc(s.Corrections, func(d gateway.Correction) bool {
		return d.Verdict != nil && (d.Verdict.Ghost || d.Verdict.Contradiction)
	})
	c[Ghosts] = one(ghost || told || caught)
	if ghost && code == "" {
		c[GhostsPassed] = 1
		j.marks |= MarkGhost
	}
	c[Faulted] = one(len(s.Faults) > 0 || c[Ghosts] > 0 || len(s.Corrections) > 0)
	if len(s.Repairs) > 0 && s.Changed {
		j.changed, c[Repaired] = true, 1
		j.marks |= MarkRepaired
	}
	if unrepaired(s, code) {
		c[Broken] = 1
		j.marks |= MarkBroken
	}
}

// unrepaired reports whether something was wrong with the answer that could not be put right.
func unrepaired(s *gateway.Summary, code string) bool {
	switch {
	case code == "invalid_tool_call", code == "invalid_structured_output":
		return true
	case s.Structured != nil && s.Structured.Result == gateway.StructuredInvalid:
		return true
	}
	for _, w := range s.Warnings { // what is not repaired is a fault and a warning
		if _, fault := s.Faults[w]; fault || w == "truncated_call" || w == "broken_call" {
			return true
		}
	}
	return false
}

// attempts counts those behind the first one.
func (j *judgement) attempts(s *gateway.Summary) {
	for i := 1; i < len(s.Attempts); i++ {
		switch reason := s.Attempts[i].Reason; {
		case reason == gateway.Retry:
			j.counts[Retried]++
			j.marks |= MarkRetry
		case reason == gateway.Fallback:
			j.counts[FellBack]++
			j.marks |= MarkFallback
		case corrected(reason):
			j.counts[Reasked]++
			j.marks |= MarkReask
		}
	}
}

// corrected reports whether an attempt was made since the answer before was not good enough: its
// upstream had not failed.
func corrected(r gateway.Reason) bool {
	return r == gateway.Reask || r == gateway.Forced || r == gateway.Corrected
}

// isOdd reports whether a warning says more than that a field of the request has no counterpart at the upstream: some clients send such
// fields with every request, and it would hide the odd ones.
func isOdd(w string) bool {
	switch warningKind(w) {
	case "dropped", "clamped", "more":
		return false
	}
	return true
}

// warningKind is what stands before a warning's first colon.
func warningKind(w string) string {
	kind, _, _ := strings.Cut(w, ":")
	return kind
}

func one(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}
