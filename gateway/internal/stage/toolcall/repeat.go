package toolcall

import (
	"bytes"

	"github.com/callgate/callgate/gateway/internal/conversation"
)

// made is a call that was read from the text. Servers are known to give a call of the model's in
// tool_calls and to leave its markup in the text too, and a client would run it twice.
type made struct {
	name, args string
	matched    bool // the upstream has made it as well
}

// doubled is what is known of a call of the upstream's that may have been read from the text as well.
type doubled struct {
	watched bool // calls were read from the text before it
	sent    bool // some of it has gone out
	matched bool // it was read from the text as well
	dropped bool // for that it does not go out
}

// sameCall reports whether two calls are one but for the way it is written.
func (m *made) sameCall(c *call) bool {
	return m.name == c.name && bytes.Equal(conversation.Canonical(nil, []byte(m.args)), conversation.Canonical(nil, c.args.out))
}

// native is told of a complete call of the upstream's. It is dropped if it was read from the text
// already, and nobody has seen it.
func (c *choice) native(v *validator, call *call) {
	if len(c.texts) == 0 || call.matched || call.sent || call.said.foreign || v.report || call.index != c.next-1 {
		return
	}
	for i := range c.texts {
		if m := &c.texts[i]; !m.matched && m.sameCall(call) {
			m.matched, call.matched = true, true
			call.dropped, call.edited = true, true
			c.repeated(v, call.name)
			return
		}
	}
}

// fromText is told of a complete call that was read from the text. It reports whether that is one
// which the upstream has made already, and nobody has seen.
func (c *choice) fromText(v *validator, t *textCall, args string) (repeated bool) {
	m := made{name: t.name, args: args}
	for _, call := range c.calls {
		if !v.report && !t.shown && t.index == c.next-1 && call.whole() && !call.matched && m.sameCall(call) {
			call.matched = true
			c.repeated(v, t.name)
			v.outcome.Calls-- // whoever has read it counts it too
			return true
		}
	}
	if len(c.texts) < maxCalls {
		c.texts = append(c.texts, m)
	}
	return false
}

// repeated takes note that the last call is one of before, and is dropped.
func (c *choice) repeated(v *validator, name string) {
	v.drop(name)
	v.outcome.Repaired("call_repeated")
	c.next--
}

// dropped counts the upstream's calls that do not go out.
func (c *choice) dropped() (n int) {
	for _, call := range c.calls {
		if d := call.doubled; d.dropped {
			n++
		}
	}
	return n
}

// whole reports whether a call is complete.
func (c *call) whole() bool { return c.closed || c.args.begun && c.args.in.Complete() }
