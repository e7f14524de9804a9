package guard

import "slices"

// remedy says which call may be demanded for an answer that is a ghost.
type remedy struct {
	demand *demand
	tools  *toolbox
	points pointer
	claims []claim
	why    *reasons
}

// add adds to a verdict against an answer what may be done about it.
func (r *remedy) add(v *Verdict) {
	if v.Changed || r.fits(r.why.tool) {
		v.Tool = r.why.tool
	}
	v.Demand = r.demand.forced() || !v.Changed && v.Tool != ""
	v.Hint = !v.Demand && !v.Changed && r.pointsAnywhere()
}

// pointsAnywhere reports whether what the user wants, or was proposed to him, points to a tool
// that changes something, or the answer claims to have looked something up that a tool finds.
func (r *remedy) pointsAnywhere() bool {
	if len(r.demand.unmet) > 0 {
		return true
	}
	looked := r.why.has(SignalLookup, 0) || r.why.has(SignalUnsourced, 0)
	for i := range r.tools.tools {
		t := &r.tools.tools[i]
		switch {
		case t.handsOver || r.claimsOther(t):
		case t.actions&(changes|anything) != 0 && r.points.points(t) > 0, t.actions&finds != 0 && looked:
			return true
		}
	}
	return false
}

// fits reports whether a tool may be demanded of the model: the request, an operator or
// the user asked for what it does, the answer has the call as text, or it changes nothing.
func (r *remedy) fits(name string) bool {
	if r.demand.names(name) {
		return true
	}
	if slices.ContainsFunc(r.why.signals, func(s Signal) bool { return s.Name == SignalCallText && s.Detail == name }) {
		return true
	}
	t := r.tools.get(name)
	if t.actions&(changes|anything) == 0 {
		return true
	}
	mine := r.points.wished(&t)
	if mine < leastWished || r.claimsOther(&t) {
		return false
	}
	return !slices.ContainsFunc(r.tools.tools, func(other tool) bool {
		return other.name != name && other.actions&(changes|anything) != 0 && r.points.wished(&other) >= mine
	})
}

// claimsOther reports whether all that an answer claims is what a tool does not do: "deleted" is
// no payment, whatever else the user's words are.
func (r *remedy) claimsOther(t *tool) bool {
	other := false
	for i := range r.claims {
		c := &r.claims[i]
		switch {
		case c.actions&changes == 0:
		case t.actions&(c.actions|anything) != 0, c.verbs&t.verbs != 0, bothMake(c.actions, t.actions), c.things.meets(t.things):
			return false
		default:
			other = true
		}
	}
	return other
}
