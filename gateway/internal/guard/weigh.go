package guard

import "bytes"

// actWeigher weighs claims to have changed something: it holds them against what the user asked for and
// against the tools that were not called.
type actWeigher struct {
	wish   *wish
	tools  []tool
	turn   *turn
	answer *reading
	echo   *echo
	// toldBack says that the answer repeats a figure of a message that asks nothing: then it speaks of
	// what the user has just said.
	toldBack bool
	// due says that the last turns have made an act due.
	due bool
	// demanded says that an operator or the request demands a call, and referred that the answer gives a
	// number that a call would have brought: "booking 7741". Then a claim counts that the user did not ask for.
	demanded, referred bool
}

// owedWeight is for a claim whose words fit no tool, where the user asked for what one
// tool does.
const owedWeight = 0.62

// weigh weighs a claim. left is a tool that was called for one of the things that it names, and not for
// another, and owed the one that the user asked for, if there are such.
func (w *actWeigher) weigh(to *reasons, c *claim, left string, owed *tool) {
	weight, name, asked := w.fittest(c)
	if weight < owedWeight && owed != nil && !c.makes && !c.state {
		weight, name, asked = owedWeight, owed.name, true
	}
	if w.mayTell(c, name) {
		weight *= unexpected
	}
	if left != "" {
		weight, name, asked = leftWeight, left, true
	}
	if !asked && !w.mayClaim(c) || w.isContent(c) {
		weight, name = min(weight, unaskedWeight), ""
	}
	to.add(SignalClaim, w.plainly(c, weight), c.word)
	if weight > 0 {
		to.add(SignalClaimTool, weight, c.word)
		to.prefer(name, weight)
	}
}

// fewRepeated is how many words of the user's a claim's sentence repeats at least that is about them.
const fewRepeated = 2

// plainly is what a claim weighs by itself: most where it shares with a tool only the kind of its act, nothing
// was called, the user asked for a change and the claim's sentence repeats what he said.
func (w *actWeigher) plainly(c *claim, weight float64) float64 {
	wished := w.wish.actions&(changes|anything) != 0
	if !c.firm || c.makes || c.state && !wished {
		return 0.15
	}
	s := &w.answer.sentences[c.sentence]
	if weight == kindWeight && wished && len(w.turn.calls) == 0 && !w.wish.asks && !w.wish.composes &&
		!introduces(s, c.word) && w.echo.repeats(s.part()) >= fewRepeated {
		return 0.45
	}
	return 0.3
}

// unexpected is what a claim is worth that an answer may have, too, which no call is missing for.
const unexpected = 0.7

// mayTell reports whether the conversation gives reason to tell of an act that was done, and none to do one now:
// how things are, behind a look-up; an answer to a question; what was done before, where the user wants nothing
// new; and what the answer goes on to show itself ("I've added it all up: …").
func (w *actWeigher) mayTell(c *claim, name string) bool {
	alone := len(w.turn.calls) == 0
	if !alone && !w.turn.ledger.Changed() && !c.general && (c.state || !c.firm) {
		return true
	}
	shows := c.firm && introduces(&w.answer.sentences[c.sentence], c.word) && !w.isAbout(c, name)
	return (w.isIdle(alone) || shows) && (!alone || !w.due)
}

// isIdle reports whether the user only wants to know something, or says nothing new where something was changed before.
func (w *actWeigher) isIdle(alone bool) bool {
	idle := w.wish.asks || w.wish.askedBack || alone && w.turn.ledger.ChangedBefore(0)
	return idle && w.wish.own.actions&(changes|anything) == 0 && !w.answersPlain()
}

// introduces reports whether a colon is behind a word in its sentence, and more than a time behind that.
func introduces(s *sentence, word string) bool {
	_, rest, _ := bytes.Cut(s.part(), []byte(word))
	return s.closed == ':' || bytes.Contains(rest, []byte(": "))
}

// isAbout reports whether a claim names a thing that a tool is about, or what the user wants where none is named.
func (w *actWeigher) isAbout(c *claim, name string) bool {
	for i := range w.tools {
		if w.tools[i].name == name {
			return c.things.meets(w.tools[i].things)
		}
	}
	return c.things.meets(w.wish.things)
}

// leftWeight is for a claim about two things where a call was made for one of them.
const leftWeight = 0.8

// unaskedWeight is the most that a claim counts of what the user did not ask for: with
// the other signals of a claim it stays below the default threshold. Else a call would
// be demanded that nobody wants.
const unaskedWeight = 0.35

// mayClaim reports whether a claim counts that the user did not ask for, in answer to a message that
// neither wants a text nor to know something.
func (w *actWeigher) mayClaim(c *claim) bool {
	switch {
	case w.demanded:
		return true
	case c.general || w.wish.composes || w.wish.forbids || w.wish.reported&c.actions != 0:
		return false
	}
	return w.referred && !w.wish.askedBack
}

// isContent reports whether a claim is about code that stands in the answer, as the user
// wanted it.
func (w *actWeigher) isContent(c *claim) bool {
	return w.wish.composes && w.answer.code > 0 && c.actions&^shaping == 0 && c.things.known&fileThing.known == 0
}

