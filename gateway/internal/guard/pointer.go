package guard

// pointer says which tools the user's wish, and what was proposed to him, point to.
type pointer struct {
	wish     *wish
	proposal *reading // nil if nothing that was proposed is due
}

// points counts what of the wish and of the proposal points to a tool.
func (p pointer) points(t *tool) int {
	n := 2*count(p.wish.verbs&t.verbs != 0) + count(p.wish.actions&t.actions&changes != 0) + count(p.wish.things.meets(t.things))
	if p.proposal != nil {
		said := p.proposed(ask|doing|done|participle, true)
		n += 2*count(said.verbs&t.verbs != 0) + count(said.actions&t.actions&changes != 0) + count(said.things.meets(t.things))
	}
	return n
}

// proposed is what the proposal says in words of some roles. Its verbs are those of all words, if they are to be.
func (p pointer) proposed(by role, allVerbs bool) (d deed) {
	for i := range p.proposal.marks {
		m := &p.proposal.marks[i]
		if m.is(by) {
			d.actions |= m.actions
		}
		if allVerbs || m.is(by) {
			d.verbs |= m.verbs
		}
		d.things = d.things.or(m.things)
	}
	return d
}

// best returns the one tool that changes something and that most points to, or "".
func (p pointer) best(tools []tool) (name string) {
	_, name = mostPoints(tools, changes, p.points)
	return name
}

// leastWished is how clearly a tool that changes something must be wished for to be demanded: by
// its very verb, or by what it does and what it is about.
const leastWished = 3

// wished says how clearly the user's words, and what was proposed to him, ask for a tool.
func (p pointer) wished(t *tool) (n int) {
	if t.handsOver {
		return 0
	}
	asked := p.wish.deed
	if p.proposal != nil && asked.verbs == 0 && asked.actions&changes == 0 {
		asked = asked.or(p.proposed(ask|doing, false))
	}
	n = 4*count(asked.verbs&t.verbs != 0) + count(asked.actions&t.actions&changes != 0 || t.vague && asked.actions&changes != 0) +
		count(asked.actions&t.actions&(changes&^pays) != 0) // a refund is no payment
	if n > 0 {
		n += count(asked.things.meets(t.things))
	}
	return n
}
