package gateway

import (
	"bytes"
	"strconv"
	"time"

	"github.com/callgate/callgate/gateway/content"
	"github.com/callgate/callgate/gateway/headers"
	"github.com/callgate/callgate/gateway/prefix"
)

// Summary is what was done for a request, for response headers, metrics and the log.
type Summary struct {
	Outcome
	Origin
	// Route is how its targets were found.
	Route *RouteChoice
	// Attempts are all requests to upstreams, in their order; the last one gave the
	// answer.
	Attempts []Attempt
	Timing
	PromptCache
	Replay
	// Rounds is what there is to say of the conversation's rounds of tools; nil if it has
	// none, or nobody looked.
	Rounds *Rounds
	// ToolRun is what the gateway has done with tools of its own; nil if the request has none.
	ToolRun *ToolRun
	// Corrections are what the model was told to do better, in answers that were thrown
	// away.
	Corrections []Correction
	// RateLimits are those of the client; nil if it has none.
	RateLimits *RateLimits
	// Spent is what upstreams have cost for the request by now, also for answers that were thrown away.
	Spent Spent
	// WarningsInHeader is how many of the warnings were there when the answer began.
	WarningsInHeader int
	// Execution says that the client gets what was done in the answer's body as well.
	Execution bool
}

// Origin is where an answer came from.
type Origin struct {
	Provider, Model string
	// Protocol is the API that its upstream speaks, as [Source] has it; "" for chat completions, and for an answer
	// that was stored.
	Protocol string
	// Mode is what was done about tool calls there.
	Mode Mode
	// Mixed says that the control's target has answered, or a round, since those of the request's arm
	// have failed.
	Mixed bool
}

// Spent is what the answers of upstreams have cost.
type Spent struct {
	// Nano is in 10⁻⁹ US dollars.
	Nano int64
	// Answers are those that upstreams bill; of Unpriced ones the price is not known, and of Estimated
	// ones the usage.
	Answers, Unpriced, Estimated int
}

// Dollars writes a sum of 10⁻⁹ US dollars: 0.0000475.
func Dollars(nano int64) string { return string(AppendDollars(make([]byte, 0, 24), nano)) }

// AppendDollars appends what [Dollars] writes.
func AppendDollars(text []byte, nano int64) []byte {
	text = strconv.AppendInt(text, nano/1e9, 10)
	point := len(text)
	text = strconv.AppendInt(text, 1e9+nano%1e9, 10) // a one where the point belongs, and nine digits
	text[point] = '.'
	return bytes.TrimSuffix(bytes.TrimRight(text, "0"), []byte{'.'})
}

// Plus is the sum of two.
func (s Spent) Plus(o Spent) Spent {
	return Spent{s.Nano + o.Nano, s.Answers + o.Answers, s.Unpriced + o.Unpriced, s.Estimated + o.Estimated}
}

// RateLimits is what is left of a client's limits, where there are any: of those of requests and of
// tokens the tightest ones.
type RateLimits struct{ Requests, Tokens *RateLimit }

// RateLimit is what is left of one, in the words of the headers that say it: how much it is, how much of that
// remains, and how long it takes until all of it is there again, as far as nothing comes.
type RateLimit struct{ Limit, Remaining, Reset string }

// Timing is how long a request took.
type Timing struct {
	// Requested is when the gateway began with the request, and FirstToken how long the
	// client waited for the first useful byte; 0 if none came.
	Requested  time.Time
	FirstToken time.Duration
	Overhead   time.Duration // spent in the gateway itself, before and between the upstream's frames
}

// PromptCache is what is known of a prompt and the caches of upstreams.
type PromptCache struct {
	// Prompt is for a trace of requests; nil if nobody wants it.
	Prompt *Prompt
	// Prefix is how the target that answered was chosen by what it has in its cache; nil if
	// it was not. For one that was asked since the chosen one had failed, the reason is
	// prefix.Fallback.
	Prefix *prefix.Decision
	// PrefixChange is where the client has changed what it sent before; nil if nowhere, or
	// if nobody looked.
	PrefixChange *PrefixChange
}

