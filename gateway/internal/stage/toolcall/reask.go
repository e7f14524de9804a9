package toolcall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
)

// maxQuotedCall is how much of a refused call the model is shown again.
const maxQuotedCall = 4 << 10

// redo asks for another attempt in which the model is told what was wrong with its calls; nil
// if there is to be none. The policy must be such, or nothing may be wrong but references
// that could not be resolved.
func (v *validator) redo() *gateway.Redo {
	onlyReferences := !slices.ContainsFunc(v.refused, func(r refusal) bool { return !isReference(r.problem) })
	if v.policy != gateway.ReaskInvalid && !onlyReferences {
		return nil
	}
	redo := &gateway.Redo{Reason: gateway.Reask}
	var text strings.Builder
	for _, r := range v.refused {
		redo.Notes = append(redo.Notes, gateway.Correction{Tool: r.name, Reason: r.problem.Class})
		fmt.Fprintf(&text, "Your call of the tool %q was not carried out: %s\n", r.name, r.problem.Message)
		if r.problem.Hint != "" {
			fmt.Fprintf(&text, "%s\n", r.problem.Hint)
		}
		fmt.Fprintf(&text, "You wrote these arguments: %s\n", gateway.ExcerptOf(r.arguments, maxQuotedCall))
	}
	text.WriteString("Call the tool again with correct arguments, or answer without it.")
	redo.Remark = text.String()
	return redo
}