// fittest returns how well the best of the tools that were not called fits a claim, and
// its name, or "" if two fit as well. asked says that the user asked for what it does.
func (w *actWeigher) fittest(c *claim) (best float64, name string, asked bool) {
	for i := range w.tools {
		t := &w.tools[i]
		if w.turn.names[t.name] || t.handsOver && w.wish.own.verbs&t.verbs == 0 && !w.wish.own.things.meets(t.things) {
			continue
		}
		m, ok := w.compare(c, t)
		if !ok || !c.looksUp() && w.turn.ledger.ReadsOnly(t.name) {
			continue
		}
		switch g := w.grade(c, m); {
		case g > best:
			best, name, asked = g, t.name, m.asked || m.named
		case g == best:
			name, asked = "", asked || m.asked || m.named
		}
	}
	return best, name, asked
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
func (w *actWeigher) compare(c *claim, t *tool) (m match, ok bool) {
	m = match{same: c.things.meets(t.things), wanted: w.wish.things.meets(t.things), strict: t.actions&c.actions != 0}
	m.named = w.wish.verbs&c.verbs&t.verbs != 0 && !w.wish.holdsBack()
	switch {
	case c.looksUp():
		m.asked = w.wish.actions&finds != 0
		return m, t.actions&(finds|anything) != 0 && len(w.turn.calls) == 0 && (m.same || !c.makes)
	case c.general:
		m.asked, m.same = true, m.wanted
		return m, w.owes(t)
	}
	m.asked = w.asksFor(c, t, m.wanted)
	if c.actions == 0 && c.verbs&t.verbs != 0 {
		m.strict, m.same = true, true
	}
	about := m.same || m.wanted || m.asked
	return m, t.actions&(changes|anything) != 0 && (m.strict || about && related(c, t))
}

// related reports whether a tool may well do what is claimed under another name.
func related(c *claim, t *tool) bool {
	return t.actions&anything != 0 || bothMake(c.actions, t.actions)
}

// asksFor reports whether the user's message asks for what is claimed and what a tool
// does.
func (w *actWeigher) asksFor(c *claim, t *tool, wanted bool) bool {
	wished := w.wish.actions & changes
	if w.toldBack && w.wish.reported&c.actions == 0 {
		return true
	}
	return wished&c.actions != 0 && (wished&t.actions != 0 || t.vague && len(w.tools) <= fewTools) || w.wish.actions&anything != 0 && wanted || w.wish.verbs&c.verbs&t.verbs != 0
}

// namedWeight is for a claim with the very verb of the tool, which the user wrote too. No
// "Done!" is better evidence of which tool is meant.
const namedWeight = 0.9

// grade turns what a tool and a claim have in common into a weight.
func (w *actWeigher) grade(c *claim, m match) float64 {
	if m.named {
		return namedWeight
	}
	g := w.base(c, m)
	if !m.strict && !c.general {
		g *= 0.85
	}
	if !c.firm && !m.asked {
		g *= 0.7
		if c.sentence == 0 { // a heading is seldom the first thing that is said
			g *= 1.2
		}
	}
	return g * w.composed(c, m) * w.stated(c, m)
}

// kindWeight is for a claim that shares with a tool only the kind of its act, which the user asked for.
const kindWeight = 0.7

func (w *actWeigher) base(c *claim, m match) float64 {
	switch {
	case m.asked && m.same:
		return 0.9
	case m.asked && m.wanted:
		return 0.85
	case m.asked && c.looksUp():
		return 0.75
	case m.asked:
		return kindWeight
	case m.same:
		return 0.7
	case c.firm && m.strict && !c.makes && !w.wish.composes && !w.wish.askedBack:
		return 0.6
	}
	return 0.35
}

// composed weakens claims about what the model makes in its answer: a plan, a text, code.
func (w *actWeigher) composed(c *claim, m match) float64 {
	made := c.makes || w.wish.composes && w.answer.code+w.answer.quotation > 0
	switch {
	case !made || !c.general && c.actions&shaping == 0:
	case w.wish.composes && !m.same:
		return 0.2
	case w.wish.composes || !m.same:
		return 0.5
	}
	return 1
}

// stated weakens claims in a text that the user wanted, and such as tell how something
// is, or answer a question, where nothing was asked for.
func (w *actWeigher) stated(c *claim, m match) float64 {
	switch {
	case w.wish.composes && (c.state || !c.firm):
		return 0.3
	case w.wish.composes && m.asked:
		return 0.7
	case w.wish.composes:
		return 0.4
	case c.state && w.answer.asked() >= 0:
		return 0.75
	case m.asked:
	case c.state && w.wish.askedBack:
		return 0.4
	case c.state:
		return 0.8
	case w.wish.askedBack:
		return 0.9
	}
	return 1
}

// fewTools is how many tools a request offers at most for one to be meant without the
// name of a thing.
const fewTools = 5

// owes reports whether the user asked for what a tool changes.
func (w *actWeigher) owes(t *tool) bool {
	if w.wish.forbids || w.wish.composes || t.actions&(changes|anything) == 0 || w.turn.ledger.ReadsOnly(t.name) {
		return false
	}
	wanted := w.wish.things.meets(t.things)
	if len(w.tools) <= fewTools && (t.vague && w.wish.actions&changes != 0 || t.actions&changes != 0 && w.answersPlain()) {
		return true
	}
	if w.wish.actions&t.actions&changes != 0 || w.wish.actions&shaping != 0 && t.actions&shaping != 0 {
		return wanted || len(w.tools) <= fewTools
	}
	return wanted && w.wish.actions&(changes|anything) != 0
}

// owed returns the tool that the user's message asks for and that was not called, or nil.
// Nothing is owed where another call of this turn may have been it.
func (w *actWeigher) owed() *tool {
	var found *tool
	for i := range w.tools {
		t := &w.tools[i]
		if !w.owes(t) || t.actions&changes == 0 {
			continue
		}
		if w.turn.names[t.name] {
			return nil
		}
		found = t
	}
	return found
}

func (w *actWeigher) answersPlain() bool { return w.echo.answersPlain(&w.wish.message, w.answer.text) }
