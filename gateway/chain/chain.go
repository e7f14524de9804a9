package chain

import (
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/wire"
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
	// AnyName takes every name for an offered one, for text whose request is not
	// known.
	AnyName bool
	// NoTools looks for reasoning only: the request offers no tools.
	NoTools bool
	// Reasoning is how the output begins: Closed, Open or Auto.
	Reasoning Reasoning
	// InReasoning says what a call is that stands in open reasoning.
	InReasoning InReasoning
	MaxDepth    int // how deep the JSON of a call may nest
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
	Parsers  []string       // names of the parsers whose calls were taken
	Calls    int            // complete calls
	Repairs  map[string]int // what was mended, by kind
	Warnings []string       // what went wrong or was lost
}

// Chain reads the text of one choice of one answer. It is used by one goroutine.
type Chain struct {
	plan   *Plan
	runner Runner
	opts   Options
	text   writer
	offers []abi.Tool // the offered tools, once opts.Tools was called

	buf     []byte // text that is not decided yet
	spare   []byte // the memory that an empty buf begins in again
	waiting []byte // text from Plain whose white space at the end may touch markup
	scanned int    // how much of buf the scanner has read
	scan    scanner
	region  *region // what begins at buf[0], or nil
	start   bool    // nothing but white space came since the start, or since reasoning
	begun   bool    // something else came since the start
	open    bool    // inside reasoning
	opened  *marker // how it began; nil if the prompt did that
	after   bool    // nothing but white space came since the reasoning
	wrapper *marker // the answer's, that is open
	example bool    // a block of code that looked like a call was none: none of the others is
	cut     bool    // the output ended at a token limit
	mention bool    // the text shows a chat's own markup
	classes uint16  // classes of markers that were read
	spoken  uint16  // classes of markers that were text
	spent   bool    // a limit was reached: no parser is asked any more
	tail    []byte  // an end token and what followed: not text if the output ends here
	thought *thought
	report  Report
}

// New makes a chain for one choice.
func (p *Plan) New(runner Runner, opts Options) *Chain {
	return &Chain{
		plan: p, runner: runner, opts: opts,
		scan: scanner{a: p.automaton}, start: true, text: newWriter(),
		open: p.reasoning && opts.Reasoning == Open,
	}
}

// Report returns what the chain did so far.
func (c *Chain) Report() *Report { return &c.report }

// Passage is what Plain says of a piece of text.
type Passage int

// The passages.
const (
	Unsure Passage = iota // the text must be fed
	Clean                 // the text goes out as it is, and so does what waited
	White                 // what waited goes out as it is; the text waits, for it ends in white space
)

// Plain is the short way for text that holds nothing to parse: the chain takes it
// for read, and gives no events for it. Where it says Unsure it has taken nothing.
// White space at the end of a text may yet touch markup, so such a text waits for
// the next one.
func (c *Chain) Plain(text []byte) Passage {
	if len(text) == 0 {
		if c.Holding() {
			return Unsure
		}
		return Clean
	}
	if !c.idle() || c.Holding() && chars.IsSpace(text[0]) || !c.harmless(text) {
		return Unsure
	}
	c.text.settle()
	if len(c.waiting) > 0 {
		c.text.passed(c.waiting)
		c.waiting = c.waiting[:0]
	}
	if chars.IsSpace(text[len(text)-1]) {
		c.waiting = append(c.waiting, text...)
		return White
	}
	c.text.passed(text)
	return Clean
}

// Settle tells the chain that its reader gives out all that waits as it came, since
// what follows is not text. It reports whether that is right: whether nothing but
// white space waits, and there was no markup.
func (c *Chain) Settle() bool {
	if c.region != nil || c.thought != nil || len(c.tail) > 0 || c.open || c.Marked() || c.scan.found.end > 0 || !chars.Blank(c.buf) {
		return false
	}
	for _, text := range [][]byte{c.buf, c.waiting} {
		if len(text) > 0 {
			c.text.passed(text)
		}
	}
	c.waiting = c.waiting[:0]
	c.drop(len(c.buf))
	c.rescan()
	c.text.settle()
	return true
}

// idle reports whether nothing but white space waits to be decided.
func (c *Chain) idle() bool {
	return len(c.buf) == 0 && len(c.tail) == 0 && c.thought == nil && !c.start && !c.open && !c.text.trims() && (!c.text.holding() || !c.Marked())
}

// harmless reports whether text holds no literal, nor a part of one at its end.
func (c *Chain) harmless(text []byte) bool {
	if chars.Blank(text) || !utf8.RuneStart(text[0]) || incomplete(text) > 0 {
		return false
	}
	c.scan.skip = skipper{} // what it knows is about buf
	_, found := c.scan.scan(text, 0, false)
	c.scan.skip = skipper{}
	if found || c.scan.state != 0 || c.scan.found.end > 0 {
		c.scan.state, c.scan.found = 0, match{}
		return false
	}
	return true
}

// Holding reports whether the chain holds text of which it has not said yet what
// it is.
func (c *Chain) Holding() bool {
	return len(c.buf) > 0 || len(c.waiting) > 0 || len(c.tail) > 0 || c.text.holding() || c.thought != nil
}

