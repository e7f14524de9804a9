package guard

// promises weighs what the end of an answer announces.
type promises struct {
	wish  *wish
	tools []tool
	turn  *turn
}

func (p promises) weigh(to *reasons, r *reading) {
	if p.wish.forbids {
		return
	}
	changed, acts := p.turn.ledger.Changed(), p.turn.acts()
	for _, a := range promised(r) {
		best := 0.0
		for i := range p.tools {
			t := &p.tools[i]
			if changed && (!a.outright || !p.isOutstanding(t, acts)) {
				continue // "Booking was successful."
			}
			if w := p.keeps(t, &a); w > 0 {
				best = max(best, w)
				to.prefer(t.name, w)
			}
		}
		if best > 0 {
			to.add(SignalPromise, best, a.word)
		}
	}
}

// isOutstanding reports whether the user asks for what a tool does, besides what was done.
func (p promises) isOutstanding(t *tool, done actions) bool {
	if t.vague {
		return p.wish.joins && t.actions&done != 0
	}
	return !p.turn.names[t.name] && p.wish.actions&^done&t.actions != 0
}

// asksFor reports whether the user asks for an action of a tool. One whose name does not say
// what it does may do any.
func (p promises) asksFor(t *tool) bool {
	return p.wish.actions&t.actions != 0 || t.vague && p.wish.actions != 0
}

// keeps says how well a tool fits an announcement, between 0 and 1.
func (p promises) keeps(t *tool, a *announcement) float64 {
	asked := p.asksFor(t)
	same := a.things.meets(t.things) || p.wish.things.meets(t.things)
	switch {
	case a.waiting:
		return a.waits(asked, same)
	case !a.outright && !asked: // "Disabling him keeps it."
		return 0
	case a.verbs&t.verbs != 0:
		return 0.83
	case !a.isDoneBy(t, same):
		return 0
	case asked && same:
		return 0.85
	case len(p.turn.calls) > 0 && !a.outright: // "It is free, making it easy to start."
		return 0.6
	case asked || same:
		return 0.75
	case len(p.turn.calls) > 0: // in the middle of work an announcement is no courtesy
		return 0.72
	}
	return 0.6
}

// waits says how well a tool that was asked for, or is about the same, fits "one moment".
func (a *announcement) waits(asked, same bool) float64 {
	switch {
	case asked && same:
		return 0.83
	case asked:
		return 0.7
	}
	return 0.5
}

// isDoneBy reports whether a tool may do what is announced.
func (a *announcement) isDoneBy(t *tool, same bool) bool {
	return t.actions&(a.actions|anything) != 0 || same && bothMake(a.actions, t.actions)
}
