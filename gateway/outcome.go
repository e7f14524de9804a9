package gateway

import (
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
	// Said says that something came which a client would act on, before anything was read
	// from it.
	Said bool
	// UpstreamError says that the upstream ended its stream with an error, which was
	// passed on.
	UpstreamError bool
	// End is the end marker of a stream as it came, nil if none has.
	End []byte
	// Parsers are those whose calls were taken. Calls is how many calls were read from the
	// text, as Native is how many came as tool_calls.
	Parsers       []string
	Calls, Native int
	// Read says that parsers read the text. Readers stands for the code of the parsers that read the text; "": none do, or nobody
	// knows ([Fingerprinter]).
	Read    bool
	Readers string
	// Called are the tools that the answer calls, in their order, and Acted says that the
	// upstream has made a call, of any kind, or used a tool of its own.
	Called []string
	Acted  bool
	// Repairs counts what was mended, by kind, and Faults the calls that were broken, by
	// class: "invalid_json", "bad_index" and so on.
	Repairs, Faults map[string]int
	// Warnings say what went wrong or is odd.
	Warnings []string
	// Guard is the verdict on an answer that made no call; nil if nobody looked.
	Guard *Verdict
	// References are those that were resolved.
	References []Resolution
	// Changed says that the client receives something else than the upstream sent.
	Changed bool
	// Committed says that the client has seen something of it: no other answer can take its
	// place any more.
	Committed bool
	// Bill is what the answer has cost, if anybody reckons that and the usage was reported.
	Bill Bill
}

// HasCall reports whether the answer has a call of any kind.
func (o *Outcome) HasCall() bool { return o.Acted || len(o.Called) > 0 }

// WasCut reports whether the answer was cut short: what it lacks might have followed. Servers
// have many words for an end that is none.
func (o *Outcome) WasCut() bool {
	finish := strings.ToLower(o.Finish)
	for _, cut := range [...]string{"length", "max_tokens", "filter", "safety", "error", "abort"} {
		if strings.Contains(finish, cut) {
			return true
		}
	}
	return false
}

// Repaired counts a repair.
func (o *Outcome) Repaired(kind string) { o.Repairs = Count(o.Repairs, kind, 1) }

// Fault counts something that was wrong with a call.
func (o *Outcome) Fault(class string) { o.Faults = Count(o.Faults, class, 1) }

// Warn adds a warning, once.
func (o *Outcome) Warn(w string) {
	if !slices.Contains(o.Warnings, w) {
		o.Warnings = append(o.Warnings, w)
	}
}

// Parsed notes a parser whose calls were taken.
func (o *Outcome) Parsed(name string) {
	if !slices.Contains(o.Parsers, name) {
		o.Parsers = append(o.Parsers, name)
	}
}

// Count adds n to a kind's count, in a map that may not be there yet.
func Count(counts map[string]int, kind string, n int) map[string]int {
	if counts == nil {
		counts = map[string]int{}
	}
	counts[kind] += n
	return counts
}

// Bill is what an answer has cost, for whoever keeps the books.
type Bill interface {
	// SavedText says what the upstream's cache has saved of the price, as a header does:
	// 0.42;usd=0.003; "" if nobody knows.
	SavedText() string
}

// Usage is the upstream's count of tokens.
type Usage = usage.Usage
