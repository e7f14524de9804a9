package gateway

import (
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/sdk/abi"
)

// textCalls are the calls that are read from the text of a choice, on their way
// through the judge.
type textCalls struct {
	name string
	args []byte
	held []abi.Event // of the call at hand, where it waits to be judged
	// strict says that it does.
	strict bool
}

// judged takes events of a chain and returns those that may go on, with the names that
// were meant. Where the policy is strict a call waits until it is complete.
func (r *Response) judged(c *choice, events []abi.Event) []abi.Event {
	if r.watch != nil && c.index == 0 {
		r.watch.events(events)
	}
	if r.judge == nil {
		return events
	}
	t := &c.read
	out := events[:0]
	for _, e := range events {
		switch e.Kind {
		case abi.CallStart:
			r.judgeName(c, &e)
			t.args, t.strict = t.args[:0], r.judge.strictFor(t.name)
		case abi.Args:
			t.args = append(t.args, e.Text...)
		case abi.CallEnd:
			if !r.judgeCall(t, e.Index) {
				continue
			}
			out = append(out, t.held...)
			t.held = t.held[:0]
		case chain.Void, abi.Cut:
			r.judge.uncall(t.name)
			if len(t.held) > 0 { // nobody has seen it
				t.held = t.held[:0]
				continue
			}
		}
		if t.strict && (e.Kind == abi.CallStart || e.Kind == abi.Args) {
			t.held = append(t.held, e)
			continue
		}
		out = append(out, e)
	}
	return out
}

// judgeCall checks a call that is complete, and puts the values in place of its
// references. It reports false if the call does not go on.
func (r *Response) judgeCall(t *textCalls, index int) bool {
	args, p := r.judge.settle(t.name, string(t.args))
	if p != nil && r.judge.refuse(t.name, string(t.args), p) {
		t.held = t.held[:0]
		return false
	}
	if len(t.held) > 0 && args != string(t.args) {
		t.held = append(t.held[:1], abi.Event{Kind: abi.Args, Index: index, Text: args})
	}
	return true
}

// judgeName gives the beginning of a call the name of the tool that is meant.
func (r *Response) judgeName(c *choice, e *abi.Event) {
	name, problem := r.judge.name(e.Name)
	switch {
	case problem != nil:
		r.judge.refuse(e.Name, "", problem)
	case name != e.Name:
		r.judge.fault(repair.UnknownTool)
		c.named++
	}
	e.Name, c.read.name = name, name
}
