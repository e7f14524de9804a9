package guard

import (
	"slices"
	"strings"
)

// maxText bounds what is read of an answer: claims stand at its beginning or its end.
const maxText = 32 << 10

// Judge judges an answer that is over, or the part of it that is there.
func (k *Case) Judge(a Answer) Verdict {
	j := judgement{Case: k, signals: k.room.signals[:0]}
	if k.requiredUnmet(a) {
		j.tool = k.requiredTool()
		j.add(SignalRequired, 0.99, j.tool)
	}
	if len(a.Calls) > 0 {
		return j.verdict()
	}
	k.prepare()
	text := cutText(a.Text)
	j.text = k.readText(text)
	defer j.free()
	j.text.answers = k.wish.said
	j.figures = j.text.unsourced(k.chat.Text)
	j.tellsBack = !k.wish.askedBack && k.wish.actions&finds == 0 && sharesFigure(j.text.text, []byte(k.wish.text))
	j.contradicts()
	if len(k.names) == 0 || k.choice.None {
		return j.verdict()
	}
	if len(k.turn) == 0 {
		j.add(SignalToolsUnused, 0.15, "")
		j.played = k.isPlayed(text)
	}
	j.intents()
	j.written(text)
	j.references()
	j.claims()
	j.states()
	j.obligations()
	j.unsourced()
	if a.Finish != "length" { // the end is missing
		j.promises()
	}
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
	due           obligation
	signals       []Signal
	contradiction bool
	failed        string // the result that is contradicted
	tool          string
	best          float64 // the weight that tool was found with
	several       bool    // two tools were found with it
	// figures are how many in the answer nobody gave. tellsBack says that it repeats one
	// of a message that asks nothing: then it speaks of what the user has just said.
	figures   int
	tellsBack bool
	played    bool // the answer is a part in a play
	found     []claim
	searched  bool // found has all claims
	// referred says that it gives a number that a call would have brought: "booking 7741".
	referred bool
	// toldBefore says that it has a claim of the assistant's last message.
	toldBefore bool
	// repeated is how many of the user's words it has, once counted.
	repeated int
	counted  bool
}

// free gives back what was read of the answer, and the room that its signals and claims took.
func (j *judgement) free() {
	j.guard.lexicons.free(j.text)
	if j.due.proposal != nil {
		j.guard.lexicons.free(j.due.proposal)
	}
	j.room.signals, j.room.claims = j.signals[:0], j.found[:0]
}

func (j *judgement) verdict() Verdict {
	v := Verdict{Score: combine(j.signals), Signals: append([]Signal(nil), j.signals...), Contradiction: j.contradiction}
	v.Ghost = v.Score >= j.guard.threshold && !v.Contradiction
	if v.Ghost || v.Contradiction {
		j.conclude(&v)
	}
	return v
}

// conclude adds to a verdict against an answer what may be done about it.
func (j *judgement) conclude(v *Verdict) {
	v.Changed = j.ledger.Changed()
	if v.Contradiction {
		v.Tool, v.Result = j.tool, j.failed
		return
	}
	if v.Changed || j.fits(j.tool) {
		v.Tool = j.tool
	}
	required := j.choice.Required || j.choice.Tool != ""
	v.Demand = required || !v.Changed && v.Tool != ""
	v.Hint = !v.Demand && !v.Changed && j.pointsAnywhere()
}

// pointsAnywhere reports whether what the user wants, or was proposed to him, points to a tool
// that changes something, or the answer claims to have looked something up that a tool finds.
func (j *judgement) pointsAnywhere() bool {
	if len(j.unmet) > 0 {
		return true
	}
	looked := j.has(SignalLookup, 0) || j.has(SignalUnsourced, 0)
	for i := range j.tools.tools {
		t := &j.tools.tools[i]
		switch {
		case t.handsOver || j.claimsOther(t):
		case t.actions&(changes|anything) != 0 && j.points(t) > 0, t.actions&finds != 0 && looked:
			return true
		}
	}
	return false
}

// fits reports whether a tool may be demanded of the model: the request, an operator or
// the user asked for what it does, the answer has the call as text, or it changes nothing.
func (j *judgement) fits(name string) bool {
	if j.tools == nil || name == j.choice.Tool || name == j.requiredTool() && j.choice.Required {
		return true
	}
	demanded := func(e expected) bool { return e.tool == name }
	spelled := func(s Signal) bool { return s.Name == SignalCallText && s.Detail == name }
	if slices.ContainsFunc(j.unmet, demanded) || slices.ContainsFunc(j.signals, spelled) {
		return true
	}
	t := j.tools.get(name)
	if t.actions&(changes|anything) == 0 {
		return true
	}
	mine := j.wished(&t)
	if mine < leastWished || j.claimsOther(&t) {
		return false
	}
	for i := range j.tools.tools {
		if other := &j.tools.tools[i]; other.name != name && other.actions&(changes|anything) != 0 && j.wished(other) >= mine {
			return false
		}
	}
	return true
}

// leastWished is how clearly a tool that changes something must be wished for to be demanded: by
// its very verb, or by what it does and what it is about.
const leastWished = 3

// wished says how clearly the user's words, and what was proposed to him, ask for a tool.
func (j *judgement) wished(t *tool) (n int) {
	if t.handsOver {
		return 0
	}
	verbs, act, about := j.wish.verbs, j.wish.actions, j.wish.things
	if p := j.owing().proposal; p != nil && j.wish.verbs == 0 && j.wish.actions&changes == 0 {
		for i := range p.marks {
			if m := &p.marks[i]; m.is(ask | doing) {
				verbs, act = verbs|m.verbs, act|m.actions
			}
		}
		about = about.or(p.about())
	}
	n = 4*count(verbs&t.verbs != 0) + count(act&t.actions&changes != 0 || t.vague && act&changes != 0) +
		count(act&t.actions&(changes&^pays) != 0) // a refund is no payment
	if n > 0 {
		n += count(about.meets(t.things))
	}
	return n
}

// claimsOther reports whether all that an answer claims is what a tool does not do: "deleted" is
// no payment, whatever else the user's words are.
func (j *judgement) claimsOther(t *tool) bool {
	other := false
	for _, c := range j.claimed() {
		switch {
		case c.actions&changes == 0:
		case t.actions&(c.actions|anything) != 0, c.verbs&t.verbs != 0, c.actions&making != 0 && t.actions&making != 0, c.things.meets(t.things):
			return false
		default:
			other = true
		}
	}
	return other
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

// claimed returns what the answer claims.
func (j *judgement) claimed() []claim {
	if !j.searched {
		j.found, j.searched = j.text.claims(j.room.claims[:0]), true
	}
	return j.found
}

// prefer remembers the tool that should have been called, unless two are as likely.
func (j *judgement) prefer(name string, weight float64) {
	switch {
	case weight > j.best, weight == j.best && j.tool == "" && !j.several: // "Done! I've deleted it."
		j.tool, j.best, j.several = name, weight, false
	case weight == j.best && name != "" && j.tool != name:
		j.tool, j.several = "", true // two are as likely
	}
}

func (j *judgement) intents() {
	for _, e := range j.unmet {
		weight := 0.9
		if t := j.tools.get(e.tool); j.wish.askedBack && j.wish.actions&changes == 0 && t.actions&(finds|anything) == 0 {
			weight = 0.4 // "how do I delete a task?"
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
	if j.wish.askedBack || j.wish.composes && !c.formatted {
		weight /= 2
	}
	if c.offered {
		j.add(SignalCallText, weight, c.name)
		j.prefer(c.name, weight)
		return
	}
	j.add(SignalUndeclared, weight, c.name)
}
