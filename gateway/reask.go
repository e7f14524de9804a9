package gateway

import (
	"fmt"
	"strings"

	"github.com/callgate/callgate/gateway/internal/span"
)

// maxReasks is how often the model is told that its call is refused.
const maxReasks = 1

// maxQuotedCall is how much of a refused call the model is shown again.
const maxQuotedCall = 4 << 10

// reask prepares the next attempt at the same target, in which the model is told what
// was wrong with its call. It reports whether there is one: the policy must be such,
// and the model is asked once.
func (a *attempts) reask(e *Error) bool {
	if len(e.refused) == 0 || a.current.OnInvalid != ReaskInvalid || a.reasked >= maxReasks || a.req.messages.IsNull(a.req.body) {
		return false
	}
	a.reasked++
	var text strings.Builder
	for _, r := range e.refused {
		fmt.Fprintf(&text, "Your call of the tool %q was not carried out: %s\n", r.name, r.problem.Message)
		if r.problem.Hint != "" {
			fmt.Fprintf(&text, "%s\n", r.problem.Hint)
		}
		fmt.Fprintf(&text, "You wrote these arguments: %s\n", excerptOf(r.arguments, maxQuotedCall))
	}
	text.WriteString("Call the tool again with correct arguments, or answer without it.")
	message := append(quote([]byte(`,{"role":"user","content":`), text.String()), '}')
	req := *a.req
	end := req.messages.End - 1 // in front of the bracket
	if span.Blank(req.body[req.messages.Start+1 : end]) {
		message = message[1:]
	}
	req.appended = &edit{span.Span{Start: end, End: end}, message}
	a.req = &req
	return true
}
