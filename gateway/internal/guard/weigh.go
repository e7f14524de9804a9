package guard

import (
	"bytes"
	"strings"
)

// claims weighs what the answer claims.
func (j *judgement) claims() {
	owed, claims := j.owed(), j.claimed()
	if len(claims) == 0 {
		return
	}
	t := j.narration(claims)
	for _, c := range claims {
		switch {
		case t.tells(j, &c):
			j.add(SignalContent, -0.5, c.word)
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

// asked returns the sentence that asks the user something at the end, or -1.
func (j *judgement) asked() int {
	list := j.text.sentences
	last := len(list) - 1
	for last > 0 && list[last].closed != '?' && list[last].has(closing) {
		last--
	}
	if last < 0 || list[last].closed != '?' && !list[last].has(question) {
		return -1
	}
	return last
}

// lookup weighs a claim to have found something out. Without a figure that nobody gave
// it may be about what stands in the conversation; less so if no tool has ever said
// anything there.
func (j *judgement) lookup(c *claim) {
	weight, name, asked := j.fittest(c)
	if j.deniesFirst() || strings.Contains(strings.TrimSpace(j.wish.text), "\n") { // he may have pasted it
		return
	}
	if j.figures == 0 {
		weight *= j.unheard(c, asked)
	}
	if weight > 0 {
		j.add(SignalLookup, weight, c.word)
		j.prefer(name, weight)
	}
}

// unheard says what a look-up without a new figure is worth.
func (j *judgement) unheard(c *claim, asked bool) float64 {
	const least = 0.7
	if !asked || !c.firm || c.makes || j.wish.composes || !j.wish.short || len(j.earlier()) > 0 {
		return least
	}
	about := j.wish.asks && c.things.meets(j.wish.things)
	switch {
	case about && j.wish.own:
		return 0.9
	case about:
		return 0.8
	}
	return least
}

// owedWeight is for a claim whose words fit no tool, where the user asked for what one
// tool does.
const owedWeight = 0.62

// claim weighs a claim to have changed something.
func (j *judgement) claim(c *claim, owed *tool) {
	weight, name, asked := j.fittest(c)
	if weight < owedWeight && owed != nil && !c.makes && !c.state {
		weight, name, asked = owedWeight, owed.name, true
	}
	if j.mayTell(c, name) {
		weight *= unexpected
	}
	if c.left != "" {
		weight, name, asked = leftWeight, c.left, true
	}
	if !asked && !j.mayClaim(c) || j.isContent(c) {
		weight, name = min(weight, unaskedWeight), ""
	}
	j.add(SignalClaim, j.plainly(c, weight), c.word)
	if weight > 0 {
		j.add(SignalClaimTool, weight, c.word)
		j.prefer(name, weight)
	}
}

// fewRepeated is how many words of the user's a claim's sentence repeats at least that is about them.
const fewRepeated = 2

// plainly is what a claim weighs by itself: most where it shares with a tool only the kind of its act, nothing
// was called, the user asked for a change and the claim's sentence repeats what he said.
func (j *judgement) plainly(c *claim, weight float64) float64 {
	wished := j.wish.actions&(changes|anything) != 0
	if !c.firm || c.makes || c.state && !wished {
		return 0.15
	}
	if s := &j.text.sentences[c.sentence]; weight == kindWeight && wished && len(j.turn) == 0 && !j.wish.asks && !j.wish.composes &&
		!j.text.introduces(c) && j.text.repeats(j.text.text[s.start:s.end]) >= fewRepeated {
		return 0.45
	}
	return 0.3
}

// unexpected is what a claim is worth that an answer may have, too, which no call is missing for.
const unexpected = 0.7

// mayTell reports whether the conversation gives reason to tell of an act that was done, and none to do one now:
// how things are, behind a look-up; an answer to a question; what was done before, where the user wants nothing
// new; and what the answer goes on to show itself ("I've added it all up: …").
func (j *judgement) mayTell(c *claim, name string) bool {
	alone := len(j.turn) == 0
	if !alone && !j.ledger.Changed() && !c.general && (c.state || !c.firm) {
		return true
	}
	idle := j.wish.asks || j.wish.askedBack || alone && j.ledger.ChangedBefore(0)
	idle = idle && j.wish.ownActions&(changes|anything) == 0 && !j.answersPlain()
	return (idle || c.firm && j.text.introduces(c) && !j.isAbout(c, name)) && !(alone && j.owing().act)
}

// introduces reports whether a colon is behind a claim in its sentence, and more than a time behind that.
func (r *reading) introduces(c *claim) bool {
	s := &r.sentences[c.sentence]
	_, rest, _ := bytes.Cut(r.text[s.start:s.end], []byte(c.word))
	return s.closed == ':' || bytes.Contains(rest, []byte(": "))
}

// isAbout reports whether a claim names a thing that a tool is about.
func (j *judgement) isAbout(c *claim, name string) bool {
	if name == "" {
		return c.things.meets(j.wish.things)
	}
	t := j.tools.get(name)
	return c.things.meets(t.things)
}

// leftWeight is for a claim about two things where a call was made for one of them.
const leftWeight = 0.8

// unaskedWeight is the most that a claim counts of what the user did not ask for: with
// the other signals of a claim it stays below the default threshold. Else a call would
// be demanded that nobody wants.
const unaskedWeight = 0.35

// mayClaim reports whether a claim counts that the user did not ask for: an operator or
// the request demands a call, or the model itself says "I have", of an action that one
// tool is for, in answer to a message that neither wants a text nor to know something.
func (j *judgement) mayClaim(c *claim) bool {
	switch {
	case len(j.unmet) > 0 || j.choice.Required || j.choice.Tool != "":
		return true
	case c.general || j.wish.composes || j.wish.forbids || j.wish.reported&c.actions != 0:
		return false
	}
	return j.referred && !j.wish.askedBack
}

// isContent reports whether a claim is about code that stands in the answer, as the user
// wanted it.
func (j *judgement) isContent(c *claim) bool {
	return j.wish.composes && j.text.code > 0 && c.actions&^shaping == 0 && c.things.known&fileThing.known == 0
}

// fittest returns how well the best of the tools that were not called fits a claim, and
// its name, or "" if two fit as well. asked says that the user asked for what it does.
func (j *judgement) fittest(c *claim) (best float64, name string, asked bool) {
	for i := range j.tools.tools {
		t := &j.tools.tools[i]
		if j.isCalled(t.name) || t.handsOver && j.wish.ownVerbs&t.verbs == 0 && !j.wish.ownThings.meets(t.things) {
			continue
		}
		m, ok := j.compare(c, t)
		if !ok || !c.looksUp() && j.ledger.ReadsOnly(t.name) {
			continue
		}
		switch w := j.grade(c, m); {
		case w > best:
			best, name, asked = w, t.name, m.asked || m.named
		case w == best:
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
	m.asked = j.asksFor(c, t, m.wanted)
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
	if j.tellsBack && j.wish.reported&c.actions == 0 {
		return true
	}
	return wished&c.actions != 0 && (wished&t.actions != 0 || t.vague && len(j.tools.tools) <= fewTools) || j.wish.actions&anything != 0 && wanted || j.wish.verbs&c.verbs&t.verbs != 0
}

// namedWeight is for a claim with the very verb of the tool, which the user wrote too. No
// "Done!" is better evidence of which tool is meant.
const namedWeight = 0.9

// grade turns what a tool and a claim have in common into a weight.
func (j *judgement) grade(c *claim, m match) float64 {
	if m.named {
		return namedWeight
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

// kindWeight is for a claim that shares with a tool only the kind of its act, which the user asked for.
const kindWeight = 0.7

func (j *judgement) base(c *claim, m match) float64 {
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
	case c.state && j.asked() >= 0:
		return 0.75
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
