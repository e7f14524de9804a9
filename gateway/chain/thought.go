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
