package gateway

import (
	"time"

	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/loop"
	"github.com/callgate/callgate/gateway/internal/reference"
)

// RoutePolicy says what is watched over in the requests of a route and their answers.
// The zero value watches nothing.
type RoutePolicy struct {
	// Guard says what is done about an answer that claims an action, or owes one, and
	// calls no tool: Report says so, and Repair asks once more and demands the call.
	Guard Mode
	// GuardSettings are the rules of that.
	GuardSettings GuardSettings
	// Loop says what is done about a conversation that calls tools without an end.
	Loop LoopAction
	// LoopLimits say when that is.
	LoopLimits LoopLimits
	// Binding says what is done about tools that do not reach the model.
	Binding BindingAction
	// References says what is done about arguments that refer to earlier results:
	// Report says what Repair would put in their place.
	References Mode
	// ReferenceRules are those of the configuration; tools may bring their own.
	ReferenceRules []ReferenceRule
	// Date is the time zone of the date that is put into the system prompt; nil puts
	// none.
	Date *time.Location
	// Affinity sends a request to the target that has the most of its prompt in its
	// cache, if that is not too busy. Otherwise the targets' order and weights decide.
	Affinity bool
	// CacheHints says whether providers are told which beginning of a prompt they are to
	// find in their caches: Report says what Repair would tell them. What a provider takes
	// is in its Policy.
	CacheHints Mode
	// Execution adds what was done to the answer's body.
	Execution bool
	// Answers says whether answers are kept for those who ask the same.
	Answers AnswerPolicy
}

// The parts of a RoutePolicy.
type (
	// GuardSettings are the rules by which an answer without a call is judged.
	GuardSettings = guard.Settings
	// Intent is a rule of the operator: words of a request, and the tool that it takes.
	Intent = guard.Intent
	// LoopLimits say when a conversation goes in circles.
	LoopLimits = loop.Limits
	// Rounds is what there is to say of a conversation's rounds of tools.
	Rounds = loop.Report
	// ReferenceRule declares an argument a reference.
	ReferenceRule = reference.Rule
	// Resolution is a reference that was resolved.
	Resolution = reference.Resolution
	// Verdict is what the guard makes of an answer.
	Verdict = guard.Verdict
)

// LoopAction says what is done when a conversation has reached the limit of its rounds,
// or goes in circles.
type LoopAction int

// The actions.
const (
	LoopOff    LoopAction = iota // nothing is looked at
	LoopReport                   // it is said
	LoopAnswer                   // the model is told to answer without tools
	LoopRefuse                   // the request is refused
)

// BindingAction says what is done about tools that do not reach the model.
type BindingAction int

// The actions.
const (
	BindingOff BindingAction = iota
	BindingReport
	BindingRefuse
)

// conduct is a RoutePolicy made ready.
type conduct struct {
	RoutePolicy
	guard *guard.Guard
}

func newConduct(p RoutePolicy) *conduct {
	c := &conduct{RoutePolicy: p}
	if p.Guard != Off {
		c.guard = guard.New(p.GuardSettings)
	}
	return c
}
