package chain

import (
	"context"
	"slices"

	"github.com/callgate/callgate/sdk/abi"
)

// region is text that begins at a trigger, at buf[0], while parsers read it.
type region struct {
	candidates []*Candidate // those still to be asked
	found      string       // the trigger; "" for a region at the start of the output
	literal    int          // length of the longest trigger that stands here
	declined   int          // how far a parser read that gave the region back

	candidate *Candidate // who reads it now
	run       Run
	fed       int  // how much of buf the run has read
	hold      bool // events wait for the region's end
	doubt     doubt
	framed    bool // a call in framing waits until it is meant
	waits     bool // one does
	gone      bool // it was cut off before anything was certain
	gate      bool // events wait for a call that is meant
	held      []abi.Event
	shown     bool     // an event of the region has been given out
	clean     int      // how much of buf was read when the last call was complete
	args      args     // the arguments of the call at hand
	offered   bool     // the call at hand has an offered name
	meant     bool     // or one that may be forwarded
	argued    bool     // or one that may be if it has arguments
	known     int      // complete calls with an offered name
	calls     int      // complete calls
	short     int      // those of them that lack an argument or whose name was not offered
	lacks     bool     // one of them lacks an argument
	examples  int      // those whose strings are what documentation writes for a value
	cut       bool     // its last call was cut off
	dropped   bool     // a call was cut and left out
	kind      abi.Kind // of the last text that was given out
}

func (c *Chain) newRegion(start bool) *region {
	r := &region{candidates: c.plan.at(c.buf, start), literal: 1}
	if c.opts.NoTools {
		r.candidates = slices.DeleteFunc(r.candidates, func(candidate *Candidate) bool { return !candidate.Framing })
	}
	for _, candidate := range r.candidates {
		r.literal = max(r.literal, longestPrefix(candidate.Triggers, c.buf))
	}
	return r
}

func (r *region) close() {
	if r.run != nil {
		r.run.Close()
		r.run = nil
	}
}

// parse carries the region on. It reports whether the region is done with.
func (c *Chain) parse(ctx context.Context, final bool, reason abi.Reason) bool {
	r := c.region
	for {
		if r.run == nil && !c.choose(ctx, final) {
			if len(r.candidates) > 0 {
				return false // a candidate needs more text to tell
			}
			if r.gone {
				c.leave(len(c.buf))
				return true
			}
			c.decline(ctx)
			return true
		}
		if done := c.feed(ctx, final, reason); done || r.run != nil {
			return done
		}
	}
}

// choose asks the candidates until one opens. Where it returns false and there are
// candidates left, the first of them needs more text.
func (c *Chain) choose(ctx context.Context, final bool) bool {
	r := c.region
	for len(r.candidates) > 0 {
		candidate := r.candidates[0]
		verdict, err := c.ask(ctx, candidate)
		if verdict == abi.Maybe && !final && len(c.buf) < abi.MaxHead {
			return false
		}
		if verdict == abi.Maybe && final && c.cut && !candidate.Heuristic && r.found != "" {
			return c.cutOff()
		}
		r.candidates = r.candidates[1:]
		if verdict == abi.Yes {
			r.run, err = c.runner.Open(ctx, candidate.Parser, c.options(candidate))
		}
		if err != nil {
			c.failed(candidate.Name, err)
			r.run = nil
		}
		if r.run != nil {
			c.begin(candidate)
			return true
		}
	}
	return false
}

// ask asks a candidate about the region's head, unless it has no say here.
func (c *Chain) ask(ctx context.Context, candidate *Candidate) (abi.Verdict, error) {
	if candidate.Heuristic && c.fenced() || candidate.Framing && c.doubts(candidate) == isText {
		return abi.No, nil
	}
	verdict, err := c.runner.CanParse(ctx, candidate.Parser, c.buf[:min(len(c.buf), abi.MaxHead)])
	if err != nil {
		return abi.No, err
	}
	return verdict, nil
}

// cutOff drops what may have been the beginning of a call when a token limit cut the
// output off. It reports false, as choose does for a region that is over.
func (c *Chain) cutOff() bool {
	c.region.candidates = nil
	c.warn("truncated_call")
	c.tail = c.tail[:0]
	c.text.edge(abi.Content)
	c.region.gone = true
	return false
}

