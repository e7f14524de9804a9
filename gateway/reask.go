package gateway

import (
	"fmt"
	"slices"
	"strings"
)

// maxReasks is how often the model is corrected in a request: told that its call is
// refused, or that it has to make one.
const maxReasks = 1

// mayCorrect reports whether the model may be corrected yet.
func (a *attempts) mayCorrect() bool { return a.reasked < maxReasks && a.req.hasMessages() }

// unresolved reports whether all that is refused are references that nobody knows.
func unresolved(refused []refusal) bool {
	return !slices.ContainsFunc(refused, func(r refusal) bool { return !isReference(r.problem) })
}

// maxQuotedCall is how much of a refused call the model is shown again.
const maxQuotedCall = 4 << 10

// reask prepares the next attempt at the same target, in which the model is told what
// was wrong with its call. It reports whether there is one: the policy must be such, or
// a reference could not be resolved, and the model is asked once.
func (a *attempts) reask(e *Error) bool {
	if len(e.refused) == 0 || !a.mayCorrect() || a.current.OnInvalid != ReaskInvalid && !unresolved(e.refused) {
		return false
	}
	a.reasked++
	a.bare = nil // it lacks the correction
	var text strings.Builder
	for _, r := range e.refused {
		a.corrections = append(a.corrections, Correction{Tool: r.name, Reason: r.problem.Class})
		fmt.Fprintf(&text, "Your call of the tool %q was not carried out: %s\n", r.name, r.problem.Message)
		if r.problem.Hint != "" {
			fmt.Fprintf(&text, "%s\n", r.problem.Hint)
		}
		fmt.Fprintf(&text, "You wrote these arguments: %s\n", excerptOf(r.arguments, maxQuotedCall))
	}
	text.WriteString("Call the tool again with correct arguments, or answer without it.")
	a.req = a.req.remark(text.String())
	return true
}
