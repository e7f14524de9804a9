package chain

import (
	"bytes"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// seek looks for the next literal in buf and gives out what comes before it. It
// reports whether there may be more to do.
func (c *Chain) seek(final bool) bool {
	if c.start && c.seekStart(c.whole(final), final) {
		return c.region != nil
	}
	text := c.whole(final)
	m, ok := c.scan.scan(text, c.scanned, final)
	if !ok {
		c.scanned = len(text)
		held := 0
		if !final {
			held = c.scan.held(len(text))
		}
		c.pass(len(text) - held)
		return false
	}
	literal := string(text[m.start:m.end])
	c.scanned = m.start // the scanner may have read on to see whether the literal goes on
	c.pass(m.start)
	c.found(literal)
	return true
}

// whole is buf without a rune at its end that is not complete yet: events hold
// whole runes as long as the text does.
func (c *Chain) whole(final bool) []byte {
	if final {
		return c.buf
	}
	return c.buf[:len(c.buf)-incomplete(c.buf)]
}

// found acts on a literal at the start of buf.
func (c *Chain) found(literal string) {
	m := c.plan.literals[literal]
	c.mention = c.mention || m.mention
	around := c.text.fence.around()
	if !around {
		if k := c.opening(m); k != nil {
			c.openReasoning(literal, k)
			return
		}
		if c.closing(m) {
			c.closeReasoning(literal)
			return
		}
	}
	switch {
	case m.wraps != nil && c.after && c.wrapper == nil:
		c.wrapper, c.start = m.wraps, true
		c.drop(len(literal))
		c.rescan()
		c.text.edge(abi.Content)
	case m.trigger && c.mayParse(m):
		c.region = c.newRegion(false)
		c.region.found = literal
	default:
		c.unparsed(literal, m)
	}
}

// unparsed acts on a literal that begins no region.
func (c *Chain) unparsed(literal string, m *meaning) {
	for _, k := range m.opens {
		c.spoken |= 1 << k.class // text about reasoning: its end marker is text too
	}
	switch {
	case m.ends != nil && m.ends == c.wrapper, m.endToken && !c.inCode():
		c.hold(len(literal))
	case m.fence != "":
		c.fence(m.fence)
	default:
		c.pass(len(literal))
	}
}

// inCode reports whether code in a line begins right before: a backtick that ends no
// block of code.
func (c *Chain) inCode() bool { return c.text.last == '`' && !c.text.fence.closing() }

// fence reads what begins or ends a block of code, if it stands where that can be.
func (c *Chain) fence(literal string) {
	if !c.text.lineMarks || c.open {
		c.pass(len(literal))
		return
	}
	if c.thought != nil && c.thought.fenced {
		c.thought.closes = true
	}
	c.pass(len(literal))
	c.text.fence.begin(literal)
}

// mayParse reports whether a trigger may begin a region here.
func (c *Chain) mayParse(m *meaning) bool {
	switch {
	case c.spent, c.open && c.opts.InReasoning == Ignore:
		return false
	case c.opts.NoTools && !c.plan.framing:
		return false
	case m.fence != "":
		return c.text.lineMarks && !c.open && !c.example && !c.text.fence.around()
	}
	return true
}

// fenced reports whether what comes next stands in code: in a fence, or in a line.
func (c *Chain) fenced() bool { return c.text.fence.around() || c.inCode() }

// seekStart deals with literals that only count at the start of the output. It
// reports whether buf is dealt with: held, or taken as a region.
func (c *Chain) seekStart(text []byte, final bool) bool {
	body := chars.SkipSpace(text)
	c.pass(len(text) - len(body))
	if len(body) == 0 {
		return true
	}
	if c.open || c.opts.NoTools && !c.plan.framing || c.spent {
		c.start = false
		return false
	}
	if c.plan.anyStart {
		c.region = c.newRegion(true)
		return true
	}
	found := false
	for _, s := range c.plan.beginnings {
		if !final && len(body) < len(s) && bytes.HasPrefix([]byte(s), body) {
			return true // a longer one may be on its way
		}
	}
	for _, s := range c.plan.starts {
		found = found || bytes.HasPrefix(body, []byte(s))
	}
	if found {
		c.region = c.newRegion(true)
		return true
	}
	c.start = false
	return false
}

// hold takes n bytes that are no text if the output ends behind them.
func (c *Chain) hold(n int) {
	c.tail = append(c.tail, c.buf[:n]...)
	c.drop(n)
	c.rescan()
}
