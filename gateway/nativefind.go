package gateway

// find is the call that an entry goes on with; nil if it begins another. An id decides,
// then an index, then the order: upstreams are known to give all calls the index 0, no
// index, an id with every piece, or the name with every piece.
func (n *nativeReply) find(c *nativeChoice, f *entryFields) *nativeCall {
	if !n.Streamed() || len(c.calls) == 0 {
		return nil
	}
	if call := c.withID(f); call != nil {
		if n.goesOnByID(call, f) {
			return call
		}
		return nil
	}
	last := c.calls[len(c.calls)-1]
	switch {
	case f.place >= 0 && f.place < len(c.calls):
		return c.calls[f.place]
	case f.index < 0:
	case c.withIndex(f.index) != nil:
		last = c.withIndex(f.index)
	case !f.anonymous():
		return nil
	}
	if n.goesOn(last, f) {
		return last
	}
	return nil
}

// withID is the call with an entry's id, and if there are several the one that has its
// index too.
func (c *nativeChoice) withID(f *entryFields) *nativeCall {
	var found *nativeCall
	for _, call := range c.calls {
		if f.id != "" && call.theirs == f.id && (found == nil || found.upstream != f.index || call.upstream == f.index) {
			found = call
		}
	}
	return found
}

// withIndex is the last call that the upstream has given an index.
func (c *nativeChoice) withIndex(index int) *nativeCall {
	for i := len(c.calls) - 1; i >= 0; i-- {
		if c.calls[i].upstream == index {
			return c.calls[i]
		}
	}
	return nil
}

// goesOnByID reports whether an entry belongs to the call that has its id, and not to
// another one that was given the same.
func (n *nativeReply) goesOnByID(call *nativeCall, f *entryFields) bool {
	switch {
	case f.name == "" || call.said == "":
		return true
	case f.index >= 0 && f.index != call.upstream:
		return false
	}
	return f.name == call.said || n.goesOnByName(call, f)
}

// goesOn reports whether an entry without the id of a call belongs to it, which its
// index or the order says, and not to another one.
func (n *nativeReply) goesOn(call *nativeCall, f *entryFields) bool {
	switch {
	case f.name == "" || call.said == "":
		return true
	case call.theirs != "" && (f.id != "" || f.name == call.said): // whose calls have ids gives one to each
		return f.id == ""
	}
	return n.goesOnByName(call, f)
}

// goesOnByName decides where nothing else tells: some upstreams say the name with every
// piece, and some say it in pieces.
func (n *nativeReply) goesOnByName(call *nativeCall, f *entryFields) bool {
	if call.begun {
		return f.name == call.said && !call.args.Complete()
	}
	return f.name == call.said || n.judge.tool(f.name) == nil || n.judge.tool(call.said) == nil
}
