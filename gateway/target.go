package gateway

import (
	"context"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/internal/route"
	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/internal/spelling"
)

// Mode says what a target does about tool calls that the model wrote as text.
type Mode int

// The modes.
const (
	Off    Mode = iota // forward
	Report             // forward, and say what Repair would have done
	Repair             // turn them into tool calls
)

// String is the mode's name in the configuration.
func (m Mode) String() string { return [...]string{"off", "report", "repair"}[m] }

// Target is one choice of a route: a provider, a model of its upstream, and how
// that model's text is read.
type Target struct {
	Provider string
	Model    string // the upstream's name; "" is the name that the client sent
	Parsers  ParserSpec
	Mode     Mode
	// Reasoning says how the model's output begins; it matters if Parsers.Reasoning.
	Reasoning chain.Reasoning
	// InReasoning says what a call is that stands in open reasoning.
	InReasoning chain.InReasoning
	// RawText asks the upstream for the model's own text, calls and reasoning
	// unparsed. What that takes is the provider's business.
	RawText bool
	// RawServer is the upstream's software, where it has shown which it is and RawText depends on
	// that; "" for what the provider knows.
	RawServer string
	// Adapts says that an upstream which refuses tools is asked for calls in another way.
	Adapts bool
	// Prompted is the format, one of PromptForms, in which tools are written into the
	// prompt of an upstream without tools; "" sends them as tools.
	Prompted string
	// Weight is the chance, against the other targets of the route, to be asked first.
	// If none has one the first is.
	Weight int
	// OnInvalid says what becomes of a call that cannot be repaired.
	OnInvalid InvalidPolicy
	// OnDoubt says what becomes of a call that is valid and can hardly be meant.
	OnDoubt DoubtPolicy
	// Structured says what is done about an answer that was asked to be JSON and is none, and
	// OnBadOutput what becomes of one that cannot be repaired.
	Structured  Mode
	OnBadOutput InvalidPolicy
	// PromptedFormat writes the form that an answer is to have into the prompt of an upstream
	// that knows nothing of response_format.
	PromptedFormat bool
	// AllowEmpty takes an answer with nothing in it for an answer.
	AllowEmpty bool
	// OfControl says that it is the control's, asked if the targets of the request's own arm fail.
	OfControl bool
}

// InvalidPolicy says what becomes of a call, or of an answer that was to be JSON, that is broken and
// cannot be repaired.
type InvalidPolicy int

// The policies.
const (
	PassInvalid   InvalidPolicy = iota // it goes on as it is, and is reported
	RejectInvalid                      // the request ends with an error
	ReaskInvalid                       // the model is told what is wrong and asked once more, then as RejectInvalid
)

// DoubtPolicy says what becomes of a call that is valid and can hardly be meant: a required text is
// empty, or the model gives two calls as alternatives.
type DoubtPolicy int

// The policies.
const (
	ReportDoubt DoubtPolicy = iota // it goes on and is reported
	PassDoubt                      // it is a call like any other
	RefuseDoubt                    // it is one that cannot be repaired, of which InvalidPolicy decides
)

// ParserSpec names the parsers of a target.
type ParserSpec struct {
	Auto      bool     // all that are loaded
	Names     []string // or these; neither: none
	Reasoning bool     // split reasoning off the content
}

// Reads reports whether the text of the target's answers is read. An upstream is asked for
// text unparsed only then.
func (t *Target) Reads(offersTools bool) bool {
	return t.Mode != Off && !t.Parsers.None() && (offersTools || t.Parsers.Reasoning)
}

// None reports whether the text is not read at all.
func (s ParserSpec) None() bool { return !s.Auto && len(s.Names) == 0 }

// ParserSource gives the parsers. The wiring implements it over the plugin host. Where answers
// are kept both it and its sessions have to be a [Fingerprinter] too, or an answer that
// other parsers have read may be given again.
type ParserSource interface {
	// Plan returns the parsers of spec for an upstream's model, made ready, and begins the
	// reading of one response with them: they stay the same to its end. It waits until
	// they are loaded, or ctx ends.
	Plan(ctx context.Context, spec ParserSpec, model string) (*chain.Plan, ParserSession, error)
}

// Fingerprinter is what stands for the code of all parsers: of a ParserSource those that are
// loaded now, of a ParserSession those that it leases. It is asked for with each request, must
// not wait, and is the same in every process with the same parsers. A source whose parsers
// are not loaded yet says "".
type Fingerprinter interface{ Fingerprint() string }

// ParserSession is one response's lease of the parsers.
type ParserSession interface {
	chain.Runner
	// Close gives everything back. No run of the session is used after it.
	Close()
}

// AnyModel stands in a route's name for any text; alone it is the route for names that
// have no other.
const AnyModel = route.Any

// Name is what the target is called where targets are told apart: a model of a provider.
func (t Target) Name() string { return t.Provider + "/" + t.Model }

// Candidate is a target of a request's route, as it stands now.
type Candidate struct {
	Target
	Running int // requests
	// Ready says that the target can be asked: its breaker is closed, and it does not want to
	// be left alone.
	Ready bool
}

// Near lists up to three of names that name may be a slip of, the nearest first, for an
// error to show.
func Near(name string, names []string) []string { return slips.Near(name, names) }

var slips = spelling.Rule{Most: 3, Longest: maxModel, Parts: true, Changes: func(_, known string) int { return max(2, len(known)/3) }}

// TargetState is what the gateway knows of a target, for the operator.
type TargetState struct {
	Provider string `json:"provider"`
	// Model is the upstream's name, or "*" for all of the provider's that the
	// configuration does not name.
	Model string `json:"model"`
	// Running is how many requests the target is at work on, for this gateway.
	Running int64 `json:"running"`
	// FirstToken is how long the first useful byte of an answer has taken lately, of whole
	// answers all of it, and Answer how long answers have taken, in seconds: a mean in
	// which those of two minutes ago count for a third. Both are 0 if there was no answer
	// in ten minutes.
	FirstToken float64 `json:"first_token"`
	Answer     float64 `json:"answer"`
	// LastOutcome is how the last attempt ended, "ok" or the error's code, at LastAt; it
	// is "" if there was none.
	LastOutcome string    `json:"last_outcome"`
	LastAt      time.Time `json:"last_at,omitzero"`
	// Tools is how the upstream is asked for calls since it has refused tools: "raw" or
	// "prompted", as the configuration calls it; "" if it has not.
	Tools string `json:"tools,omitempty"`
	// Breaker is the state of the provider's breaker, and Cooling for how many more
	// seconds the provider wants to be left alone.
	Breaker breaker.State `json:"breaker"`
	Cooling float64       `json:"cooling"`
}

// CacheSnapshot is what the gateway believes to be in the caches of targets.
type CacheSnapshot = prefix.Snapshot