// begin makes the region ready for what candidate's run will say.
func (c *Chain) begin(candidate *Candidate) {
	r := c.region
	*r = region{candidates: r.candidates, found: r.found, literal: r.literal, declined: r.declined, candidate: candidate, run: r.run}
	thinks := c.open && c.opts.InReasoning == Buffer && !candidate.Framing
	r.doubt = c.doubts(candidate)
	r.hold = candidate.Heuristic || c.fenced() || thinks || r.doubt != noDoubt
	r.gate = c.plan.auto && !candidate.Framing && !r.hold
	r.framed = c.plan.auto && candidate.Framing && !r.hold && !c.opts.NoTools
}

func (c *Chain) options(candidate *Candidate) abi.Options {
	return abi.Options{Tools: c.tools(), Settings: candidate.Settings, Fenced: c.fenced(), Guess: c.plan.auto, MaxDepth: c.opts.MaxDepth}
}

// firstFeed is how much a run is fed at first, then as much as it has read. Where a
// short region ends is not known before, so that a text of many is fed several times
// over; a call, on the other hand, should come at once.
const firstFeed = 4 << 10

// feed gives the run what is new in buf. It reports whether the region is done
// with; if it is not and there is no run any more, the next candidate is due.
func (c *Chain) feed(ctx context.Context, final bool, reason abi.Reason) bool {
	r := c.region
	text := c.whole(final)
	if !r.candidate.Framing { // a token that ends the output is nobody's markup
		text = text[:max(r.fed, len(text)-endTail(text, final))]
	}
	for r.fed < len(text) {
		n := min(len(text)-r.fed, max(firstFeed, r.fed), abi.MaxFeed)
		if r.fed+n < len(text) {
			n -= incomplete(text[r.fed : r.fed+n])
		}
		events, err := r.run.Feed(ctx, text[r.fed:r.fed+n])
		r.fed += n
		if ended, done := c.act(events, err); ended {
			return done
		}
	}
	if !final {
		return false
	}
	events, err := r.run.Finish(ctx, reason)
	if ended, done := c.act(events, err); ended {
		return done
	}
	return c.end(r.fed)
}

// act acts on a run's events. ended says that the run is over, done that the
// region is too.
func (c *Chain) act(events []abi.Event, err error) (ended, done bool) {
	r := c.region
	for _, e := range events {
		switch e.Kind {
		case abi.End:
			return true, c.end(e.To)
		case abi.Malformed:
			return true, c.giveBack(e.From, e.To)
		default:
			if c.check(&e) {
				c.release()
			}
			if e.Kind == abi.CallEnd && r.args.changed {
				c.give(abi.Event{Kind: abi.Repair, Name: "args_types"})
			}
			c.give(e)
		}
	}
	if err != nil {
		c.failed(r.candidate.Name, err)
		return true, c.giveBack(r.clean, len(c.buf))
	}
	return false, false
}

// show gives an event of a region that nothing can take back any more.
func (c *Chain) show(e abi.Event) {
	r := c.region
	if !r.shown {
		r.shown = true
		c.tail = c.tail[:0]
		c.passThought()
		if c.open && r.candidate.Framing || c.open && c.opts.InReasoning == Ends {
			c.open, c.opened = false, nil
			c.opts.Reasoning = Closed
		}
	}
	switch e.Kind {
	case abi.Content, abi.Reasoning:
		if r.kind != e.Kind {
			c.text.edge(e.Kind)
		}
		r.kind = e.Kind
	case abi.CallEnd:
		r.clean, r.kind = r.fed, 0
	}
	if c.opts.NoTools {
		c.showText(e)
		return
	}
	c.text.call(e, &c.report, r.candidate.Name)
}

// showText gives out an event of an answer to a request without tools: a call is
// text there.
func (c *Chain) showText(e abi.Event) {
	switch e.Kind {
	case abi.Content, abi.Reasoning:
		c.text.write(e.Kind, []byte(e.Text))
	case abi.Args:
		c.text.write(abi.Content, []byte(e.Text))
	case abi.CallStart:
		c.text.edge(abi.Content)
		c.warn("call_without_tools")
	}
}

