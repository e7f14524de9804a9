package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/usage"
)

// Outcome is what became of the answer of an attempt. It grows while the frames are read, and
// is complete when they have ended.
type Outcome struct {
	// Usage is what the upstream reports; the zero value if it does not.
	Usage Usage
	// Finish is the first choice's finish reason, as the upstream gave it.
	Finish string
	// HasOutput says that something came which a client would act on, before anything was read
	// from it.
	HasOutput bool
	// UpstreamError says that the upstream ended its stream with an error, which was
	// passed on.
	UpstreamError bool
	// End is the end marker of a stream as it came, nil if none has.
	End []byte
	Calling
	Findings
	// TextParsed says that parsers read the text, and ParserFingerprint stands for their code; "": nobody
	// knows it ([Fingerprinter]).
	TextParsed        bool
	ParserFingerprint string
	// Guard is the verdict on an answer that made no call; nil if nobody looked.
	Guard *Verdict
	// References are those that were resolved.
	References []Resolution
	// Structured is what became of an answer that was asked to be JSON; nil if none was.
	Structured *Structured
	// Committed says that the client has seen something of it: no other answer can take its
	// place any more.
	Committed bool
	// Bill is what the answer has cost, if anybody reckons that and the usage was reported.
	Bill Bill
}

// Structured is what became of an answer that was asked to be JSON.
type Structured struct {
	Result StructuredResult
	// Class is that of what is wrong and could not be repaired, [AnswerJSON] or [AnswerSchema], ""
	// if nothing is. Path is its place, such as items[2].id, "" for the value as a whole, and
	// Message says it in a sentence, without a value of the answer.
	Class, Path, Message string
}

// StructuredResult is the result of a check of an answer that was asked to be JSON.
type StructuredResult string

// The results.
const (
	StructuredOK        StructuredResult = "ok"
	StructuredRepaired  StructuredResult = "repaired"
	StructuredInvalid   StructuredResult = "invalid"
	StructuredCut       StructuredResult = "cut"       // the model had no more tokens, or a filter cut it
	StructuredRefused   StructuredResult = "refused"   // the model's refusal, in its own member
	StructuredCalled    StructuredResult = "called"    // the model has called a tool instead
	StructuredUnchecked StructuredResult = "unchecked" // the answer is too long, or the schema is none that can be checked
)

// The classes of faults of answers that were asked to be JSON.
const (
	AnswerJSON   = "answer_json"   // it is no JSON
	AnswerSchema = "answer_schema" // it does not fit the schema
)

// Calling is what an answer calls.
type Calling struct {
	// Parsers are those that have read some of the text. Calls is how many calls were read from the
	// text, as Native is how many came as tool_calls.
	Parsers       []string
	Calls, Native int
	// Called are the tools, in their order, and CallSeen says that the upstream has made a call,
	// of any kind, or used a tool of its own.
	Called []string
	// FirstID is the id of the first call, as the client gets it.
	FirstID  string
	CallSeen bool
	// Flaws are what the model has done wrong in its calls, as far as it is known of which.
	Flaws []Flaw
}

// Flaw is something that the model has done wrong in a call.
type Flaw struct {
	Tool  string // as the model has named it, or the one that it meant; "" if nobody knows
	Class string // of the problem, or the kind of the repair
	// Mended says that the gateway has repaired it.
	Mended bool
}

// maxFlaws is how many flaws of an answer are kept.
const maxFlaws = 64

// Flawed notes a flaw.
func (c *Calling) Flawed(f Flaw) {
	if len(c.Flaws) < maxFlaws {
		c.Flaws = append(c.Flaws, f)
	}
}

// HasCall reports whether there is a call of any kind.
func (c *Calling) HasCall() bool { return c.CallSeen || len(c.Called) > 0 }

// Parsed notes a parser whose calls were taken.
func (c *Calling) Parsed(name string) {
	if !slices.Contains(c.Parsers, name) {
		c.Parsers = append(c.Parsers, name)
	}
}

// Findings are what was wrong or odd, and what was done about it.
type Findings struct {
	// Repairs counts what was repaired, by kind, and Faults the calls that were broken, by
	// class: "invalid_json", "bad_index" and so on.
	Repairs, Faults map[string]int
	// Warnings say what went wrong or is odd.
	Warnings []string
	// Changed says that the client receives something else than the upstream sent.
	Changed bool
}

