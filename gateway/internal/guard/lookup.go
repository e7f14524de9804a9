package guard

import "strings"

// lookups weighs claims to have found something out.
type lookups struct {
	history *history
	// figures are how many in the answer nobody gave.
	figures int
}

// weigh weighs a claim to have found something out. Without a figure that nobody gave
// it may be about what stands in the conversation; less so if no tool has ever said
// anything there.
func (l *lookups) weigh(to *reasons, c *claim, by *actWeigher) {
	weight, name, asked := by.fittest(c)
	if deniesFirst(by.answer) || strings.Contains(strings.TrimSpace(by.wish.text), "\n") { // he may have pasted it
		return
	}
	if l.figures == 0 {
		weight *= l.unheard(c, by.wish, asked)
	}
	if weight > 0 {
		to.add(SignalLookup, weight, c.word)
		to.prefer(name, weight)
	}
}

// unheard says what a look-up without a new figure is worth.
func (l *lookups) unheard(c *claim, w *wish, asked bool) float64 {
	const least = 0.7
	if !asked || !c.firm || c.makes || w.composes || !w.isShort() || len(l.history.tools()) > 0 {
		return least
	}
	about := w.asks && c.things.meets(w.things)
	switch {
	case about && w.his:
		return 0.9
	case about:
		return 0.8
	}
	return least
}

// deniesFirst reports whether an answer begins with "not yet" and ends with a question:
// then it tells what it has not done.
func deniesFirst(r *reading) bool {
	return len(r.sentences) > 1 && r.asked() >= 0 && r.sentences[0].begins(negation|failure|forbid)
}
