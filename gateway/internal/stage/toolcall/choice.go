package toolcall

import (
	"bytes"
	"crypto/rand"
	"fmt"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/history"
	"github.com/callgate/callgate/gateway/repair"
)

// choice is the calls of one choice.
type choice struct {
	index    int
	next     int // index of the next call, of either sort
	calls    []*call
	texts    []made   // the calls that were read from its text
	read     textCall // the one at hand that is read from text
	finished bool     // its finish reason came
	stray    bool     // it has arguments of no call
	full     bool     // it has more calls than are kept track of
}

// add adds a call of the upstream's.
func (c *choice) add(s said) *call {
	added := &call{seat: seat{choice: c.index, ordinal: len(c.calls), index: c.number()}, said: s, doubled: doubled{watched: len(c.texts) > 0}}
	c.calls = append(c.calls, added)
	added.twins = c.twinsOf(added)
	return added
}

// number is the index of a new call.
func (c *choice) number() int {
	c.next++
	return c.next - 1
}

// further adds a call of the same tool, which the upstream has put behind another.
func (c *choice) further(v *validator, before *call, args []byte) *call {
	added := c.add(said{index: -1, name: before.said.name, typed: true})
	added.name, added.args.out = before.name, bytes.Clone(args)
	added.id, _ = v.id(c.index, "", before.name)
	added.shown, added.closed, added.edited = true, true, true
	return added
}

// callOf is the call of an entry, which may begin it; nil if there is none. whole says that
// the answer is.
func (c *choice) callOf(v *validator, f *entry, whole bool) (_ *call, begins bool) {
	if c.full && f.anonymous() && c.withIndex(f.said.index) == nil {
		return nil, false
	}
	if !whole && len(c.calls) > 0 {
		if found := c.find(v, f); found != nil {
			return found, false
		}
	}
	switch {
	case !f.says():
		return nil, false
	case !whole && f.anonymous() && !f.said.foreign: // of no call that anyone has begun
		if !c.stray {
			c.stray = true
			v.refuse("", string(f.arguments), repair.UnknownName("", nil))
		}
		return nil, false
	case len(c.calls) >= maxCalls:
		c.full = true
		v.refuse(f.said.name, string(f.arguments), &repair.Problem{Class: repair.BadIndex,
			Message: "There are too many calls in one answer.", Hint: "Make fewer calls at a time."})
		return nil, false
	}
	return c.add(f.said), true
}

// find is the call that an entry goes on with; nil if it begins another. An id decides,
// then an index, then the order: upstreams are known to give all calls the index 0, no
// index, an id with every piece, or the name with every piece.
func (c *choice) find(v *validator, f *entry) *call {
	if found := c.withID(f); found != nil {
		if found.goesOnByID(v, f) {
			return found
		}
		return nil
	}
	last := c.calls[len(c.calls)-1]
	switch {
	case f.place >= 0 && f.place < len(c.calls):
		return c.calls[f.place]
	case f.said.index < 0:
	case c.withIndex(f.said.index) != nil:
		last = c.withIndex(f.said.index)
	case !f.anonymous():
		return nil
	}
	if last.goesOnWith(v, f) {
		return last
	}
	return nil
}

// withID is the call with an entry's id, and if there are several the one that has its
// index too.
func (c *choice) withID(f *entry) *call {
	var found *call
	for _, call := range c.calls {
		if f.said.id != "" && call.said.id == f.said.id && (found == nil || found.said.index != f.said.index || call.said.index == f.said.index) {
			found = call
		}
	}
	return found
}

// withIndex is the last call that the upstream has given an index.
func (c *choice) withIndex(index int) *call {
	for i := len(c.calls) - 1; i >= 0; i-- {
		if c.calls[i].said.index == index {
			return c.calls[i]
		}
	}
	return nil
}

// ids gives the calls of an answer their ids: the upstream's own, byte for byte, as long as
// no other call of the conversation has it. Clients keep results by id, and one that comes
// twice overwrites what is there.
type ids struct {
	attempt *gateway.AttemptInfo
	read    bool            // the conversation was
	history map[string]bool // ids in it
	calls   int             // calls in it and in the answer
	taken   map[choiceID]bool
}

// choiceID is an id in one choice of an answer: a client goes on with one of them.
type choiceID struct {
	choice int
	id     string
}

// claim returns the id for a call of a choice. ok is false if it is not the upstream's.
func (c *ids) claim(choice int, theirs, name string) (id string, ok bool) {
	if sent := c.attempt.Sent; !c.read && sent.Reading.MentionsTools() {
		c.history, c.calls = history.IDs(sent.Reading.Conversation())
	}
	if c.taken == nil {
		c.taken = map[choiceID]bool{}
	}
	c.read = true
	free := func(id string) bool { return id != "" && !c.history[id] && !c.taken[choiceID{choice, id}] }
	id, ok = theirs, free(theirs)
	for n := c.calls; !free(id); n++ {
		id = "call_" + rand.Text()[:24]
		if c.attempt.Needs.IDs == gateway.KimiID { // its own form, or the model's next turn suffers
			id = fmt.Sprintf("functions.%s:%d", name, n)
		}
	}
	c.calls++
	c.taken[choiceID{choice, id}] = true
	return id, ok
}
