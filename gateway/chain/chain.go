package chain

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// Runner opens parsers for one response.
type Runner interface {
	// CanParse asks a parser about the head of a region.
	CanParse(ctx context.Context, parser string, head []byte) (abi.Verdict, error)
	// Open opens a parser for a region.
	Open(ctx context.Context, parser string, opts abi.Options) (Run, error)
}

// Run is a parser that reads one region. The events are valid until the next call.
type Run interface {
	Feed(ctx context.Context, text []byte) ([]abi.Event, error)
	Finish(ctx context.Context, reason abi.Reason) ([]abi.Event, error)
	Close()
}

// Options are what a chain needs to know of the request.
type Options struct {
	// Tools gives the offered tools; it is called once, when a region begins, and never
	// for text without one. It may be nil.
	Tools func() []abi.Tool
	// Inside says of what types the values are that are nested in the arguments of a tool. It may
	// be nil.
	Inside func(tool string) *repair.Shape
	// AnyName takes every name for an offered one, for text whose request is not
	// known.
	AnyName bool
	// NoTools looks for reasoning only: the request offers no tools.
	NoTools bool
	// Reasoning is how the output begins: Closed, Open or Auto.
	Reasoning Reasoning
	// InReasoning says what a call is that stands in open reasoning.
	InReasoning InReasoning
	// Answers reports whether a text is the JSON that the request asks for. That is no call then,
	// though it may read like one. It may be nil.
	Answers func(text []byte) bool
}

// InReasoning says what a call is that the model wrote before its reasoning ended.
type InReasoning int

// The ways to read it.
const (
	Buffer InReasoning = iota // a call if the output ends with it; until then it waits
	Ends                      // the end of the reasoning, and a call
	Ignore                    // the model's thought
)

// Reasoning says whether a model's output begins inside its reasoning, which only
// the prompt could tell.
type Reasoning int

// The ways an output may begin.
const (
	Closed Reasoning = iota
	Open             // the prompt ended with the start marker
	Auto             // open if an end marker comes before any start marker
)

// Report is what a chain did, for headers and logs.
type Report struct {
	Parsers  []string       // names of the parsers that have read some of the text
	Calls    int            // complete calls
	Repairs  map[string]int // what was repaired, by kind
	Warnings []string       // what went wrong or was lost
	Reasoned bool           // reasoning, or the markers around it, stood in the text
}

// BrokenCall warns of a call that had begun and is none, or that no parser has read beside others.
const BrokenCall = "broken_call"

func (r *Report) warn(w string) {
	if !slices.Contains(r.Warnings, w) {
		r.Warnings = append(r.Warnings, w)
	}
}

// readBy notes a parser that has read some of the text.
func (r *Report) readBy(parser string) {
	if !slices.Contains(r.Parsers, parser) {
		r.Parsers = append(r.Parsers, parser)
	}
}

// note takes note of an event of a call.
func (r *Report) note(e *abi.Event, parser string) {
	switch e.Kind {
	case abi.Repair:
		if e.Name == BrokenCall { // the parser has made text of it
			r.warn(BrokenCall)
			return
		}
		if r.Repairs == nil {
			r.Repairs = map[string]int{}
		}
		r.Repairs[e.Name]++
	case abi.CallEnd:
		r.Calls++
		r.readBy(parser)
	case abi.Cut:
		r.warn("truncated_call")
	}
}

// Chain reads the text of one choice of one answer. It is used by one goroutine. What is
// ordinary goes by it, as Plain says; what may be more goes into its machine.
type Chain struct {
	machine machine
	waiting []byte // text from Plain whose white space at the end may touch markup
}

// New makes a chain for one choice.
func (p *Plan) New(runner Runner, opts Options) *Chain {
	c := &Chain{machine: machine{
		parsers: parsers{plan: p, runner: runner, opts: opts, offers: offers{get: opts.Tools, inside: opts.Inside, any: opts.AnyName}},
		in:      input{scan: scanner{a: p.automaton}},
		text: writer{
			at:      place{lineBlank: true, lineMarks: true},
			out:     output{kind: abi.Content, open: -1},
			noTools: opts.NoTools,
		},
		reasoning: reasoning{begins: opts.Reasoning, open: p.reasoning && opts.Reasoning == Open},
		sofar:     progress{start: true},
	}}
	c.machine.text.left.offers = &c.machine.parsers.offers
	return c
}

