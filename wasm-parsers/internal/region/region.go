// Package region is the machine that parsers of marked text share. A format has a
// parser of its own that embeds a Region, or a Params where arguments come one by one, and
// brings what it reads, step by step, as a Format. The machine keeps the text that waits, what
// has to be given back, what the end of the output means, and how a call is written.
package region

import (
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// Format is what a parser brings to the machine.
type Format interface {
	// Step reads something off the front of Rest, changes its state, or ends the region,
	// and reports false where it needs more text. It is never called after the region's end.
	Step() bool
	// Over decides what is left when the output has ended and Step needs more text.
	Over()
}

// Region is one region and what was read of it. It implements sdk.Parser for the format
// that it was begun with.
type Region struct {
	Buffer

	Out      *sdk.Out   // where events go, while the region is fed
	Tools    []sdk.Tool // that are offered
	MaxDepth int        // how deep JSON may nest
	From     int        // end of the last call that was ended: what comes later is given back
	Began    bool       // something of a call was read that has not ended
	Ended    bool       // the output has ended
	Cut      bool       // by a token limit

	format Format
}

// Begin makes r ready for another region. It keeps the memory that r has.
func (r *Region) Begin(f Format, o sdk.Options) {
	*r = Region{format: f, Tools: o.Tools, MaxDepth: o.MaxDepth, Buffer: Buffer{mine: r.mine[:0]}}
	if r.MaxDepth < 1 {
		r.MaxDepth = abi.DefaultMaxDepth
	}
}

// Feed implements sdk.Parser.
func (r *Region) Feed(text []byte, out *sdk.Out) {
	r.Append(text)
	r.run(out)
}

// Finish implements sdk.Parser.
func (r *Region) Finish(reason sdk.Reason, out *sdk.Out) {
	r.Ended, r.Cut = true, reason == sdk.Length
	r.run(out)
	if !out.Ended() {
		r.format.Over()
	}
}

func (r *Region) run(out *sdk.Out) {
	r.Out = out
	for !out.Ended() && r.format.Step() {
	}
	r.Drop()
}

// SkipSpace reads white space and reports whether there is something behind it.
func (r *Region) SkipSpace() bool {
	rest := chars.SkipSpace(r.Rest())
	r.AdvanceTo(rest)
	return len(rest) > 0
}

// Refuse gives the region back up to byte to, and reports that nothing more is read.
func (r *Region) Refuse(to int) bool {
	r.Out.Malformed(r.From, max(to, 1))
	return false
}

// RefuseHere is Refuse up to the next byte.
func (r *Region) RefuseHere() bool { return r.Refuse(r.At()) }

// Require reports whether v is Yes. On No it refuses the region.
func (r *Region) Require(v sdk.Verdict) bool {
	if v == sdk.No {
		r.RefuseHere()
	}
	return v == sdk.Yes
}

// End ends the region behind what was read.
func (r *Region) End() bool {
	r.Out.End(r.At())
	return false
}

// Lose ends a region in the middle of a call at the end of the output. A call that was cut
// off by a token limit is lost, and is not text either.
func (r *Region) Lose() {
	if r.Cut && r.Began {
		r.Out.Cut()
		r.Out.End(r.Fed())
		return
	}
	r.Out.Malformed(r.From, r.Fed())
}

// Marker reads a marker that must come next. It reports false where it needs more text and
// where the region is refused.
func (r *Region) Marker(marker string) bool {
	if !r.Require(markup.Match(r.Rest(), marker)) {
		return false
	}
	r.Advance(len(marker))
	return true
}

// Verdict is what a tag, a quote or a bracket inside a value turned out to be.
type Verdict uint8

// The verdicts.
const (
	Text    Verdict = iota // part of the value
	Closes                 // the value's own end
	Implies                // what only comes behind the value, whose end is missing
	Broken                 // what no value may hold
	Unclear                // more text is needed
)

// Wait is Unclear as long as there may be more text, and v at its end.
func (r *Region) Wait(v Verdict) Verdict {
	if r.Ended {
		return v
	}
	return Unclear
}

// example fills in what stands for something in the forms of calls.
var example = strings.NewReplacer("NAME", "get_weather", "KEY", "city", "VALUE", "Oslo", "true|false", "true",
	`{"name", "arguments"}`, `{"name": "get_weather", "arguments": {"city": "Oslo"}}`,
	`{"name", "parameters"}`, `{"name": "get_weather", "parameters": {"city": "Oslo"}}`,
	"{…}", `{"city": "Oslo"}`, "{ARGUMENTS}", `{"city": "Oslo"}`)

// Spec is a spec of a parser's description, what tells its regions, and what makes a parser that
// is not ready yet. An example that p does not give is the first of its forms, filled in.
func Spec(p abi.Parser, canParse func([]byte) sdk.Verdict, parser func() sdk.Reusable) sdk.Spec {
	if p.Example == "" {
		p.Example = example.Replace(p.Formats[0])
	}
	p.Streams = !p.Heuristic // the gateway holds heuristic regions to their end
	return sdk.Spec{Parser: p, CanParse: canParse, New: New(parser)}
}

// New makes the New of a sdk.Spec from what makes a parser that is not ready yet.
func New(parser func() sdk.Reusable) func(sdk.Options) (sdk.Parser, error) {
	return func(o sdk.Options) (sdk.Parser, error) {
		p := parser()
		return p, p.Reset(o)
	}
}
