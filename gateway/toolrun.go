package gateway

import (
	"time"

	"github.com/callgate/callgate/gateway/toolserver"
)

// ToolRun is what the gateway has done for a request with tools of its own. It grows while the
// answer is read.
type ToolRun struct {
	// Offered is how many tools the model was offered, and Missing what could not be.
	Offered int
	Missing []toolserver.Missing
	// Rounds is how often the model was asked.
	Rounds int
	Calls  []ToolCall
	// Stop is why the rounds have ended; "" as long as they have not.
	Stop ToolStop
	// Costs are those of all rounds, each with its own target.
	Costs []RoundCost
	// Limits are those of the request.
	Limits ToolLimits
}

// ToolLimits bound what the gateway does for a request with tools of its own.
type ToolLimits struct {
	Rounds, Warn, Idle int // rounds of calls; from which of them on the model is told how many are left; and without anything new
	Calls              int // what the request itself allows, -1 for any number
	Parallel, Attempts int
	Time, Answer       time.Duration // of all, and what is kept of it for the last answer
	Tool               time.Duration // one attempt of a call whose server says nothing else
	Result, Results    int           // bytes
}

// ToolCall is a call that the gateway has made, or has refused to make.
type ToolCall struct {
	Server, Tool string // of an unknown name both are ""
	// Outcome is "ok", "failed" where the result says so, or the kind of the error.
	Outcome  string
	Attempts int // 0 where nothing was sent
	Took     time.Duration
}

// RoundCost is what one round of the model has taken.
type RoundCost struct {
	Provider, Model string
	Usage           Usage
	// Replayed says that the answer was a stored one, which was counted before.
	Replayed bool
}

// ToolStop is why the rounds of a request have ended.
type ToolStop string

// Why rounds end. The last four are those of a last answer that was demanded, or of none.
const (
	StopAnswer   ToolStop = "answer"      // the model has answered
	StopClient   ToolStop = "client"      // it calls tools of the client's
	StopApproval ToolStop = "approval"    // a call needs the client's word
	StopRounds   ToolStop = "rounds"      // there were as many as may be
	StopTime     ToolStop = "time"        // they have taken as long as they may
	StopIdle     ToolStop = "no_progress" // the last ones brought nothing new
	StopError    ToolStop = "error"       // the model could not be asked any more
)

// Failed counts the calls that gave an error, or a result that says so.
func (t *ToolRun) Failed() (n int) {
	for _, c := range t.Calls {
		if c.Outcome != "ok" {
			n++
		}
	}
	return n
}