// Repaired counts a repair.
func (f *Findings) Repaired(kind string) { f.Repairs = Count(f.Repairs, kind, 1) }

// Fault counts something that was wrong with a call.
func (f *Findings) Fault(class string) { f.Faults = Count(f.Faults, class, 1) }

// budgetCut begins the warning of an answer that a budget has cut, behind which stands whose budget.
const budgetCut = "budget_cut:"

// WarnCut says that a budget of somebody's has cut the answer.
func (f *Findings) WarnCut(by string) { f.Warn(budgetCut + by) }

// CutByBudget reports whether a budget has cut the answer.
func (f *Findings) CutByBudget() bool {
	return slices.ContainsFunc(f.Warnings, func(w string) bool { return strings.HasPrefix(w, budgetCut) })
}

// Warn adds a warning, once.
func (f *Findings) Warn(w string) {
	if !slices.Contains(f.Warnings, w) {
		f.Warnings = append(f.Warnings, w)
	}
}

// RepairList writes the repairs as a header does: args_json=1,index=2.
func (f *Findings) RepairList() string { return countList(f.Repairs) }

// FaultList writes the faults as a header does.
func (f *Findings) FaultList() string { return countList(f.Faults) }

func countList(counts map[string]int) string {
	if len(counts) == 0 { // of most answers
		return ""
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s=%d", kind, counts[kind]))
	}
	return strings.Join(parts, ",")
}

// IsSound reports whether nothing was odd about the answer so far: no warning, no fault, no
// call, no claim that the guard doubts.
func (o *Outcome) IsSound() bool {
	return !o.UpstreamError && len(o.Warnings) == 0 && len(o.Faults) == 0 && o.Calls == 0 && o.Native == 0 && len(o.Called) == 0 &&
		(o.Guard == nil || !o.Guard.Ghost && !o.Guard.Contradiction)
}

// WasCut reports whether the answer was cut short: what it lacks might have followed. Servers
// have many words for an end that is none.
func (o *Outcome) WasCut() bool { return IsCut(o.Finish) }

// IsCut reports whether a finish reason says that a choice was cut short.
func IsCut(finish string) bool {
	return CutBy(finish) != "" || isGivenUp(finish)
}

// isGivenUp reports whether a finish reason says that the server has ended an answer that it could not go on with:
// OpenRouter's error, vLLM's abort, DeepSeek's insufficient_system_resource.
func isGivenUp(finish string) bool {
	return containsAny(strings.ToLower(finish), "error", "abort", "insufficient")
}

// GivenUp is the error of an answer whose finish reason says so, nil for any other. Protocols have it that pass
// no finish reason on and have no word for such an end of their own.
func GivenUp(finish string) *Error {
	if CutBy(finish) != "" || !isGivenUp(finish) {
		return nil
	}
	return &Error{Kind: Unavailable, Code: "upstream_cut", Message: "The upstream has not ended its answer (finish_reason \"" + ExcerptOf(finish, 40) + "\")."}
}

// CutBy is what has cut an answer short, by its finish reason in any server's words: "length",
// "content_filter", or "" for nothing. Z.AI says model_context_window_exceeded and sensitive
// (pydantic-ai, models/zai.py).
func CutBy(finish string) string {
	switch lower := strings.ToLower(finish); {
	case containsAny(lower, "length", "max_tokens", "context_window"):
		return "length"
	case containsAny(lower, "filter", "safety", "sensitive"):
		return "content_filter"
	}
	return ""
}

func containsAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
}

// Count adds n to a kind's count, in a map that may not be there yet.
func Count(counts map[string]int, kind string, n int) map[string]int {
	if counts == nil {
		counts = map[string]int{}
	}
	counts[kind] += n
	return counts
}

// Bill is what an answer has cost, for whoever keeps usage accounts.
type Bill interface {
	// SavedText says what the upstream's cache has saved of the price, as a header does:
	// 0.42;usd=0.003; "" if nobody knows.
	SavedText() string
}

// Usage is the upstream's count of tokens.
type Usage = usage.Usage