// end closes a region that its parser has read up to byte to of buf.
func (c *Chain) end(to int) bool {
	r := c.region
	if to <= 0 {
		return c.giveBack(0, r.literal)
	}
	if r.doubt == isText {
		c.warn("call_quoted")
		return c.asText(to)
	}
	if r.cut && (r.doubt == untilEnd || r.candidate.Heuristic && !c.open) {
		c.dropCut()
	}
	if !c.believe() {
		if r.short > 0 {
			c.warn("call_refused")
		}
		return c.giveBack(0, to)
	}
	if r.gate && r.cut {
		r.held = nil // a call that was cut, and not known to be meant
		c.warn("truncated_call")
	}
	if c.waits() {
		c.think(r, to)
	} else {
		c.accept()
	}
	c.leave(to)
	return true
}

// asText gives a region that was read out as text, all of it: a marker inside of it
// does not begin another.
func (c *Chain) asText(to int) bool {
	c.region.close()
	c.region = nil
	c.start = false
	c.rescan()
	c.pass(min(to, len(c.buf)))
	return true
}

// accept gives out what was held of a region that counts.
func (c *Chain) accept() {
	r := c.region
	for _, e := range r.held {
		c.show(e)
	}
	if r.lacks {
		c.warn("missing_arguments")
	}
	if !r.shown || r.kind != 0 {
		c.tail = c.tail[:0]
		c.text.edge(abi.Content)
	}
}

// think keeps the calls of a region until it is known whether the output ends with
// them.
func (c *Chain) think(r *region, to int) {
	if c.thought == nil {
		fenced := c.text.fence.around() && !c.open
		c.thought = &thought{inline: r.doubt == untilEnd && !fenced && !c.open, fenced: fenced}
	}
	t := c.thought
	t.raw, t.after = append(append(t.raw, c.tail...), c.buf[:to]...), nil
	c.tail = c.tail[:0]
	for _, e := range r.held {
		t.events = append(t.events, thoughtEvent{e, r.candidate.Name})
	}
}

// giveBack takes bytes from to to of buf back from the run. What nobody has seen
// goes to the next candidate; otherwise it is content, and an open call is void.
func (c *Chain) giveBack(from, to int) bool {
	r := c.region
	r.close()
	to = max(min(to, len(c.buf)), 1)
	if !r.shown {
		r.declined = max(r.declined, to)
		return false
	}
	if c.text.void() {
		c.warn("broken_call")
	}
	from = min(from, to)
	c.region = nil
	c.rescan()
	c.drop(from)
	c.start, c.begun = false, true
	c.pass(to - from)
	return true
}

// decline gives out a region that no candidate wants.
func (c *Chain) decline(ctx context.Context) {
	n := min(max(c.region.declined, c.region.literal), len(c.buf))
	asked, found := c.region.declined > 0, c.region.found
	c.region = nil
	c.start = false
	c.rescan()
	if found == "" {
		return // it began with the output, not with markup: it is read again for that
	}
	m := c.plan.literals[found]
	c.example = c.example || asked && m != nil && m.fence != ""
	if m != nil && (m.fence != "" || m.endToken || m.ends != nil) {
		c.unparsed(found, m) // a block of code after all, or an end; what is behind it is read anew
		return
	}
	if asked {
		if text, ok := c.fallback(ctx, c.buf[:n]); ok {
			c.say()
			c.drop(n)
			c.text.write(abi.Content, text)
			return
		}
	}
	c.pass(n)
}

// fallback lets the fallback parser read a declined region. Where there is none,
// where it fails, or inside reasoning the text stands as it is.
func (c *Chain) fallback(ctx context.Context, text []byte) (content []byte, ok bool) {
	f := c.plan.fallback
	if f == nil || c.open || c.spent {
		return nil, false
	}
	run, err := c.runner.Open(ctx, f.Parser, c.options(f))
	if err != nil {
		c.failed(f.Name, err)
		return nil, false
	}
	defer run.Close()
	for len(text) > 0 {
		n := min(len(text), abi.MaxFeed)
		events, err := run.Feed(ctx, text[:n])
		if err != nil {
			c.failed(f.Name, err)
			return nil, false
		}
		for _, e := range events {
			content = append(content, e.Text...)
		}
		text = text[n:]
	}
	return content, true
}

// leave goes on behind a region that was read.
func (c *Chain) leave(to int) {
	c.region.close()
	c.region = nil
	c.start, c.begun, c.after = false, true, false
	c.rescan()
	c.drop(min(to, len(c.buf)))
}
