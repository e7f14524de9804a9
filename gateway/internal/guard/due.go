package guard

import (
	"slices"

	"github.com/callgate/callgate/gateway/internal/ledger"
)

// An act is due where the assistant proposed it or asked for what was missing, the user agreed or
// filled it in, and no call has been made since. Then an answer that neither asks nor refuses
// owes the call, whatever verb it claims it with.

const (
	// shortReply is the length in bytes of a message that answers a question.
	shortReply = 160
	// dueWeight is for an answer that owes an act, and copulaWeight for one with no other verb than "is".
	dueWeight, copulaWeight = 0.75, 0.7
)

// obligation is what the last turns have made due.
type obligation struct {
	act bool
	// proposal is what the assistant said, whose words an answer may repeat. It is nil if nothing is due.
	proposal *reading
}

// due returns what the last turns have made due where a turn has changed nothing.
func (t *talk) due(w *wish, turn *turn, expected *language) (o obligation) {
	m, ok := t.before()
	if !ok || !m.Calls.Empty() || w.wantsNothing() || len(turn.calls) > 0 && turn.ledger.Changed() {
		return o
	}
	said := t.chat.Saying(t.chat.Messages[t.last])
	if len(said) > shortReply {
		return o
	}
	reply := t.lexicons.readAnswer(string(said), t.tools.local, t.chat.Said(m))
	defer t.lexicons.free(reply)
	if doesNotAgree(reply) || w.reported != 0 && !reply.hasAny(assent) { // "they booked me for Monday"
		return o
	}
	p := t.lexicons.readAnswer(t.edges(t.last-1), t.tools.local, "")
	if q := p.lastAsked(); q >= 0 {
		agreed := (proposes(&p.sentences[q]) || reply.hasAny(assent)) && !thanks(reply)
		if agreed || t.isUnmet(turn.ledger, expected) {
			return obligation{act: true, proposal: p}
		}
	}
	t.lexicons.free(p)
	return o
}

// wantsNothing reports whether the message asks for no act: it only wants to know, puts off, or wants a text ("yes, write
// me one about it").
func (r *restraint) wantsNothing() bool { return r.holdsBack() || r.stopped || r.composes }

// doesNotAgree reports whether a reply asks itself, or begins with "no".
func doesNotAgree(r *reading) bool { return r.isQuestion() || refusesFirst(r) }

// thanks reports whether a message has a word that only closes a conversation. One that agrees as well, as
// "gerne", does not.
func thanks(r *reading) bool {
	return slices.ContainsFunc(r.marks, func(m mark) bool { return m.is(closing) && !m.is(assent) })
}

// maxHesitation is the length in bytes of what may stand before the "no" of a message: "hm ".
const maxHesitation = 4

// refusesFirst reports whether a message begins with "no".
func refusesFirst(r *reading) bool {
	if len(r.sentences) == 0 {
		return true
	}
	s := &r.sentences[0]
	return slices.ContainsFunc(s.marks, func(m mark) bool {
		return m.is(negation|veto|forbid|refusal) && (s.opensClause(m.start) || m.start-s.start < maxHesitation)
	})
}

// proposes reports whether a question asks for leave to do something: it has a verb that changes
// something, or a phrase such as "go ahead".
func proposes(s *sentence) bool {
	return s.has(assent|question) ||
		slices.ContainsFunc(s.marks, func(m mark) bool {
			return m.is(ask|doing|promise) && (m.actions&(changes|anything) != 0 || m.verbs != 0)
		})
}

// wishesBack is how many messages of the user are searched for a wish that was not met.
const wishesBack = 3

// isUnmet reports whether the user asked for a change before the assistant's last message, and no call
// since has changed anything.
func (t *talk) isUnmet(l *ledger.Ledger, expected *language) bool {
	for i, left := t.chat.LastUser(t.last-1), wishesBack; i >= 0 && left > 0; i, left = t.chat.LastUser(i), left-1 {
		m := t.message(i, expected)
		t.lexicons.free(m.read)
		if m.actions&(changes|anything) != 0 && !m.holdsBack() && !m.composes {
			return !l.ChangedBefore(i)
		}
	}
	return false
}

// dueWeigher weighs an answer that owes an act.
type dueWeigher struct {
	turn    *turn
	tools   []tool
	answer  *reading
	echo    *echo
	by      pointer
	figures int // of the answer that nobody gave
}

// weigh weighs it: it claims one, in any words, and neither asks nor refuses.
func (d dueWeigher) weigh(to *reasons, o *obligation) {
	r := d.answer
	if !o.act || to.has(SignalClaimTool, dueWeight) || len(r.text) == 0 {
		return
	}
	if asksOutright(r) || r.hasAny(refusal|failure|guide) || isDenying(r) {
		return
	}
	for i := range r.sentences {
		weight, word := d.claims(&r.sentences[i])
		if weight == 0 {
			continue
		}
		if len(d.turn.calls) > 0 { // which may have been what was due, by a name that is not known
			weight *= unexpected
		}
		to.add(SignalClaim, 0.3, word)
		to.add(SignalDue, weight, word)
		if name := d.by.best(d.tools); name != "" {
			to.prefer(name, weight)
		}
		return
	}
}

// asksOutright reports whether a text asks with a question mark, or in a phrase. A word alone such
// as "confirmation" is no question.
func asksOutright(r *reading) bool {
	for i := range r.sentences {
		s := &r.sentences[i]
		if s.has(closing) {
			continue
		}
		if s.closed == '?' || slices.ContainsFunc(s.marks, func(m mark) bool { return m.is(question) && s.isPhrase(&m) }) {
			return true
		}
	}
	return false
}

// claims returns the word by which a sentence of the answer claims what is due, and what that weighs; 0 for none.
func (d dueWeigher) claims(s *sentence) (weight float64, word string) {
	if s.closed == '?' || s.has(closing|negation|veto|hedge) || s.begins(hypothetical) {
		return 0, ""
	}
	for k := range s.marks {
		m := &s.marks[k]
		if m.is(hypothetical) || !s.isOpen(k) {
			continue
		}
		switch {
		case m.is(done | participle | finished | stated | frame | doing):
			return dueWeight, s.word(m)
		case m.is(passive) && (d.figures > 0 || d.echo.repeats(s.part()) > 0): // but not "That's kind of you."
			weight, word = copulaWeight, s.word(m)
		}
	}
	return weight, word
}

// isDenying reports whether the first sentence says that something is not so.
func isDenying(r *reading) bool {
	return len(r.sentences) > 0 && r.sentences[0].has(negation|refusal|failure)
}
