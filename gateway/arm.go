package gateway

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/rollout"
)

// ArmChoice is the arm of a rollout that a request is in. It does not change during the request.
type ArmChoice struct {
	Rollout *rollout.Rollout
	// Place is the arm's among those of the rollout; 0 is the control.
	Place int
	// Episode stands for the conversation.
	Episode uint64
	// Forced says that the client has chosen the arm, and Spoiled that another arm's target has
	// answered an earlier request of the conversation.
	Forced, Spoiled bool
}

// String is the arm's name as clients see it, rollout/arm.
func (c *ArmChoice) String() string { return c.Rollout.Name() + "/" + c.Arm() }

// Arm is the arm's own name.
func (c *ArmChoice) Arm() string { return c.Rollout.ArmName(c.Place) }

// Arm is the arm of a rollout that the request is in; nil for none.
func (s *Summary) Arm() *ArmChoice {
	if s == nil || s.Route == nil {
		return nil
	}
	return s.Route.Arm
}

// Broken reports whether a call, or an answer that was to be JSON, has stayed broken: what cannot be
// repaired is a fault, and warned of.
func (s *Summary) Broken() bool {
	for class := range s.Faults {
		if slices.Contains(s.Warnings, class) {
			return true
		}
	}
	return s.Structured != nil && s.Structured.Result == StructuredInvalid
}

// IsGhost reports whether the answer claims an action and calls nothing.
func (s *Summary) IsGhost() bool { return s.Guard != nil && (s.Guard.Ghost || s.Guard.Contradiction) }

// refusals are the kinds of errors that say nothing of a model.
var refusals = [...]Kind{Invalid, TooLarge, InvalidKey, Forbidden, NotFound, MethodNotAllowed, Looping, Overloaded, MemorySpent}

// Turn is what became of a request, for the figures of its arm, but for what it cost. It is for
// records of requests that are in one.
func (r *Record) Turn() rollout.Turn {
	s, arm := r.Summary, r.Summary.Arm()
	t := rollout.Turn{Result: r.result(), FirstToken: s.FirstToken, Loop: s.Rounds != nil && s.Rounds.Stop != "", Ghost: s.IsGhost()}
	for _, c := range s.Corrections {
		t.Ghost = t.Ghost || c.Verdict != nil && c.Verdict.Ghost
	}
	if s.ToolRun != nil {
		t.ToolErrors = s.ToolRun.Failed()
	}
	switch { // the first that holds is why it is not compared
	case arm.Forced:
		t.Result = rollout.Forced
	case s.Replayed():
		t.Result = rollout.Replayed
	case t.Result.Counts() && (s.Mixed || arm.Spoiled):
		t.Result = rollout.Mixed
	}
	return t
}

func (r *Record) result() rollout.Result {
	switch {
	case r.Code != "" && r.Kind == Canceled:
		return rollout.Canceled
	case r.Code != "" && slices.Contains(refusals[:], r.Kind):
		return rollout.Refused
	case r.Code != "":
		return rollout.Failed
	}
	return r.Summary.result()
}

// result is how an answer that came to its end is.
func (s *Summary) result() rollout.Result {
	called := len(s.Called) > 0 || s.Calls > 0 || s.Native > 0
	switch {
	case s.UpstreamError || s.Broken() || s.IsGhost():
		return rollout.Failed
	case len(s.Corrections) > 0:
		return rollout.Reasked
	case len(s.Faults) > 0 || called && s.repairedCalls() || s.Structured != nil && s.Structured.Result == StructuredRepaired:
		return rollout.Repaired
	case called:
		return rollout.Clean
	}
	return rollout.Plain
}

// repairedCalls reports whether any of the repairs is of calls, and not of the request or of reasoning.
func (s *Summary) repairedCalls() bool {
	for kind := range s.Repairs {
		switch kind {
		case "reasoning_text", "reasoning_field", "prompted", "prompted_format", "cache_hint", "date_context", "tool_loop":
		default:
			if !strings.HasPrefix(kind, "history_") {
				return true
			}
		}
	}
	return false
}
