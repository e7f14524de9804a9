package guard

import (
	"bytes"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/internal/ledger"
)

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
	case j.ledger.Changed():
		c.left = j.partial(c)
		return c.left == ""
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
	if !c.looksUp() && !j.ledger.ChangedBefore(0) {
		return false
	}
	return slices.ContainsFunc(j.earlier(), func(t tool) bool {
		return c.general || t.actions&(c.actions|anything) != 0 && (!t.vague || c.things.meets(t.things)) ||
			c.actions&shaping != 0 && t.actions&shaping != 0
	})
}

// partial returns the tool that is missing where a successful change does not cover a claim: a
// thing that the user named was left out, or there are more acts than changes, and the user's
// message asks for what only a tool does that was not called. What else a summary tells is a side
// effect.
func (j *judgement) partial(c *claim) string {
	if tool := j.leftOut(c); tool != "" {
		return tool
	}
	if tool := j.idLeftOut(c); tool != "" {
		return tool
	}
	b := j.behind(c)
	if b.verbs&c.verbs != 0 {
		return ""
	}
	missing := ""
	for i := range j.tools.tools {
		t := &j.tools.tools[i]
		if !j.isCalled(t.name) && t.actions&(changes|anything) != 0 && !t.handsOver && (j.isNamed(c, t, &b) || !b.does && j.isLeft(c, t, &b)) {
			missing = t.name
		}
	}
	return missing
}

// behind is what the changes of this turn have done.
type behind struct {
	called things // what they are about, and no other tool
	verbs  uint64
	acts   actions
	done   int
	does   bool // one of them does what is claimed
	more   bool // there are more acts than changes
}

func (j *judgement) behind(c *claim) (b behind) {
	for i := range j.turn {
		t := &j.turn[i]
		if t.call == nil || !j.ledger.HasChanged(t.call) {
			continue
		}
		b.done++
		b.does = b.does || did(&t.tool, c) && !c.general || c.actions == 0 && t.vague && !c.general
		b.called, b.verbs, b.acts = b.called.or(t.things), b.verbs|t.verbs, b.acts|t.actions
	}
	all := j.tools.common()
	b.called = things{b.called.known &^ all.known, b.called.local &^ all.local}
	b.more = j.wish.acts > b.done || j.claimedActs() > b.done
	return b
}

// isNamed reports whether a claim has the very verb of a tool that was not called, for which there
// is an act left in the user's message.
func (j *judgement) isNamed(c *claim, t *tool, b *behind) bool {
	return c.verbs&t.verbs != 0 && j.wish.joins && !t.things.meets(b.called) || c.verbs&j.wish.ownVerbs&t.verbs != 0 && j.wish.acts > b.done
}

// isLeft reports whether the user's message asks for what a tool does that was not called, and the
// claim says that it was done.
func (j *judgement) isLeft(c *claim, t *tool, b *behind) bool {
	own := j.wish.ownVerbs&t.verbs != 0
	if j.wish.joins && own && t.actions&c.actions&changes != 0 {
		return true
	}
	if !b.more {
		return false
	}
	apart := things{t.things.known &^ b.called.known, t.things.local &^ b.called.local}
	if c.general && own && j.wish.acts > b.done || c.things.meets(apart) && j.wish.ownThings.meets(apart) {
		return true
	}
	asked := j.wish.besides(b.acts) & t.actions & changes & c.actions
	return asked != 0 && (c.things.meets(t.things) || j.wish.ownThings.meets(t.things) || j.onlyOne(asked))
}

// claimedActs is how many claims of the answer are of changes.
func (j *judgement) claimedActs() (n int) {
	for _, c := range j.claimed() {
		n += count(!c.looksUp())
	}
	return n
}

// onlyOne reports whether one tool alone does one of some actions.
func (j *judgement) onlyOne(a actions) bool {
	n := 0
	for i := range j.tools.tools {
		n += count(j.tools.tools[i].actions&a != 0)
	}
	return n == 1
}

const (
	// maxIDs bounds the ids of a claim that are looked for.
	maxIDs = 8
	// maxListGap is how many bytes are between two ids of a list: " and #".
	maxListGap = 12
)

// idLeftOut returns the last tool that changed something, if a claim has two ids of the user's
// message of which the calls that changed something know one and not the other: "orders W11 and
// W12 have been cancelled".
func (j *judgement) idLeftOut(c *claim) string {
	s := &j.text.sentences[c.sentence]
	var ids []string
	part := j.text.text[s.start:s.end]
	end := 0
	figures(part, func(figure []byte) bool {
		at := end + bytes.Index(part[end:], figure)
		apart := len(ids) > 0 && at-end > maxListGap
		end = at + len(figure)
		if apart {
			return false
		}
		if isID(figure) && containsWord([]byte(strings.ToLower(j.wish.text)), figure) {
			ids = append(ids, string(figure))
		}
		return len(ids) < maxIDs
	})
	if len(ids) < 2 {
		return ""
	}
	tool := ""
	found := j.ledger.Brings(ids, func(c *ledger.Call) bool {
		changed := j.ledger.HasChanged(c)
		if changed && tool == "" {
			tool = c.Name
		}
		return changed
	})
	if slices.Contains(found, true) && slices.Contains(found, false) {
		return tool
	}
	return ""
}

// isID reports whether a figure is the number of one thing: it has letters, or digits enough, and
// is no year.
func isID(figure []byte) bool {
	const digits = 4
	if bytes.ContainsAny(figure, ".,:") {
		return false
	}
	if bytes.IndexFunc(figure, func(r rune) bool { return r < '0' || r > '9' }) >= 0 {
		return len(figure) > 2
	}
	year := len(figure) == digits && (figure[0] == '1' && figure[1] == '9' || figure[0] == '2' && figure[1] == '0')
	return len(figure) >= digits && !year
}
