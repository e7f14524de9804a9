package guard

import (
	"slices"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
)

// history is the calls of the turns before this one.
type history struct {
	talk   *talk
	ledger *ledger.Ledger
	known  bool
	called []tool
}

// tools returns the tools that were called then. It is reckoned when it is first asked for.
func (h *history) tools() []tool {
	if h.known {
		return h.called
	}
	h.known = true
	t, seen := h.talk, map[string]bool{}
	for _, m := range t.chat.Messages[:max(t.last, 0)] {
		if m.Role != conversation.Assistant || m.Calls.Empty() {
			continue
		}
		for _, call := range t.chat.Calls(m) {
			if !seen[call.Name] {
				seen[call.Name] = true
				h.called = append(h.called, t.tools.get(call.Name))
			}
		}
	}
	return h.called
}

// past tells whether an answer speaks of an earlier turn.
type past struct {
	history *history
	acts    *actWeigher
	// owed says that an act is due, and figures how many in the answer nobody gave.
	owed    bool
	figures int
}

// tells reports whether a claim speaks of an earlier turn: a call there did it, and the
// user does not ask for it now.
func (p *past) tells(c *claim) bool {
	w := p.acts.wish
	wished := w.actions & changes
	switch {
	case wished&c.actions != 0 && !c.earlier && !w.askedBack:
		return false
	case c.general && (wished != 0 || p.acts.answersPlain()) || p.acts.toldBack:
		return false
	case c.looksUp() && p.figures > 0 && w.asks, !c.looksUp() && p.owed:
		return false
	}
	return (c.looksUp() || p.history.ledger.ChangedBefore(0)) && slices.ContainsFunc(p.history.tools(), c.mayBeOf)
}

// mayBeOf reports whether a claim may speak of a call of a tool in an earlier turn.
func (c *claim) mayBeOf(t tool) bool {
	return c.general || t.actions&(c.actions|anything) != 0 && (!t.vague || c.things.meets(t.things)) ||
		c.actions&shaping != 0 && t.actions&shaping != 0
}

// repeatsLast reports whether a claim is one of the assistant's last message, behind a call that
// changed something: "$20 refunded", and then "The $20 was refunded to your card."
func (p *past) repeatsLast(c *claim) bool {
	if c.actions&changes == 0 || p.owed {
		return false
	}
	t := p.history.talk
	if _, ok := t.before(); !ok || !p.history.ledger.ChangedBefore(0) {
		return false
	}
	said := t.lexicons.readAnswer(t.edges(t.last-1), t.tools.local, "")
	defer t.lexicons.free(said)
	part := p.acts.answer.sentences[c.sentence].part()
	return slices.ContainsFunc(said.sentences, func(s sentence) bool { return does(&s, c.actions) && sharesFigure(s.part(), part) })
}

// does reports whether a sentence has a verb of some actions that may claim them.
func does(s *sentence, a actions) bool {
	return slices.ContainsFunc(s.marks, func(m mark) bool { return m.is(participle|done) && m.actions&a != 0 })
}
