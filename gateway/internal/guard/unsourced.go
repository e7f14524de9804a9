package guard

import "slices"

// unsourced weighs figures that a look-up would have brought, by what tells that one was
// wanted. They count only where no tool has ever said anything.
type unsourced struct {
	answer *reading
	wish   *wish
	tools  []tool
	// figures are how many in the answer nobody gave.
	figures int
}

func (u *unsourced) weigh(to *reasons) {
	if offersToLook(u.answer) {
		return
	}
	points, kind := u.points(), u.kind()
	best, name := mostPoints(u.tools, finds, func(t *tool) int { return points + kind.points(u.wish.things, t) })
	if weight := unsourcedWeights[min(best, len(unsourcedWeights)-1)]; weight > 0 {
		to.add(SignalUnsourced, weight, name)
		to.prefer(name, weight)
	}
}

// offersToLook reports whether an answer asks at its end whether something is to be looked up.
func offersToLook(r *reading) bool {
	at := r.asked()
	if at < 0 || !r.sentences[at].has(question) {
		return false
	}
	return slices.ContainsFunc(r.sentences[at].marks, func(m mark) bool { return m.is(ask) && m.actions&^anything == finds })
}

// unsourcedWeights are the weights of unsourced figures, by points.
var unsourcedWeights = []float64{0, 0, 0.2, 0.4, 0.6, 0.64, 0.75}

// points counts what speaks for a look-up that was left out, whatever the tool: the
// more figures the more, a question, and words of this moment. General knowledge and a
// text that was wanted speak against it.
func (u *unsourced) points() int {
	w, r, n := u.wish, u.answer, u.figures
	asks := w.actions&finds != 0
	points := count(n > 1) + 2*count(n > 4) + count(n > 7) + count(asks) + count(w.fresh) + count(r.hasAny(fresh)) -
		2*count(r.hasAny(hedge)) - count(w.actions&changes != 0) - count(w.askedBack && !w.fresh && n <= 4)
	points -= 3 * count(reckons(w.read) || deniesFirst(r))
	points -= 2*count(w.composes) + 2*count(!w.asks && w.reported != 0)
	points += 3 * count(w.first && isTerse(w.read) && len(r.sentences) <= 3)
	if !asks && len(r.sentences) > 0 && r.sentences[0].has(content) {
		points -= 2
	}
	return points
}

// lookupKind is what tells of a question that nobody answers by heart.
type lookupKind struct {
	// about is what the answer is about.
	about things
	// numbered says that the user gave the number of a parcel and the like and that the
	// answer is of this moment, coded that he gave a code, and his that he asks for what is his.
	numbered, coded, his bool
}

// commonThings are what tools are about that look up what many people know.
var commonThings = thingsOf("product", "file", "database", "stock", "weather", "server")

func (u *unsourced) kind() lookupKind {
	w, r := u.wish, u.answer
	common := slices.ContainsFunc(u.tools, func(t tool) bool { return t.things.meets(commonThings) })
	return lookupKind{
		about:    r.about(),
		numbered: r.hasAny(fresh) && hasNumber(w.read),
		coded:    !common && hasCode(w.read),
		his:      w.his && w.asks && !r.hasAny(hypothetical|question|hedge|content) && !reckons(w.read),
	}
}

// points counts what of a question speaks for a tool.
func (k *lookupKind) points(wished things, t *tool) int {
	wanted, told := wished.meets(t.things), k.about.meets(t.things)
	points := 2*count(wanted) + count(told) + 2*count(k.numbered && told)
	return points + 3*count(k.his && (wanted || told)) + 3*count(k.coded && (t.vague || t.actions&anything == 0))
}
