package guard

// claimWeigher weighs what an answer claims, each claim for what it is: told only, done by a call of this
// turn or of an earlier one, looked up, or an act that no call has done.
type claimWeigher struct {
	told    narration
	covered coverage
	past    past
	looks   lookups
	acts    *actWeigher
}

// weigh adds the signals of all claims, and reports whether one is of the assistant's last message.
func (w *claimWeigher) weigh(to *reasons, claims []claim, owed *tool) (repeated bool) {
	for i := range claims {
		c := &claims[i]
		if w.told.tells(c) {
			to.add(SignalContent, -0.5, c.word)
			continue
		}
		left, covered := w.covered.by(c)
		if covered {
			to.add(SignalAfterResult, -0.5, c.word)
			continue
		}
		again := w.past.repeatsLast(c)
		repeated = repeated || again
		switch {
		case again || w.past.tells(c):
			to.add(SignalPastTurn, -0.5, c.word)
		case c.looksUp():
			w.looks.weigh(to, c, w.acts)
		default:
			w.acts.weigh(to, c, left, owed)
		}
	}
	return repeated
}
