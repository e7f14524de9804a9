package guard

import "iter"

// The names of signals. They are labels of metrics and stay as they are.
const (
	SignalToolsUnused   = "tools_unused"
	SignalRequired      = "required_unmet"
	SignalIntent        = "intent"
	SignalClaim         = "claim"
	SignalClaimTool     = "claim_tool"
	SignalDue           = "due"
	SignalLookup        = "lookup"
	SignalUnsourced     = "unsourced"
	SignalPromise       = "promise"
	SignalCallText      = "call_text"
	SignalUndeclared    = "undeclared_call"
	SignalQuestion      = "question"
	SignalRefusal       = "refusal"
	SignalFailureTold   = "failure_told"
	SignalAfterResult   = "after_result"
	SignalPastTurn      = "past_turn"
	SignalContent       = "content"
	SignalForbidden     = "forbidden"
	SignalContradiction = "contradiction"
)

// Signal is a reason for a verdict, or one against it.
type Signal struct {
	Name string
	// Weight is between 0 and 1, or between -1 and 0 where it speaks against a ghost.
	Weight float64
	// Detail is a word of a lexicon or the name of a tool. It quotes nothing else.
	Detail string
}

// Verdict is what is to be thought of an answer.
type Verdict struct {
	// Score is between 0 and 1.
	Score float64
	// Signals are the reasons, at most one of each name.
	Signals []Signal
	// Ghost says that the answer claims or owes an act that no call was made for.
	Ghost bool
	// Contradiction says that the calls of this turn failed and the answer claims success.
	Contradiction bool
	// Tool is the one that should have been called, or "" where several might be meant. Of a
	// contradiction it is the one that failed.
	Tool string
	// Demand says that a call may be demanded: what the user wants, or was proposed to him,
	// points to a tool, and nothing has been changed since he spoke.
	Demand bool
	// Hint says that no tool is certain enough to be demanded, and that one may be meant.
	Hint bool
	// Changed says that a call since the user spoke has changed something.
	Changed bool
	// Judged is what a judge said, nil if none was asked.
	Judged *Ruling
	// Result is the beginning of the failed result, of a contradiction.
	Result string
}

// For gives the names of the signals that speak for the verdict.
func (v *Verdict) For() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range v.Signals {
			if s := &v.Signals[i]; s.Weight >= 0 && !yield(s.Name) {
				return
			}
		}
	}
}

// barred is the weight of a signal that takes every other but required_unmet away.
const barred = -1

// weakens says by how much a signal that speaks against a ghost weakens one that speaks
// for it. A question at the end is the right answer to many requests, but does not take
// back that something "was deleted". Where a call of this turn covers one claim, the others
// are more often its side effects, or things that have been so before.
func weakens(against, signal string) float64 {
	switch against {
	case SignalQuestion:
		return questioned[signal]
	case SignalRefusal:
		switch signal {
		case SignalClaimTool:
			return 0.5
		case SignalRequired, SignalCallText, SignalUndeclared:
		default:
			return 0.85
		}
	case SignalContent:
		switch signal {
		case SignalClaim, SignalUnsourced, SignalIntent:
			return 0.7
		case SignalCallText, SignalUndeclared:
			return 0.6
		}
	case SignalAfterResult:
		switch signal {
		case SignalClaimTool, SignalDue:
			return 0.15
		case SignalPromise:
			return 0.05
		}
	case SignalForbidden:
		if signal != SignalRequired && signal != SignalClaimTool {
			return 0.7
		}
	}
	return 0
}

// questioned is how much a question at the end weakens signals.
var questioned = map[string]float64{
	SignalPromise: 0.8, SignalLookup: 0.5, SignalIntent: 0.85, SignalClaim: 0.5, SignalUnsourced: 0.3,
}

// combine adds the signals up: each takes its part of what the others leave open.
func combine(signals []Signal) float64 {
	open := 1.0
	for _, s := range signals {
		if s.Weight <= 0 {
			continue
		}
		w := s.Weight
		for _, a := range signals {
			switch {
			case a.Weight == barred && s.Name != SignalRequired:
				w = 0
			case a.Weight < 0:
				w *= 1 - weakens(a.Name, s.Name)
			}
		}
		open *= 1 - w
	}
	return 1 - open
}
