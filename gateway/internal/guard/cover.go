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
	said := l.readAnswer(j.edges(j.last-1), j.tools.local, "")
	defer l.free(said)
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
	done := j.behind(c)
	if done.told {
		return ""
	}
	missing := ""
	for i := range j.tools.tools {
		t := &j.tools.tools[i]
		if !j.isCalled(t.name) && !t.handsOver && t.actions&(changes|anything) != 0 && j.isLeft(c, t, &done) {
			missing = t.name
		}
	}
	return missing
}

// isLeft reports whether a tool that was not called does what is claimed, and what the user asked for
// besides what the changes of this turn have done.
func (j *judgement) isLeft(c *claim, t *tool, done *behind) bool {
	apart := t.things.without(done.about).without(j.tools.common())
	named := c.verbs&t.verbs != 0
	if !named && (t.actions&c.actions&changes == 0 || done.does && !c.things.meets(apart)) {
		return false
	}
	// Of one thing that was asked for, the change may have been it, whatever its tool is called.
	more := j.wish.acts > done.changes
	return (j.wish.joins || more) && j.wish.ownVerbs&t.verbs != 0 || j.wish.joins && (j.wish.ownThings.meets(apart) || named && more)
}

// behind is what the changes of this turn have done.
type behind struct {
	about   things
	changes int
	// does says that one of their tools does what is claimed, and told that its name has the claim's
	// verb, or its result its word: behind {"refund": 20} that it was refunded is narration.
	does, told bool
}

// toldLetters is how many letters of a claim's verb are looked for in a result.
const toldLetters = 5

func (j *judgement) behind(c *claim) (b behind) {
	word, n := c.word, 0
	for i := range word {
		if n++; n > toldLetters {
			word = word[:i]
			break
		}
	}
	for i := range j.turn {
		t := &j.turn[i]
		if t.call == nil || !j.ledger.HasChanged(t.call) {
			continue
		}
		b.changes++
		said := plaintext.Ends(j.ledger.Said(t.call), maxResult, maxResult/2)
		b.told = b.told || t.verbs&c.verbs != 0 || strings.Contains(strings.ToLower(said), word)
		b.does = b.does || did(&t.tool, c) && !c.general
		b.about = b.about.or(t.things)
	}
	return b
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
