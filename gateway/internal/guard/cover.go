package guard

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/internal/plaintext"
)

// fewTools is how many tools a request offers at most for one to be meant without the
// name of a thing.
const fewTools = 5

// owes reports whether the user asked for what a tool changes.
func (j *judgement) owes(t *tool) bool {
	if j.wish.forbids || j.wish.composes || t.actions&(changes|anything) == 0 || j.ledger.ReadsOnly(t.name) {
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
	return related
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

// isPast reports whether a claim speaks of an earlier turn: a call there did it, and the
// user does not ask for it now.
func (j *judgement) isPast(c *claim) bool {
	wished := j.wish.actions & changes
	switch {
	case j.repeatsLast(c):
		return true
	case wished&c.actions != 0 && !c.earlier && !j.wish.askedBack:
		return false
	case c.general && (wished != 0 || j.answersPlain()) || j.tellsBack:
		return false
	case c.looksUp() && j.figures > 0 && j.wish.asks, !c.looksUp() && j.owing().act:
		return false
	}
	return (c.looksUp() || j.ledger.ChangedBefore(0)) && slices.ContainsFunc(j.earlier(), c.mayBeOf)
}

// mayBeOf reports whether a claim may speak of a call of a tool in an earlier turn.
func (c *claim) mayBeOf(t tool) bool {
	return c.general || t.actions&(c.actions|anything) != 0 && (!t.vague || c.things.meets(t.things)) ||
		c.actions&shaping != 0 && t.actions&shaping != 0
}

// repeatsLast reports whether a claim is one of the assistant's last message, behind a call that
// changed something: "$20 refunded", and then "The $20 was refunded to your card."
func (j *judgement) repeatsLast(c *claim) bool {
	if c.actions&changes == 0 || j.last < 1 || j.owing().act {
		return false
	}
	m := j.chat.Messages[j.last-1]
	if m.Role != conversation.Assistant || !j.ledger.ChangedBefore(0) {
		return false
	}
	l := j.guard.lexicons
	said := l.readAnswer(plaintext.Ends(j.chat.Said(m), maxWish, wishEdge), j.tools.local, "")
	s := &j.text.sentences[c.sentence]
	for i := range said.sentences {
		t := &said.sentences[i]
		if said.does(t, c.actions) && sharesFigure(said.text[t.start:t.end], j.text.text[s.start:s.end]) {
			j.toldBefore = true
		}
	}
	return j.toldBefore
}

// does reports whether a sentence has a verb of some actions that may claim them.
func (r *reading) does(s *sentence, a actions) bool {
	for k := s.first; k < s.last; k++ {
		if m := &r.marks[k]; m.is(participle|done) && m.actions&a != 0 {
			return true
		}
	}
	return false
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
		if !j.isCalled(t.name) && t.actions&(changes|anything) != 0 && !t.handsOver && (j.isNamed(c, t, &b) || j.isLeft(c, t, &b)) {
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
	b.called = b.called.without(j.tools.common())
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
	apart := t.things.without(b.called).without(j.tools.common())
	another := c.things.meets(apart) && j.wish.ownThings.meets(apart)
	named := j.wish.joins && j.wish.ownVerbs&t.verbs != 0
	does := t.actions&c.actions&changes != 0
	switch {
	case another && does && j.wish.joins:
		return true
	case b.does:
		return false
	case named && does:
		return true
	case !b.more:
		return false
	case named && c.state && c.general && j.wish.acts > b.done, another && j.wish.joins:
		return true
	}
	return j.isBesides(c, t, b, another)
}

// isBesides reports whether a tool does what the user's message asks for besides what was done, and
// the claim is about it.
func (j *judgement) isBesides(c *claim, t *tool, b *behind, another bool) bool {
	if another && j.wish.besides(b.acts)&t.actions != 0 {
		return true
	}
	asked := j.wish.besides(b.acts) & t.actions & changes & c.actions
	return asked != 0 && (c.things.meets(t.things) || j.wish.ownThings.meets(t.things) || j.onlyOne(asked))
}

// acts are those of the calls of this turn that changed something.
func (j *judgement) acts() (a actions) {
	for i := range j.turn {
		if t := &j.turn[i]; t.call != nil && j.ledger.HasChanged(t.call) {
			a |= t.actions
		}
	}
	return a
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
	// maxIDs bounds the ids of a sentence that are looked for.
	maxIDs = 8
	// maxListGap is how many bytes are between two ids of a list: " and #".
	maxListGap = 12
)

// idLeftOut returns the last tool that changed something, if a claim has two ids of the user's
// message of which the calls that changed something know one and not the other: "orders W11 and
// W12 have been cancelled".
func (j *judgement) idLeftOut(c *claim) string {
	s := &j.text.sentences[c.sentence]
	part, end := string(j.text.text[s.start:s.end]), 0
	var ids []string
	ledger.EachValue(part, func(word string, hash uint64) bool {
		at := end + strings.Index(part[end:], word)
		apart := len(ids) > 0 && at-end > maxListGap
		kind := idKind(word)
		if kind == 0 || len(ids) > 0 && kind != idKind(ids[0]) || !hasValue(j.wish.text, hash) {
			return true
		}
		if apart && kind != anAddress { // "W11 has been cancelled; W12 is still open"
			return false
		}
		ids, end = append(ids, word), at+len(word)
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

// hasValue reports whether a text has a word or a number, by its hash.
func hasValue(text string, hash uint64) (found bool) {
	ledger.EachValue(text, func(_ string, h uint64) bool {
		found = h == hash
		return !found
	})
	return found
}

// The kinds of ids: a number, one with letters, an address.
const (
	aNumber = 1 + iota
	aCode
	anAddress
)

// idKind is that of the name of one thing: a number with digits enough that is no year, letters with
// digits, or an address. It is 0 for any other word.
func idKind(word string) int {
	const digits = 3
	letters := strings.IndexFunc(word, func(r rune) bool { return r < '0' || r > '9' }) >= 0
	year := len(word) == 4 && (word[:2] == "19" || word[:2] == "20")
	switch {
	case strings.ContainsAny(word, ".,:") || len(word) < digits || year:
		return 0
	case strings.IndexByte(word, '@') > 0:
		return anAddress
	case !letters:
		return aNumber
	case strings.ContainsAny(word, "0123456789"):
		return aCode
	}
	return 0
}
