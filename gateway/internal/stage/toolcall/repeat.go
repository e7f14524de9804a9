package toolcall

import (
	"crypto/sha256"
	"slices"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/repair"
)

// made is a call that was read from the text. Servers are known to give a call of the model's in
// tool_calls and to leave its markup in the text too, and a client would run it twice.
type made struct {
	deed    deed
	matched bool // the upstream has made it as well
}

// deed is what a call does: two calls with the same are one but for the way they are written. It has a sum of the
// arguments and not the arguments, since each call is compared with all of the other sort.
type deed struct {
	name string
	sum  [sha256.Size]byte
}

func newDeed(name string, args []byte) deed {
	return deed{name, sha256.Sum256(conversation.Canonical(nil, args))}
}

// doubled is what is known of a call of the upstream's that may have been read from the text as well.
type doubled struct {
	watched bool // calls were read from the text before it
	sent    bool // some of it has gone out
	matched bool // it was read from the text as well
	dropped bool // for that it does not go out
	deed    deed // once it is complete and was asked for
	summed  int  // how many bytes of arguments the deed is of; 0: there is none yet
	asCame  deed // the same of the arguments as they came, once it has ended and was asked for
}

// does is what a complete call does. It is compared with all that have its id, so its arguments are
// read for that once.
func (c *call) does() deed {
	if n := len(c.args.out); n == 0 || c.summed != n {
		c.deed, c.summed = newDeed(c.name, c.args.out), n
	}
	return c.deed
}

// native is told of a complete call of the upstream's. It is dropped if it was read from the text
// already, and nobody has seen it.
func (c *choice) native(v *validator, call *call) {
	if len(c.texts) == 0 || call.matched || call.sent || call.said.foreign || v.report || call.index != c.next-1 {
		return
	}
	for i := range c.texts {
		if m := &c.texts[i]; !m.matched && m.deed == call.does() {
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
	m := made{deed: newDeed(t.name, []byte(args))}
	for _, call := range c.calls {
		if !v.report && !t.shown && t.index == c.next-1 && call.whole() && !call.matched && m.deed == call.does() {
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

// twinsOf are the calls before one that have its id. Servers are known to send a call twice; equal
// calls with ids of their own are two.
func (c *choice) twinsOf(one *call) (list []*call) {
	for _, before := range c.calls[:one.ordinal] {
		if one.said.id != "" && before.said.id == one.said.id && !one.said.foreign && !before.said.foreign {
			list = append(list, before)
		}
	}
	return list
}

// isTwin reports whether a complete call with the id of another does what that does.
func (c *call) isTwin() bool {
	return slices.ContainsFunc(c.twins, func(before *call) bool {
		return before.whole() && before.name == c.name && before.does() == c.does()
	})
}

// part decides about a call with the id of another, as soon as both are complete: it is dropped if
// it is the same call once more, and gets an id of its own if it is not.
func (c *choice) part(v *validator, one *call) {
	if len(one.twins) == 0 || !one.whole() {
		return
	}
	open := func(before *call) bool { return !before.whole() }
	switch twin := one.isTwin(); {
	case twin && (v.report || c.closeGap(one)):
		one.twins, one.dropped, one.edited = nil, !v.report, true
		one.fault(v, repair.BadID)
		v.outcome.Repaired("call_repeated")
		if !v.report {
			v.drop(one.name)
		}
	case twin, !slices.ContainsFunc(one.twins, open):
		one.own(v)
	}
}

// saidAgain reports whether an entry is all of a call once more that has ended: with its id, its name
// and its arguments.
func (c *call) saidAgain(f *entry) bool {
	if !c.closed || c.said.foreign || f.said.id == "" || f.said.id != c.said.id || f.said.name != c.said.name {
		return false
	}
	if c.asCame == (deed{}) {
		c.asCame = newDeed(c.name, c.args.in.Raw())
	}
	return newDeed(c.name, f.arguments) == c.asCame
}

// own gives a call with the id of another, which is not that call, an id of its own.
func (c *call) own(v *validator) {
	if len(c.twins) > 0 {
		c.twins = nil
		c.claim(v)
	}
}

// closeGap gives the calls behind one that is dropped the indexes before theirs. It reports false if
// somebody knows one of them.
func (c *choice) closeGap(dropped *call) bool {
	var behind []*call
	for _, one := range c.calls {
		if one.index > dropped.index && !one.dropped {
			behind = append(behind, one)
		}
	}
	known := func(one *call) bool { return one.sent }
	if dropped.sent || len(behind) != c.next-1-dropped.index || slices.ContainsFunc(behind, known) {
		return false
	}
	for _, one := range behind {
		one.index--
		one.edited = true
	}
	c.next--
	return true
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

// whole reports whether a call is complete, and its arguments are known. Those that stand in a string
// are only decoded at the end.
func (c *call) whole() bool {
	return c.closed || c.args.begun && c.args.in.Complete() && !c.args.in.Holding()
}
