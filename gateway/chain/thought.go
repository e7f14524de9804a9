package chain

import "github.com/callgate/callgate/sdk/abi"

// thought is a call that counts only if of what follows it nothing shows that the
// model only wrote about it: the output must end with it.
type thought struct {
	raw    []byte
	after  []byte // what of raw stands behind the last call
	events []thoughtEvent
	fenced bool // it stands in a block of code
	inline bool // it stands in the answer: what surrounds it is content
	closes bool // the end of the block of code is being read
}

// thoughtEvent is an event of a region that waits.
type thoughtEvent struct {
	event  abi.Event
	parser string
}

// passThought settles a call behind which markup comes.
func (c *Chain) passThought() {
	c.settleThought(c.thought != nil && c.thought.inline)
}

// settleThought decides about calls that wait: calls if the output ended with them,
// otherwise words of the model's.
func (c *Chain) settleThought(ended bool) {
	t := c.thought
	if t == nil {
		return
	}
	c.thought = nil
	if !ended {
		c.text.write(c.kind(), t.raw)
		return
	}
	c.open = false
	c.text.edge(abi.Content)
	for _, e := range t.events {
		c.text.call(e.event, &c.report, e.parser)
	}
	if t.fenced || t.inline {
		c.text.write(abi.Content, t.after)
	}
}

// say notes that text comes: what waited for the end of the output has waited in
// vain.
func (c *Chain) say() {
	c.start, c.begun, c.after = false, true, false
	if t := c.thought; t != nil && !t.closes {
		c.settleThought(false)
	}
	c.flushTail()
}

// flushTail gives out an end token that was not the end.
func (c *Chain) flushTail() {
	if len(c.tail) > 0 {
		c.passThought()
		c.text.write(c.kind(), c.tail)
		c.tail = c.tail[:0]
	}
}