// Marked reports whether there was markup: until then all text was content, or
// reasoning if the output began inside of it.
func (c *Chain) Marked() bool { return c.text.marked }

// Parsing reports whether a parser reads the text at present.
func (c *Chain) Parsing() bool { return c.region != nil && c.region.run != nil }

// Feed reads the next piece of text. The events are valid until the next call.
func (c *Chain) Feed(ctx context.Context, text []byte) []abi.Event {
	c.text.reset()
	c.take(c.waiting)
	c.waiting = c.waiting[:0]
	c.take(text)
	c.advance(ctx, false, abi.Stop)
	return c.text.events
}

// take appends text to buf.
func (c *Chain) take(text []byte) {
	empty := len(c.buf) == 0
	if c.buf = append(c.buf, text...); empty {
		c.spare = c.buf
	}
}

// Finish tells the chain that the output has ended, and why.
func (c *Chain) Finish(ctx context.Context, reason abi.Reason) []abi.Event {
	c.text.reset()
	c.take(c.waiting)
	c.waiting = c.waiting[:0]
	c.cut = reason == abi.Length
	c.advance(ctx, true, reason)
	if c.open && c.opened == nil && c.thought == nil {
		c.warn("reasoning_end_missing")
	}
	c.settleThought(true)
	if len(c.tail) > 0 {
		c.tail = nil
		c.warn("end_token")
		c.text.edge(abi.Content)
	}
	c.text.finish()
	return c.text.events
}

// Split tells the chain that its reader has reasoning which somebody else has split
// off the text, so that the text does not begin with any.
func (c *Chain) Split() {
	if !c.begun && c.opened == nil {
		c.open, c.opts.Reasoning = false, Closed
	}
}

// Close lets the open parser go. It may be called more than once.
func (c *Chain) Close() {
	if c.region != nil {
		c.region.close()
	}
}

// advance reads buf as far as it can be decided.
func (c *Chain) advance(ctx context.Context, final bool, reason abi.Reason) {
	for {
		if c.region != nil {
			if !c.parse(ctx, final, reason) {
				return
			}
			continue
		}
		if !c.seek(final) {
			return
		}
	}
}

// pass gives the first n bytes of buf out as content or reasoning.
func (c *Chain) pass(n int) {
	if n <= 0 {
		return
	}
	text := c.buf[:n]
	if !chars.Blank(text) {
		c.say()
	}
	switch {
	case len(c.tail) > 0:
		c.tail = append(c.tail, text...)
	case c.thought != nil:
		c.thought.raw = append(c.thought.raw, text...)
		c.thought.after = append(c.thought.after, text...)
		c.thought.closes = false
		c.text.line(text)
	default:
		c.text.write(c.kind(), text)
	}
	c.drop(n)
}

// kind is what text is at present.
func (c *Chain) kind() abi.Kind {
	if c.open {
		return abi.Reasoning
	}
	return abi.Content
}

// drop forgets the first n bytes of buf.
func (c *Chain) drop(n int) {
	if c.buf = c.buf[n:]; len(c.buf) == 0 {
		c.buf = c.spare[:0]
	}
	c.scan.drop(n)
	c.scanned = max(0, c.scanned-n)
}

// rescan makes the scanner begin anew at the start of buf.
func (c *Chain) rescan() {
	c.scan.state, c.scan.found, c.scanned = 0, match{}, 0
}

func (c *Chain) openReasoning(literal string, m *marker) {
	c.flushTail()
	c.passThought()
	c.drop(len(literal))
	c.rescan()
	c.begun = true
	if !c.open {
		c.open, c.opened = true, m
		c.classes |= 1 << m.class
		c.text.newLine()
		c.opts.Reasoning = Closed // a start marker came: an end marker is no surprise any more
		c.text.edge(abi.Reasoning)
	}
}

func (c *Chain) closeReasoning(literal string) {
	c.flushTail()
	c.passThought()
	c.drop(len(literal))
	c.rescan()
	switch {
	case c.open:
		c.open, c.opened = false, nil
	case c.opts.Reasoning == Auto && c.report.Calls == 0:
		c.opts.Reasoning = Closed
		c.text.add(abi.Event{Kind: wire.WasReasoning})
		c.text.wrote[0], c.text.white[0] = false, c.text.white[0][:0] // the answer begins here
		c.warn("reasoning_start_missing")
	default:
		c.warn("reasoning_end_stray")
	}
	c.start, c.after, c.begun = true, true, true
	c.text.newLine()
	c.text.edge(abi.Content)
}

func (c *Chain) warn(w string) { c.report.warn(w) }

func (r *Report) warn(w string) {
	if !slices.Contains(r.Warnings, w) {
		r.Warnings = append(r.Warnings, w)
	}
}

// failed notes that a parser failed and says why in one word.
func (c *Chain) failed(parser string, err error) {
	reason := "error"
	var classed interface{ Reason() string }
	if errors.As(err, &classed) {
		reason = classed.Reason()
	}
	if reason == "input_limit" || reason == "total_limit" {
		c.spent = true
	}
	c.warn("plugin:" + parser + ":" + reason)
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
