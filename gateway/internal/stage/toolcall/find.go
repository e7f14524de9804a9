package toolcall

// find is the call that an entry goes on with; nil if it begins another. An id decides,
// then an index, then the order: upstreams are known to give all calls the index 0, no
// index, an id with every piece, or the name with every piece.
func (a *answer) find(c *choice, f *entry) *call {
	if a.whole || len(c.calls) == 0 {
		return nil
	}
	if found := c.withID(f); found != nil {
		if a.goesOnByID(found, f) {
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
	if a.goesOnWith(last, f) {
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

// goesOnByID reports whether an entry belongs to the call that has its id, and not to
// another one that was given the same.
func (a *answer) goesOnByID(c *call, f *entry) bool {
	switch {
	case f.said.name == "" || c.said.name == "":
		return true
	case f.said.index >= 0 && f.said.index != c.said.index:
		return false
	}
	return f.said.name == c.said.name || a.goesOnByName(c, f)
}

// goesOnWith reports whether an entry without the id of a call belongs to it, which its
// index or the order says, and not to another one.
func (a *answer) goesOnWith(c *call, f *entry) bool {
	switch {
	case f.said.name == "" || c.said.name == "":
		return true
	case c.said.id != "" && (f.said.id != "" || f.said.name == c.said.name): // whose calls have ids gives one to each
		return f.said.id == ""
	}
	return a.goesOnByName(c, f)
}

// goesOnByName decides where nothing else tells: some upstreams say the name with every
// piece, and some say it in pieces.
func (a *answer) goesOnByName(c *call, f *entry) bool {
	if c.begun {
		return f.said.name == c.said.name && !c.args.Complete()
	}
	offered := a.validator.offered
	return f.said.name == c.said.name || offered.Find(f.said.name) == nil || offered.Find(c.said.name) == nil
}
