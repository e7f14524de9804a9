package guard

import "slices"

// fewTools is how many tools a request offers at most for one to be meant without the
// name of a thing.
const fewTools = 5

// owes reports whether the user asked for what a tool changes.
func (j *judgement) owes(t *tool) bool {
	if j.wish.forbids || j.wish.composes || t.actions&(changes|anything) == 0 {
		return false
	}
	wanted := j.wish.things.meets(t.things)
	if len(j.tools.tools) <= fewTools && (t.vague && j.wish.actions&changes != 0 || t.actions&changes != 0 && j.answersPlain()) {
		return true
	}
	if j.wish.actions&t.actions&changes != 0 || j.wish.actions&shaping != 0 && t.actions&shaping != 0 {
		return wanted || len(j.tools.tools) <= fewTools
	}
	return wanted && j.wish.actions&(changes|anything) != 0
}

// owed returns the tool that the user's message asks for and that was not called, or nil.
// Nothing is owed where another call of this turn may have been it.
func (j *judgement) owed() *tool {
	var found *tool
	for i := range j.tools.tools {
		t := &j.tools.tools[i]
		if !j.owes(t) || t.actions&changes == 0 {
			continue
		}
		if j.isCalled(t.name) {
			return nil
		}
		found = t
	}
	return found
}

func (j *judgement) isCalled(name string) bool {
	return j.calledNames[name]
}

// covered reports whether a call of this turn did what is claimed. Any call covers the
// claim to have found something out.
func (j *judgement) covered(c *claim) bool {
	switch {
	case len(j.turn) == 0:
		return false
	case c.looksUp():
		return true
	case j.namesAnother(c):
		return false
	}
	if c.left = j.leftOut(c); c.left != "" {
		return false
	}
	related := false
	for i := range j.turn {
		t := &j.turn[i].tool
		if did(t, c) {
			return true
		}
		related = related || t.vague || c.actions&shaping != 0 && t.actions&making != 0
	}
	if c.general {
		return j.wish.actions&changes == 0
	}
	return related && !slices.ContainsFunc(j.tools.tools, func(t tool) bool { return j.wouldHave(&t, c) })
}

// did reports whether a call of a tool does what is claimed.
func did(t *tool, c *claim) bool {
	switch {
	case t.vague:
		return false
	case c.general:
		return t.actions&(changes|anything) != 0
	case c.actions == 0:
		return c.verbs&t.verbs != 0 || t.actions&anything != 0
	}
	return t.actions&(c.actions&changes|anything) != 0
}

// wouldHave reports whether a tool that was not called is clearly the one for a claim.
func (j *judgement) wouldHave(t *tool, c *claim) bool {
	if t.actions&c.actions&changes == 0 || j.isCalled(t.name) {
		return false
	}
	wished := j.wish.actions&t.actions&c.actions&changes != 0
	return c.things.meets(t.things) || wished && (j.wish.things.meets(t.things) || j.wish.verbs&t.verbs != 0)
}

// namesAnother reports whether a claim has the very verb of a tool that was not called,
// and of none that was: "skipped" after a call of set_volume.
func (j *judgement) namesAnother(c *claim) bool {
	for i := range j.turn {
		if t := &j.turn[i]; t.verbs&c.verbs != 0 || t.actions&anything != 0 && !t.vague {
			return false
		}
	}
	return slices.ContainsFunc(j.tools.tools, func(t tool) bool {
		return t.verbs&c.verbs != 0 && t.actions&(changes|anything) != 0
	})
}

// isPast reports whether a claim speaks of an earlier turn: a call there did it, and the
// user does not ask for it now.
func (j *judgement) isPast(c *claim) bool {
	wished := j.wish.actions & changes
	switch {
	case wished&c.actions != 0 && !c.earlier && !j.wish.askedBack:
		return false
	case c.general && (wished != 0 || j.answersPlain()) || j.tellsBack:
		return false
	}
	return slices.ContainsFunc(j.earlier(), func(t tool) bool {
		return c.general || t.actions&(c.actions|anything) != 0 && (!t.vague || c.things.meets(t.things)) ||
			c.actions&shaping != 0 && t.actions&shaping != 0
	})
}
