package chain

import (
	"context"
	"slices"

	"github.com/callgate/callgate/sdk/abi"
)

// region is text that begins at a trigger, at buf[0], while parsers read it.
type region struct {
	candidates []*Candidate // those still to be asked
	literal    int          // length of the trigger
	declined   int          // how far a parser read that gave the region back

	candidate *Candidate // who reads it now
	run       Run
	fed       int  // how much of buf the run has read
	hold      bool // events wait for the region's end
	held      []abi.Event
	shown     bool // an event of the region has been given out
	clean     int  // how much of buf was read when the last call was complete
}

func (c *Chain) newRegion(start bool) *region {
	r := &region{candidates: c.plan.at(c.buf, start), literal: 1}
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
		if candidate.Heuristic && c.fenced() {
			r.candidates = r.candidates[1:]
			continue
		}
		verdict, err := c.runner.CanParse(ctx, candidate.Parser, c.buf[:min(len(c.buf), abi.MaxHead)])
		if verdict == abi.Maybe && err == nil && !final && len(c.buf) < abi.MaxHead {
			return false
		}
		r.candidates = r.candidates[1:]
		if err == nil && verdict == abi.Yes {
			r.run, err = c.runner.Open(ctx, candidate.Parser, c.options(candidate))
		}
		if err != nil {
			c.failed(candidate.Name, err)
			r.run = nil
			continue
		}
		if r.run != nil {
			r.candidate, r.fed, r.held = candidate, 0, nil
			r.hold = candidate.Heuristic || c.fenced() || c.open
			return true
		}
	}
	return false
}

func (c *Chain) options(candidate *Candidate) abi.Options {
	return abi.Options{Tools: c.tools(), Settings: candidate.Settings, Fenced: c.fenced(), MaxDepth: c.opts.MaxDepth}
}

// firstFeed is how much a run is fed at first, then as much as it has read. Where a
// short region ends is not known before, and a text of many would be fed, and count
// against the limit of input, many times over.
const firstFeed = 128

// feed gives the run what is new in buf. It reports whether the region is done
// with; if it is not and there is no run any more, the next candidate is due.
func (c *Chain) feed(ctx context.Context, final bool, reason abi.Reason) bool {
	r := c.region
	text := c.whole(final)
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
	return c.end(len(c.buf))
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
			if r.hold {
				r.held = append(r.held, e)
				continue
			}
			r.shown = true
			c.show(e)
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
	if e.Kind == abi.CallEnd {
		c.region.clean = c.region.fed
	}
	c.text.call(e, &c.report, c.region.candidate.Name)
}

// end closes a region that its parser has read up to byte to of buf.
func (c *Chain) end(to int) bool {
	r := c.region
	if to <= 0 {
		return c.giveBack(0, r.literal)
	}
	if r.hold && !c.believe(r.held) {
		return c.giveBack(0, to)
	}
	switch {
	case c.open:
		c.think(r, to)
	case r.hold:
		for _, e := range r.held {
			c.show(e)
		}
	}
	c.leave(to)
	return true
}

// believe decides about events that were held back: markup that is ordinary text
// too, in a code fence, or inside reasoning counts only if all of it is complete
// and every name was offered.
func (c *Chain) believe(events []abi.Event) bool {
	calls := 0
	for _, e := range events {
		switch e.Kind {
		case abi.Cut:
			return false
		case abi.CallStart:
			calls++
			if !c.offered(e.Name) {
				return false
			}
		}
	}
	return calls > 0 || c.region.candidate.Heuristic
}

func (c *Chain) offered(name string) bool {
	tools := c.tools()
	if c.opts.AnyName && !c.fenced() && len(tools) == 0 {
		return true
	}
	return slices.ContainsFunc(tools, func(t abi.Tool) bool { return t.Name == name })
}

func (c *Chain) tools() []abi.Tool {
	if c.opts.Tools == nil {
		return nil
	}
	return c.opts.Tools()
}

// think keeps the calls of a region inside reasoning until it is known whether the
// model meant them.
func (c *Chain) think(r *region, to int) {
	if c.thought == nil {
		c.thought = &thought{}
	}
	c.thought.raw = append(c.thought.raw, c.buf[:to]...)
	for _, e := range r.held {
		if e.Kind == abi.CallStart || e.Kind == abi.Args || e.Kind == abi.CallEnd || e.Kind == abi.Repair {
			c.thought.events = append(c.thought.events, e)
			c.thought.parser = r.candidate.Name
		}
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
	c.start = false
	c.pass(to - from)
	return true
}

// decline gives out a region that no candidate wants.
func (c *Chain) decline(ctx context.Context) {
	n := min(max(c.region.declined, c.region.literal), len(c.buf))
	c.region = nil
	c.start = false
	c.rescan()
	if text, ok := c.fallback(ctx, c.buf[:n]); ok {
		c.drop(n)
		c.text.write(abi.Content, text)
		return
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
	c.start = false
	c.rescan()
	c.drop(min(to, len(c.buf)))
}
