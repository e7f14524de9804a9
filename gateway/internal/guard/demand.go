package guard

import "slices"

// demand is what must be called whatever the answer says: by tool_choice, and by the operator's rules.
type demand struct {
	choice  Choice
	offered []string
	unmet   []expected
}

// isIdle reports whether no call can be made.
func (d *demand) isIdle() bool { return len(d.offered) == 0 || d.choice.None }

// forced reports whether tool_choice demands a call.
func (d *demand) forced() bool { return d.choice.Required || d.choice.Tool != "" }

// isMissing reports whether tool_choice demands a call that an answer has not made.
func (d *demand) isMissing(calls []string) bool {
	switch {
	case d.isIdle():
		return false
	case d.choice.Tool != "":
		return !slices.Contains(calls, d.choice.Tool)
	}
	return d.choice.Required && len(calls) == 0
}

// tool is the one that tool_choice demands, or "" if it may be any of several.
func (d *demand) tool() string {
	switch {
	case d.choice.Tool != "":
		return d.choice.Tool
	case len(d.offered) == 1:
		return d.offered[0]
	case len(d.unmet) == 1:
		return d.unmet[0].tool
	}
	return ""
}

// names reports whether a tool is demanded by its name.
func (d *demand) names(tool string) bool {
	return tool == d.choice.Tool || d.choice.Required && tool == d.tool() ||
		slices.ContainsFunc(d.unmet, func(e expected) bool { return e.tool == tool })
}

// weighIntents weighs the operator's rules that were not kept.
func (d *demand) weighIntents(to *reasons, w *wish, b *toolbox) {
	for _, e := range d.unmet {
		weight := 0.9
		if t := b.get(e.tool); w.askedBack && w.actions&changes == 0 && t.actions&(finds|anything) == 0 {
			weight = 0.4 // "how do I delete a task?"
		}
		to.add(SignalIntent, weight, e.word)
		to.prefer(e.tool, weight)
	}
}
