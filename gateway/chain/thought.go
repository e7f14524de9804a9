package chain

import "github.com/callgate/callgate/sdk/abi"

// thought is a call that counts only if of what follows it nothing shows that the
// model only wrote about it: the output must end with it.
type thought struct {
	raw    []byte
	after  []byte // what of raw stands behind the last call
	calls  []heldCalls
	fenced bool // it stands in a block of code
	inline bool // it stands in the answer: what surrounds it is content
	closes bool // the end of the block of code is being read
}

// heldCalls are the events of one region that a parser has read.
type heldCalls struct {
	parser string
	events []abi.Event
}

// add takes in text behind the calls.
func (t *thought) add(text []byte) {
	t.raw, t.after = append(t.raw, text...), append(t.after, text...)
	t.closes = false
}

// join takes the calls of a further region in, with what stands before them. t is nil if they
// are the first.
func (t *thought) join(further *thought, before, region []byte) *thought {
	if t == nil {
		t = further
	} else {
		t.calls = append(t.calls, further.calls...)
	}
	t.raw, t.after = append(append(t.raw, before...), region...), nil
	return t
}

// standsInline reports whether markup behind the calls leaves them calls.
func (t *thought) standsInline() bool { return t != nil && t.inline }
