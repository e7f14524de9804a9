package structured

import (
	"bytes"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// choice is the text of one choice of an answer.
type choice struct {
	index   int
	answer  repair.Answer
	begun   int    // how long the text was before the frame at hand
	came    int    // of its text, what the frames before those at hand have brought
	went    int    // of what goes out, the same
	changed bool   // what goes out of the frames at hand is another text than came
	left    string // of that, what no frame has taken yet
	done    bool   // nothing more is read
	// released says that it was not read to its end.
	released bool
	dropped  bool // text was taken for the answer's that was reasoning
	object   bool // the value came in the place of its text
	result   gateway.StructuredResult
	problem  *repair.Problem
}

// feed reads a piece of the text. It is a function for [wire.Frame.Pieces].
func (c *choice) feed(piece []byte) bool {
	c.answer.Feed(piece)
	return true
}

// events reads what another stage has made of the text.
func (c *choice) events(events []abi.Event) {
	for i := range events {
		switch e := &events[i]; {
		case e.Kind == abi.CallStart:
			c.release(gateway.StructuredCalled)
			return
		case e.Kind == abi.Content:
			c.answer.Feed([]byte(e.Text))
		case e.Kind == wire.WasReasoning && c.went == 0:
			c.answer.Again()
			c.came, c.dropped = 0, true
		}
	}
}

// release says that nothing more is looked at, and why. What was held goes out as it came.
func (c *choice) release(why gateway.StructuredResult) {
	if !c.done {
		c.answer.Release()
		c.done, c.released, c.result = true, true, why
	}
}

// differs reports whether what goes out of the frames at hand is another text than they brought.
func (c *choice) differs() bool {
	return c.dropped || c.object && c.went == 0 || !bytes.Equal(c.answer.Raw()[c.came:], c.answer.Text()[c.went:])
}

// take gives away what goes out of the frames at hand, once.
func (c *choice) take() (text string) {
	text, c.left = c.left, ""
	return text
}

// choices are those of an answer.
type choices []*choice

// of is the choice of a frame, by its index, or by its place where an answer is whole: there are
// upstreams that give all of them one index.
func (all *choices) of(f *wire.Frame, place int, form *repair.Form) *choice {
	index := f.Choices()[place].Index
	if f.Whole {
		index = place
	}
	for _, c := range *all {
		if c.index == index {
			return c
		}
	}
	c := &choice{index: index}
	c.answer.Begin(form, maxDepth)
	*all = append(*all, c)
	return c
}

// holding reports whether the text of one waits.
func (all choices) holding() bool {
	for _, c := range all {
		if !c.done && c.answer.Holding() {
			return true
		}
	}
	return false
}

// released reports whether none of them is to be JSON any more.
func (all choices) released() bool {
	for _, c := range all {
		if !c.done || c.result != gateway.StructuredCalled && c.result != gateway.StructuredRefused && c.result != gateway.StructuredUnchecked {
			return false
		}
	}
	return len(all) > 0
}

// differ reports whether what goes out of the frames at hand is another text than they brought, and
// makes it ready to be taken.
func (all choices) differ() (differ bool) {
	for _, c := range all {
		c.changed, c.left = c.differs(), ""
		if c.changed {
			differ = true
			c.left = string(c.answer.Text()[c.went:])
		}
	}
	return differ
}

// settle forgets the frames at hand.
func (all choices) settle() {
	for _, c := range all {
		c.came, c.went = c.answer.Size(), len(c.answer.Text())
		c.changed, c.dropped, c.left = false, false, ""
	}
}