// Report returns what the chain did so far.
func (c *Chain) Report() *Report { return &c.machine.text.report }

// Passage is what Plain says of a piece of text.
type Passage int

// The values of [Passage].
const (
	Undecided      Passage = iota // the text must be fed
	PassThrough                   // the text goes out as it is, and so does what waited
	HoldWhitespace                // what waited goes out as it is; the text waits, for it ends in white space
)

// Plain is the short way for text that holds nothing to parse: the chain takes it
// for read, and gives no events for it. Where it says Undecided it has taken nothing.
// White space at the end of a text may yet touch markup, so such a text waits for
// the next one.
func (c *Chain) Plain(text []byte) Passage {
	if len(text) == 0 {
		if c.Holding() {
			return Undecided
		}
		return PassThrough
	}
	m := &c.machine
	if !c.idle() || chars.Blank(text) || !utf8.RuneStart(text[0]) || incomplete(text) > 0 ||
		c.Holding() && chars.IsSpace(text[0]) || !m.in.harmless(text) {
		return Undecided
	}
	m.text.out.settle()
	if len(c.waiting) > 0 {
		c.passed(c.waiting)
		c.waiting = c.waiting[:0]
	}
	if chars.IsSpace(text[len(text)-1]) {
		c.waiting = append(c.waiting, text...)
		return HoldWhitespace
	}
	c.passed(text)
	return PassThrough
}

// passed notes content that goes by the machine.
func (c *Chain) passed(text []byte) {
	c.machine.text.passed(text)
	c.machine.in.gone += len(text)
}

// idle reports whether nothing but white space waits to be decided.
func (c *Chain) idle() bool {
	m := &c.machine
	out := &m.text.out
	return len(m.in.buf) == 0 && len(m.tail) == 0 && len(m.ahead.text) == 0 && m.stray == "" && m.text.block.state == noBlock && m.thought == nil && !m.sofar.start && !m.reasoning.open &&
		!out.trim && (!out.holding() || !out.marked)
}

// Settle tells the chain that its reader gives out all that waits as it came, since
// what follows is not text. It reports whether that is right: whether nothing but
// white space waits, and there was no markup.
func (c *Chain) Settle() bool {
	m := &c.machine
	if m.region != nil || m.thought != nil || len(m.tail) > 0 || len(m.ahead.text) > 0 || m.text.block.state != noBlock || m.reasoning.open || c.Marked() || m.in.scan.found.end > 0 || !chars.Blank(m.in.buf) {
		return false
	}
	if len(m.in.buf) > 0 {
		m.text.passed(m.in.buf)
		m.in.skip(len(m.in.buf))
	}
	if len(c.waiting) > 0 {
		c.passed(c.waiting)
		c.waiting = c.waiting[:0]
	}
	m.text.out.settle()
	return true
}

// Holding reports whether the chain holds text of which it has not said yet what
// it is.
func (c *Chain) Holding() bool {
	m := &c.machine
	return len(m.in.buf) > 0 || len(c.waiting) > 0 || len(m.tail) > 0 || len(m.ahead.text) > 0 || m.text.out.holding() || m.thought != nil || m.text.block.state != noBlock
}

// Marked reports whether there was markup: until then all text was content, or
// reasoning if the output began inside of it.
func (c *Chain) Marked() bool { return c.machine.text.out.marked }

// Parsing reports whether a parser reads the text at present.
func (c *Chain) Parsing() bool { return c.machine.region != nil && c.machine.region.reading != nil }

// Showing reports whether a parser reads the text at present, and something of what it read has been
// given out. Until then it may give all of the text back.
func (c *Chain) Showing() bool { return c.Parsing() && c.machine.region.reading.shown }

// Feed reads the next piece of text. The events are valid until the next call.
func (c *Chain) Feed(ctx context.Context, text []byte) []abi.Event {
	c.take(text)
	c.machine.advance(ctx, end{})
	return c.machine.text.out.events.events()
}

