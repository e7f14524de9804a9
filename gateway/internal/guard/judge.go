package guard

import (
	"slices"
	"strings"
)

// maxText bounds what is read of an answer: claims stand at its beginning or its end.
const maxText = 32 << 10

// Judge judges an answer that is over, or the part of it that is there.
func (k *Case) Judge(a Answer) Verdict {
	j := judgement{Case: k}
	if k.requiredUnmet(a) {
		j.tool = k.requiredTool()
		j.add(SignalRequired, 0.99, j.tool)
	}
	if len(a.Calls) > 0 || strings.TrimSpace(a.Text) == "" {
		return j.verdict()
	}
	k.prepare()
	text := cutText(a.Text)
	j.text = k.guard.lexicons.read(text, k.tools.local)
	j.contradicts()
	if len(k.names) == 0 || k.choice.None {
		return j.verdict()
	}
	if len(k.turn) == 0 {
		j.add(SignalToolsUnused, 0.1, "")
	}
	j.intents()
	j.written(text)
	j.claims()
	j.unsourced()
	j.promises()
	j.against()
	return j.verdict()
}

// requiredUnmet reports whether tool_choice demands a call that the answer has not made.
func (k *Case) requiredUnmet(a Answer) bool {
	if len(k.names) == 0 || k.choice.None {
		return false
	}
	if k.choice.Tool != "" {
		return !slices.Contains(a.Calls, k.choice.Tool)
	}
	return k.choice.Required && len(a.Calls) == 0
}

func (k *Case) requiredTool() string {
	switch {
	case k.choice.Tool != "":
		return k.choice.Tool
	case len(k.names) == 1:
		return k.names[0]
	case len(k.unmet) == 1:
		return k.unmet[0].tool
	}
	return ""
}

// cutText keeps the beginning and the end of a very long text, with the fences that are
// open there, and leaves reasoning at its beginning out.
func cutText(text string) string {
	text = strings.TrimSpace(text)
	if rest, found := strings.CutPrefix(text, "<think>"); found {
		if _, answer, closed := strings.Cut(rest, "</think>"); closed {
			text = answer
		}
	}
	if len(text) <= maxText {
		return text
	}
	head, tail := text[:maxText/2], text[len(text)-maxText/2:]
	if strings.Count(head, "```")%2 == 1 {
		head += "\n```"
	}
	if strings.Count(tail, "```")%2 == 1 {
		tail = "```\n" + tail
	}
	return strings.ToValidUTF8(head+"\n"+tail, "")
}

// judgement is a verdict in the making.
type judgement struct {
	*Case
	text          *reading
	signals       []Signal
	contradiction bool
	tool          string
	best          float64 // the weight that tool was found with
}

func (j *judgement) verdict() Verdict {
	score := combine(j.signals)
	return Verdict{
		Score: score, Signals: j.signals, Tool: j.tool, Contradiction: j.contradiction,
		Ghost: score >= j.guard.threshold && !j.contradiction,
	}
}

// add adds a signal, or makes the one of that name stronger.
func (j *judgement) add(name string, weight float64, detail string) {
	for i := range j.signals {
		if s := &j.signals[i]; s.Name == name {
			if weight*weight > s.Weight*s.Weight {
				s.Weight, s.Detail = weight, detail
			}
			return
		}
	}
	j.signals = append(j.signals, Signal{name, weight, detail})
}

// prefer remembers the tool that should have been called, unless two are as likely.
func (j *judgement) prefer(name string, weight float64) {
	switch {
	case weight > j.best:
		j.tool, j.best = name, weight
	case weight == j.best && j.tool != name:
		j.tool = ""
	}
}

func (j *judgement) intents() {
	for _, e := range j.unmet {
		weight := 0.72
		if t := j.tools.get(e.tool); j.wish.askedBack && j.wish.actions&changes == 0 && t.actions&(finds|anything) == 0 {
			weight = 0.4
		}
		j.add(SignalIntent, weight, e.word)
		j.prefer(e.tool, weight)
	}
}

// written looks for calls in the text.
func (j *judgement) written(text string) {
	c, found := j.tools.writtenCall(text, j.text.plain)
	if !found {
		return
	}
	weight := 0.85
	if !c.alone {
		weight = 0.3
	}
	if j.wish.askedBack || j.wish.composes {
		weight /= 2
	}
	if c.offered {
		j.add(SignalCallText, weight, c.name)
		j.prefer(c.name, weight)
		return
	}
	j.add(SignalUndeclared, weight, c.name)
}

// claims weighs what the answer claims.
func (j *judgement) claims() {
	for _, c := range j.text.claims() {
		switch {
		case j.covered(&c):
			j.add(SignalAfterResult, -0.5, c.word)
		case j.isPast(&c):
			j.add(SignalPastTurn, -0.5, c.word)
		default:
			j.claim(&c)
		}
	}
}

// claim weighs a claim that no call of this turn covers.
func (j *judgement) claim(c *claim) {
	best, name, ties := 0.0, "", 0
	for i := range j.tools.tools {
		t := &j.tools.tools[i]
		if j.isCalled(t.name) {
			continue
		}
		switch w := j.fit(c, t); {
		case w > best:
			best, name, ties = w, t.name, 1
		case w == best:
			ties++
		}
	}
	signal := SignalClaimTool
	if c.actions&changes == 0 && !c.general {
		signal = SignalLookup
		if j.text.unsourced(j.chat.Text) == 0 {
			best *= 0.7
		}
	} else if c.firm && !c.makes {
		j.add(SignalClaim, 0.3, c.word)
	} else {
		j.add(SignalClaim, 0.15, c.word)
	}
	if best == 0 {
		return
	}
	j.add(signal, best, c.word)
	if ties > 1 {
		name = ""
	}
	j.prefer(name, best)
}

