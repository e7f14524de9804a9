package gateway

import (
	"time"

	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/hint"
	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/gateway/internal/loop"
	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/gateway/internal/turns"
)

// Policy is what the gateway does around one provider.
type Policy struct {
	Retry RetryPolicy
	// Failures in a row open the provider's breaker for Open; zero means 5 and 60 s.
	Failures int
	Open     time.Duration
	// History says what is done about calls in the client's messages that the provider
	// could not take ([Needer]).
	History Mode
	// CacheIdle is how long the provider keeps a prompt in its cache that is not used; 0
	// means 5 minutes.
	CacheIdle time.Duration
	// Hints is what the provider can be told about the beginning of a prompt.
	Hints HintKind
}

// RetryPolicy says how often and when a provider's failures are tried again.
type RetryPolicy struct {
	// Max is how many further attempts a request may take. With 0 there is one
	// exception: an upstream that answers 429 with a Retry-After is waited for once
	// and asked once more.
	Max int
	// Base is the first wait and Cap the longest; a Retry-After beyond Cap is not
	// waited for. Zero means 1 s and 60 s.
	Base, Cap time.Duration
}

// What a call does, for a [Fact].
const (
	CallReads   = ledger.Reads
	CallChanges = ledger.Changes
)

// HintKind is what a provider can be told about the beginning of a prompt, so that it finds
// that in its cache.
type HintKind int

// The kinds.
const (
	NoHints  HintKind = iota
	KeyHints          // the field prompt_cache_key, as OpenAI's API has it
	// PartMarks are marks (cache_control) on text parts of messages, as OpenRouter, LiteLLM
	// and DashScope take them.
	PartMarks
	// MemberMarks are marks beside the content of messages, and on the last tool, as the
	// adapter of Anthropic's API takes them.
	MemberMarks
)

// What the guards say of requests and answers, and their rules.
type (
	// GuardSettings are the rules by which an answer without a call is judged.
	GuardSettings = guard.Settings
	// Intent is a rule of the operator: words of a request, and the tool that it takes.
	Intent = guard.Intent
	// Fact is what is certain of a call that the gateway ran itself.
	Fact = ledger.Fact
	// Verdict is what the guard makes of an answer.
	Verdict = guard.Verdict
	// Ruling is what the guard's judge said of an answer.
	Ruling = guard.Ruling
	// LoopLimits say when a conversation goes in circles.
	LoopLimits = loop.Limits
	// Rounds is what there is to say of a conversation's rounds of tools.
	Rounds = loop.Report
	// ReferenceRule declares an argument a reference.
	ReferenceRule = reference.Rule
	// Turn is what a turn of a conversation has taken so far.
	Turn = turns.Turn
	// Resolution is a reference that was resolved.
	Resolution = reference.Resolution
	// PrefixChange is where a request is not what the one before it has led to expect.
	PrefixChange = hint.Change
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