// Replay is what became of a request where answers are kept.
type Replay struct {
	AnswerCache AnswerOutcome // "" elsewhere
	// Age is how old the answer is, if it is a stored one.
	Age time.Duration
	// Spared is what the answer took of its upstream when it was made, if that was reported.
	Spared Usage
}

// Replayed reports whether the answer was made for another request, and counted there.
func (r *Replay) Replayed() bool {
	return r.AnswerCache == AnswerHit || r.AnswerCache == AnswerShared
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
	// Withheld is what of the answer's header clients do not get.
	Withheld headers.Withheld
}

// AttemptEnd is what a trace is told of an attempt when it is over.
type AttemptEnd struct {
	// Outcome is what becomes that of the [Attempt].
	Outcome string
	// Model is what the upstream calls the model that has answered, "" if it does not say.
	Model string
	// Finish and Usage are those of the [Outcome].
	Finish string
	Usage  Usage
	Stream bool // one was asked for
	// FirstToken is the time to its first useful byte, 0 if none came.
	FirstToken time.Duration
}

// Reason is why an attempt was made.
type Reason string

// The reasons.
const (
	First    Reason = "first"
	Retry    Reason = "retry"    // the same target once more
	Fallback Reason = "fallback" // another target
	Reask    Reason = "reask"    // a call was refused, and the model was told why
	Forced   Reason = "forced"   // no call was made, and the model was told to make it
	// Corrected: the answer says what the calls of the turn do not bear out, and the model was told
	// what they gave.
	Corrected Reason = "corrected"
)

// Correction is a call that was asked for once more.
type Correction struct {
	Tool string // "" if nobody knows which
	// Reason is the class of the problem with the call, such as "schema_mismatch", or
	// "tool_not_triggered" where there was none, or "tool_result_contradicted".
	Reason string
	// Verdict is the guard's, where that is the reason.
	Verdict *Verdict
}

// Record is one request of a client, when it is over. The HTTP server hands it to
// the metrics.
type Record struct {
	// ID is the request's, as x-request-id says it; clients can choose it.
	ID string
	// Route is the entry of the configuration that the model's name led to, or "".
	Route string
	// Status is the HTTP status, and Code the error's code, or "".
	Status int
	Code   string
	// Kind is that of the error, where there is a Code.
	Kind Kind
	// Protocol is the client's: "chat", "responses", "messages".
	Protocol string
	Stream   bool
	// Tenant is whose request it was, by the name of the key.
	Tenant string
	Took   time.Duration
	// Summary is nil if the request led to no upstream.
	Summary *Summary
	// Model is what metrics count the request's model by: no text of the client's. They set it.
	Model string
	// Recording has what was said, as far as somebody is to keep it; nil where nobody is.
	Recording *content.Recording
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

// Prompt is what a trace of requests needs to know of a prompt, and nothing of what it
// says. Traces can be replayed to see what routing by prefix would bring.
type Prompt struct {
	// Blocks are the keyed hashes of its blocks. Prompts of one tenant and model that begin
	// alike have their first blocks in common, others have none.
	Blocks prefix.Chain
	// Bytes is the size of its tools and messages.
	Bytes int
}

// AnswerOutcome is what became of a request where answers are kept.
type AnswerOutcome string

// The outcomes.
const (
	AnswerHit    AnswerOutcome = "hit"    // the answer is a stored one
	AnswerShared AnswerOutcome = "shared" // it is that of an equal request, which was waited for
	AnswerMiss   AnswerOutcome = "miss"   // there was none
	AnswerBypass AnswerOutcome = "bypass" // nobody looked: the request cannot be repeated, or does not want to
)

// RouteChoice is how the targets of a request were found.
type RouteChoice struct {
	// Route is the entry that was taken, or "provider/*".
	Route string
	// Alias is the entry that the client's name led to first, if that was an alias.
	Alias string
	// Rule is the number of the rule that was met, from 1 on; 0 is none. HasRules says
	// whether there are any.
	Rule     int
	HasRules bool
	// Language is that of the request, if a rule asked for it and somebody could tell.
	Language string
	// Arm is the arm of a rollout that the request is in; nil for none.
	Arm *ArmChoice
	// PassedOver is the target, as provider/model, that was not asked first since it calls tools
	// worse than the others; "" mostly.
	PassedOver string
}