// fit says how well a tool that was not called fits a claim, between 0 and 1.
func (j *judgement) fit(c *claim, t *tool) float64 {
	same := c.things.meets(t.things)
	wanted := j.wish.things.meets(t.things)
	asked := j.wish.actions&c.actions&^finds != 0 && j.wish.actions&t.actions&^finds != 0
	strict := t.actions&c.actions != 0
	if c.actions&changes == 0 && !c.general { // a look-up
		asked = j.wish.actions&finds != 0
		if t.actions&(finds|anything) == 0 || len(j.turn) > 0 || c.makes && !same {
			return 0
		}
	} else {
		named := c.things.local&t.things.local != 0
		switch {
		case c.general:
			asked = j.wish.actions&t.actions&changes != 0 && (wanted || len(j.tools.tools) < 6)
			if !asked && !(t.actions == anything && wanted) {
				return 0
			}
			same = wanted
		case strict && t.actions&changes != 0:
		case c.actions&making != 0 && t.actions&making != 0 && (same || named || wanted):
		case t.actions&anything != 0 && (same || wanted || asked):
		case named && t.actions&(changes|anything) != 0:
			strict = true
		default:
			return 0
		}
	}
	return j.grade(c, same, wanted, asked, strict)
}

// grade turns what fits into a weight.
func (j *judgement) grade(c *claim, same, wanted, asked, strict bool) float64 {
	w := 0.35
	switch {
	case asked && same:
		w = 0.9
	case asked && wanted:
		w = 0.85
	case asked:
		w = 0.75
	case same:
		w = 0.7
	}
	if !strict && !c.general {
		w *= 0.85
	}
	if !c.firm && !asked {
		w *= 0.7
	}
	if c.makes && c.actions&(creates|updates|writes) != 0 {
		switch {
		case j.wish.composes && !same:
			w *= 0.2
		case j.wish.composes || !same:
			w *= 0.5
		}
	}
	if j.wish.askedBack && !asked {
		w *= 0.9
	}
	return w
}

func (j *judgement) isCalled(name string) bool {
	return slices.ContainsFunc(j.turn, func(c called) bool { return c.name == name })
}

// covered reports whether a call of this turn did what is claimed.
func (j *judgement) covered(c *claim) bool {
	if len(j.turn) == 0 {
		return false
	}
	if c.actions&changes == 0 && !c.general {
		return true
	}
	related := false
	for i := range j.turn {
		t := &j.turn[i].tool
		switch {
		case c.general && t.actions&(changes|anything) != 0, t.actions&(c.actions&changes|anything) != 0,
			c.things.local&t.things.local != 0 && t.actions&changes != 0:
			return true
		case c.actions&making != 0 && t.actions&making != 0:
			related = true
		}
	}
	if c.general {
		return j.wish.actions&changes == 0
	}
	return related && !slices.ContainsFunc(j.tools.tools, func(t tool) bool {
		known := c.things.meets(t.things) || j.wish.actions&t.actions&c.actions&changes != 0 && j.wish.things.meets(t.things)
		return t.actions&c.actions&changes != 0 && known && !j.isCalled(t.name)
	})
}

// isPast reports whether a claim speaks of an earlier turn: a call there did it, and the
// user does not ask for it now.
func (j *judgement) isPast(c *claim) bool {
	if j.wish.actions&c.actions&changes != 0 && !c.earlier && !j.wish.askedBack {
		return false
	}
	if c.general && j.wish.actions&changes != 0 {
		return false
	}
	return slices.ContainsFunc(j.earlier(), func(t tool) bool {
		return t.actions&(c.actions|anything) != 0 || c.general || c.actions&making != 0 && t.actions&making != 0
	})
}

// unsourced looks for figures that a look-up would have brought.
func (j *judgement) unsourced() {
	if len(j.turn) > 0 || j.wish.actions&finds == 0 {
		return
	}
	n := j.text.unsourced(j.chat.Text)
	if n == 0 {
		return
	}
	best, name := 0.0, ""
	for i := range j.tools.tools {
		t := &j.tools.tools[i]
		w := 0.0
		switch {
		case t.actions&(finds|anything) == 0:
		case j.wish.things.meets(t.things):
			w = 0.68
		case n > 1 && j.text.about().meets(t.things):
			w = 0.6
		case n > 1:
			w = 0.3
		}
		if w > best {
			best, name = w, t.name
		}
	}
	for s := range j.text.sentences {
		if j.text.has(&j.text.sentences[s], hedge) {
			best *= 0.5
			break
		}
	}
	if best > 0 {
		j.add(SignalUnsourced, best, name)
		j.prefer(name, best)
	}
}

// promises weighs what the end of the answer announces.
func (j *judgement) promises() {
	p, ok := j.text.promised()
	if !ok || j.wish.forbids {
		return
	}
	best := 0.0
	for i := range j.tools.tools {
		t := &j.tools.tools[i]
		asked := j.wish.actions&t.actions != 0
		same := p.things.meets(t.things) || j.wish.things.meets(t.things)
		w := 0.0
		switch {
		case p.waiting && asked:
			w = 0.7
		case p.waiting:
			w = 0.5
		case t.actions&p.actions == 0 && t.actions&anything == 0 && !(p.actions&making != 0 && t.actions&making != 0 && same):
		case asked && same:
			w = 0.85
		case asked || same:
			w = 0.75
		default:
			w = 0.5
		}
		if w > 0 {
			j.prefer(t.name, w)
		}
		best = max(best, w)
	}
	if best > 0 {
		j.add(SignalPromise, best, p.word)
	}
}