// take gives text to the machine, behind what waited, for new events.
func (c *Chain) take(text []byte) {
	c.machine.text.out.events.reset()
	c.machine.in.take(c.waiting)
	c.waiting = c.waiting[:0]
	c.machine.in.take(text)
}

// Finish tells the chain that the output has ended, and why.
func (c *Chain) Finish(ctx context.Context, reason abi.Reason) []abi.Event {
	c.take(nil)
	m := &c.machine
	m.advance(ctx, end{final: true, reason: reason})
	if m.reasoning.open && m.reasoning.opened == nil && m.thought == nil {
		m.text.report.warn("reasoning_end_missing")
	}
	m.settle(true)
	if len(m.tail) > 0 {
		m.markup()
		m.text.report.warn("end_token")
	}
	m.text.finish()
	if m.text.report.Calls > 0 && (m.sofar.unread || c.Unread()) { // alone it may be a text about calls
		m.text.report.warn(BrokenCall)
	}
	return m.text.out.events.events()
}

// See notes content in which there is nothing to read, and which goes by the chain whole.
func (c *Chain) See(text []byte) { c.machine.text.left.add(text) }

// Unread reports whether the content so far holds what is no call to any parser and looks like one. In an answer
// that has calls besides it was meant as one.
func (c *Chain) Unread() bool {
	m := &c.machine
	m.text.left.look()
	return m.text.left.found && !m.sofar.invents
}

// Split tells the chain that its reader has reasoning which somebody else has split
// off the text, so that the text does not begin with any.
func (c *Chain) Split() {
	if m := &c.machine; !m.sofar.begun && m.reasoning.opened == nil {
		m.reasoning.open, m.reasoning.begins = false, Closed
	}
}

// Close lets the open parser go. It may be called more than once.
func (c *Chain) Close() {
	if c.machine.region != nil {
		c.machine.region.close()
	}
}

// incomplete is how many bytes at the end of text begin a rune that is not
// complete yet.
func incomplete(text []byte) int {
	if len(text) == 0 || text[len(text)-1] < utf8.RuneSelf {
		return 0
	}
	for n := 1; n <= min(len(text), utf8.UTFMax-1); n++ {
		if b := text[len(text)-n]; utf8.RuneStart(b) {
			if utf8.FullRune(text[len(text)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

// NewCandidate is a parser as a candidate, under its own name.
func NewCandidate(p *abi.Parser) Candidate {
	return Candidate{
		Name: p.Name, Parser: p.Name, Priority: p.Priority, Triggers: p.Triggers, Starts: p.Starts,
		Models: p.Models, Heuristic: p.Heuristic, Framing: p.Framing, End: endOf([]byte(p.Example)),
	}
}

// opener opens parsers as a Runner does, and says more exactly what it opens: a session of
// a plugin host is one.
type opener[R Run] interface {
	CanParse(ctx context.Context, parser string, head []byte) (abi.Verdict, error)
	Open(ctx context.Context, parser string, opts abi.Options) (R, error)
}

// Runs makes a Runner of what opens a type of Run.
func Runs[R Run](o opener[R]) Runner { return runs[R]{o} }

type runs[R Run] struct{ opener[R] }

func (r runs[R]) Open(ctx context.Context, parser string, opts abi.Options) (Run, error) {
	run, err := r.opener.Open(ctx, parser, opts)
	if err != nil {
		return nil, err // not a nil of type R
	}
	return run, nil
}

// ReadAlone reads a text that a token limit has cut with one parser by itself, in pieces as
// they come from a network, and says what the chain did. It is for trying a parser.
func ReadAlone(ctx context.Context, runner Runner, p *abi.Parser, opts abi.Options, text string) *Report {
	const piece = 4 << 10
	candidate := NewCandidate(p)
	candidate.Settings = opts.Settings
	plan := NewPlan([]Candidate{candidate}, PlanOptions{})
	c := plan.New(runner, Options{Tools: func() []abi.Tool { return opts.Tools }, AnyName: true})
	defer c.Close()
	for rest := text; rest != ""; rest = rest[min(len(rest), piece):] {
		c.Feed(ctx, []byte(rest[:min(len(rest), piece)]))
	}
	c.Finish(ctx, abi.Length)
	return c.Report()
}
