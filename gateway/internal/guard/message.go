package guard

import (
	"bytes"
	"slices"
)

// message is what was read of a message, most often one of the user.
type message struct {
	text     string // what was read of it
	read     *reading
	deed             // what it asks for
	acts     int     // how many acts it names
	reported actions // those that it says were done, by whomever: "I've turned off the lights"
	restraint
	query
	// joins says that it has a word such as "and", and agrees one such as "yes".
	joins, agrees bool
	// plain says that it is no question, and has no verb that is known.
	plain bool
}

// restraint is what of a message says that nothing is to be done.
type restraint struct {
	// askedBack says that the message only wants to know: "did you delete it?"
	askedBack bool
	// forbids says that nothing is to be done yet, and stopped that nothing is to be done
	// at all: "never mind", "don't delete it".
	forbids, stopped bool
	// composes says that a text is wanted.
	composes bool
}

// holdsBack reports whether the user wants nothing to be done now.
func (r *restraint) holdsBack() bool { return r.askedBack || r.forbids }

// query is what of a message wants something looked up.
type query struct {
	// asks says that it is a question, and looks that it has a verb that only looks.
	asks, looks bool
	// fresh says that something of this moment is asked for.
	fresh bool
	// his says that it is about what is the user's: "my balance", "do I have".
	his bool
}

// Bounds of what is read of a message of the user: a request stands at its beginning or
// at its end, and between them may be a document.
const (
	maxWish   = 1000
	wishEdge  = 500
	shortWish = 90 // bytes: an answer to a question of the model
)

func (m *message) isShort() bool { return len(m.text) <= shortWish }

// isTelling reports whether it asks nothing.
func (m *message) isTelling() bool { return !m.askedBack && m.actions&finds == 0 }

// newMessage takes from a text that was read what it asks for.
func newMessage(text string, r *reading) message {
	m := message{text: text, read: r, restraint: restraint{composes: r.alsoComposes}}
	for i := range r.sentences {
		s := &r.sentences[i]
		m.readSentence(s)
		if m.composes && (s.closed == ':' || bytes.IndexByte(s.part(), ':') >= 0) { // what follows is the text to work on
			break
		}
	}
	if m.composes && writesTo(r) {
		m.composes = false
		m.actions |= sends
	}
	m.settle(r)
	return m
}

// settle takes what all of a message says, once its sentences were read.
func (m *message) settle(r *reading) {
	m.plain = m.actions&^anything == 0 && !m.holdsBack() && !m.composes && m.reported == 0 && !r.hasAny(assent|closing|content|composing|question|inquiry)
	if m.looks && m.actions&changes == 0 && !m.joins { // "please check"
		m.actions &^= anything
	}
	m.stopped = m.stopped && m.actions&(changes|finds) == 0
	m.forbids = m.forbids || m.stopped
}

// writesTo reports whether a message that seems to want a text has a verb such as "write"
// and the address that it is to go to, and no other word for a text: "write to
// ann@mail.example that we are late" wants it sent.
func writesTo(r *reading) bool {
	address, verb := false, false
	for i := range r.marks {
		switch m := &r.marks[i]; {
		case m.named:
			address = address || bytes.IndexByte(r.text[m.start:m.end], '@') > 0
		case !m.is(composing):
		case !m.is(ask) || m.actions&(sends|writes) == 0:
			return false
		default:
			verb = true
		}
	}
	return address && verb
}

// readSentence takes from a sentence of the user what it asks for.
func (m *message) readSentence(s *sentence) {
	asking, opened, from := false, isOpened(s), -1
	for k := range s.marks {
		w := &s.marks[k]
		if from >= 0 && bytes.IndexByte(s.text[from:w.start], ':') >= 0 { // the text to work on
			break
		}
		if w.is(composing) && from < 0 {
			m.composes, from = true, w.end
		}
		asking = asking || w.is(inquiry) && (s.opensClause(w.start) || s.closed == '?')
		m.note(w)
		m.readVerb(s, k, asking || opened)
	}
	if s.closed == '?' || opened {
		m.asks = true
		m.actions |= finds
	}
	m.askedBack = m.askedBack || asking
}

// note takes from a word what it says of the whole message.
func (m *message) note(w *mark) {
	m.forbids = m.forbids || w.is(forbid)
	m.stopped = m.stopped || w.is(veto)
	m.fresh = m.fresh || w.is(fresh)
	m.his = m.his || w.is(own)
	m.joins = m.joins || w.is(and)
	m.agrees = m.agrees || w.is(assent)
	m.things = m.things.or(w.things)
}

// isOpened reports whether a sentence begins as a question does, with or without its mark.
func isOpened(s *sentence) bool {
	return s.begins(opener) || s.begins(ask) && s.marks[0].actions == finds && s.closed == '?'
}

// readVerb takes the verb at k, if there is one.
func (m *message) readVerb(s *sentence, k int, asking bool) {
	w := &s.marks[k]
	switch {
	case isReported(s, k):
		m.reported |= w.actions & changes
	case !w.is(ask) && (!w.is(participle) || !s.language.framed):
	case w.is(object) && isThing(s, k):
	case isVetoed(s, k):
		m.stopped = true
	case asking:
		m.verbs |= w.verbs
		m.actions |= w.actions & finds
	default:
		m.verbs |= w.verbs
		m.actions |= w.actions
		m.acts += count(w.actions&changes != 0 || w.verbs != 0)
		m.looks = m.looks || w.actions&finds != 0
	}
}

// isThing reports whether a word that may be a verb is the thing that a message is about: "my order",
// "예약 확인해줘".
func isThing(s *sentence, k int) bool {
	isVerb := func(m mark) bool { return m.is(ask) && !m.is(object) && m.actions != 0 }
	return s.isNoun(k) && !s.asks() || s.language.final && (s.closed == '?' || slices.ContainsFunc(s.marks[k+1:], isVerb))
}

// isVetoed reports whether a verb is forbidden: "don't delete", "verwijder de taak niet".
func isVetoed(s *sentence, k int) bool {
	m := &s.marks[k]
	if m.is(veto) && s.wordCount() <= 2 && s.opensClause(m.start) && !s.has(object) { // "Stop!"
		return true
	}
	if k > 0 && s.adjacent(k-1, k) {
		switch before := &s.marks[k-1]; {
		case before.is(negation | veto):
			return true
		case before.is(article): // "Der Kopierer zieht kein Papier"
			return false
		}
	}
	if !s.language.clause {
		return false
	}
	for i := k + 1; i < len(s.marks); i++ {
		switch next := &s.marks[i]; {
		case bytes.IndexByte(s.text[m.end:next.start], ',') >= 0 || next.is(and|relative):
			return false
		case next.is(negation):
			return true
		}
	}
	return false
}
