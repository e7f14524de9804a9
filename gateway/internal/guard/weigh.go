package guard

// claims weighs what the answer claims.
func (j *judgement) claims() {
	owed := j.owed()
	for _, c := range j.text.claims() {
		switch {
		case j.covered(&c):
			j.add(SignalAfterResult, -0.5, c.word)
		case j.isPast(&c):
			j.add(SignalPastTurn, -0.5, c.word)
		case c.looksUp():
			j.lookup(&c)
		default:
			j.claim(&c, owed)
		}
	}
}

// lookup weighs a claim to have found something out. Without a figure that nobody gave
// it may be about what stands in the conversation.
func (j *judgement) lookup(c *claim) {
	weight, name := j.fittest(c)
	if j.figures == 0 {
		weight *= 0.7
	}
	if weight > 0 {
		j.add(SignalLookup, weight, c.word)
		j.prefer(name, weight)
	}
}

// owedWeight is for a claim whose words fit no tool, where the user asked for what one
// tool does.
const owedWeight = 0.62

// claim weighs a claim to have changed something.
func (j *judgement) claim(c *claim, owed *tool) {
	wished := j.wish.actions&(changes|anything) != 0
	if c.firm && !c.makes && (!c.state || wished) {
		j.add(SignalClaim, 0.3, c.word)
	} else {
		j.add(SignalClaim, 0.15, c.word)
	}
	weight, name := j.fittest(c)
	if weight < owedWeight && owed != nil && !c.makes && !c.state {
		weight, name = owedWeight, owed.name
	}
	if weight > 0 {
		j.add(SignalClaimTool, weight, c.word)
		j.prefer(name, weight)
	}
}

// fittest returns how well the best of the tools that were not called fits a claim, and
// its name, or "" if two fit as well.
func (j *judgement) fittest(c *claim) (best float64, name string) {
	for i := range j.tools.tools {
		t := &j.tools.tools[i]
		if j.isCalled(t.name) {
			continue
		}
		w := 0.0
		if m, ok := j.compare(c, t); ok {
			w = j.grade(c, m)
		}
		switch {
		case w > best:
			best, name = w, t.name
		case w == best:
			name = ""
		}
	}
	return best, name
}

// match is what a tool and a claim have in common.
type match struct {
	// same says that they are about the same thing, and wanted that the tool and the
	// user's message are.
	same, wanted bool
	// asked says that the user asked for such an action.
	asked bool
	// strict says that the tool's action is the one that is claimed. named says that its
	// very verb is both asked for and claimed.
	strict, named bool
}

// compare says what a tool that was not called and a claim have in common. ok is false
// if it cannot be the one.
func (j *judgement) compare(c *claim, t *tool) (m match, ok bool) {
	m = match{same: c.things.meets(t.things), wanted: j.wish.things.meets(t.things), strict: t.actions&c.actions != 0}
	m.named = j.wish.verbs&c.verbs&t.verbs != 0 && !j.wish.holdsBack()
	switch {
	case c.looksUp():
		m.asked = j.wish.actions&finds != 0
		return m, t.actions&(finds|anything) != 0 && len(j.turn) == 0 && (m.same || !c.makes)
	case c.general:
		m.asked, m.same = true, m.wanted
		return m, j.owes(t)
	}
	m.asked = j.tellsBack || j.asksFor(c, t, m.wanted)
	if c.actions == 0 && c.verbs&t.verbs != 0 {
		m.strict, m.same = true, true
	}
	about := m.same || m.wanted || m.asked
	return m, t.actions&(changes|anything) != 0 && (m.strict || about && related(c, t))
}

// related reports whether a tool may well do what is claimed under another name.
func related(c *claim, t *tool) bool {
	return t.actions&anything != 0 || c.actions&making != 0 && t.actions&making != 0
}

// asksFor reports whether the user's message asks for what is claimed and what a tool
// does.
func (j *judgement) asksFor(c *claim, t *tool, wanted bool) bool {
	wished := j.wish.actions & changes
	return wished&c.actions != 0 && wished&t.actions != 0 || j.wish.actions&anything != 0 && wanted || j.wish.verbs&c.verbs&t.verbs != 0
}

// grade turns what a tool and a claim have in common into a weight.
func (j *judgement) grade(c *claim, m match) float64 {
	if m.named {
		return 0.85
	}
	w := j.base(c, m)
	if !m.strict && !c.general {
		w *= 0.85
	}
	if !c.firm && !m.asked {
		w *= 0.7
		if c.sentence == 0 { // a heading is seldom the first thing that is said
			w *= 1.2
		}
	}
	return w * j.composed(c, m) * j.stated(c, m)
}

func (j *judgement) base(c *claim, m match) float64 {
	switch {
	case m.asked && m.same:
		return 0.9
	case m.asked && m.wanted:
		return 0.85
	case m.asked:
		return 0.75
	case m.same:
		return 0.7
	case c.firm && m.strict && !c.makes && !j.wish.composes && !j.wish.askedBack:
		return 0.6
	}
	return 0.35
}

// composed weakens claims about what the model makes in its answer: a plan, a text, code.
func (j *judgement) composed(c *claim, m match) float64 {
	made := c.makes || j.wish.composes && j.text.code+j.text.quotation > 0
	switch {
	case !made || !c.general && c.actions&shaping == 0:
	case j.wish.composes && !m.same:
		return 0.2
	case j.wish.composes || !m.same:
		return 0.5
	}
	return 1
}

// stated weakens claims in a text that the user wanted, and such as tell how something
// is, or answer a question, where nothing was asked for.
func (j *judgement) stated(c *claim, m match) float64 {
	switch {
	case j.wish.composes && (c.state || !c.firm):
		return 0.3
	case j.wish.composes && m.asked:
		return 0.7
	case j.wish.composes:
		return 0.4
	case m.asked:
	case c.state && j.wish.askedBack:
		return 0.4
	case c.state:
		return 0.8
	case j.wish.askedBack:
		return 0.9
	}
	return 1
}
