package gateway

import (
	"strings"

	"github.com/callgate/callgate/gateway/internal/upstreamerr"
)

// Cause is a failure of an answer, or of a request at one upstream, behind which another target may
// do better. It is a word of the configuration (fallback_on).
type Cause string

// The causes.
const (
	InvalidCalls   Cause = "invalid_calls"   // a call cannot be used, and the target refuses those
	InvalidOutputs Cause = "invalid_outputs" // an answer was to be JSON and is none, and the target refuses those
	Ghosts         Cause = "ghosts"          // a call was demanded, and none came
	Contradictions Cause = "contradictions"  // the answer claims what a result denies
	ToolsRefused   Cause = "tools_refused"   // the upstream cannot take tools
	ContextLength  Cause = "context_length"  // the conversation is too long for the upstream
)

// WarnToolsRefused begins the warning of a failure that is about an upstream without tools.
const WarnToolsRefused = "tools_refused"

// Cause is what the failure is besides one of the upstream's own, "" if it is none of those.
func (e *Error) Cause() Cause {
	switch e.Kind {
	case BadCall:
		return InvalidCalls
	case BadAnswer:
		return InvalidOutputs
	case Ghost:
		if strings.Contains(e.CodeOrDefault(), "contradict") {
			return Contradictions
		}
		return Ghosts
	case Rejected:
		if strings.HasPrefix(e.Warning, WarnToolsRefused+":") {
			return ToolsRefused
		}
		if _, long := upstreamerr.ReadOverflow(string(e.Refusal()), e.Code); long {
			return ContextLength
		}
	}
	return ""
}
