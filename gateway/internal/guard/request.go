package guard

import (
	"bytes"

	"github.com/callgate/callgate/gateway/internal/conversation"
)

// wish is what the user's last message asks for.
type wish struct {
	actions actions
	verbs   uint64 // verbs in the names of the tools
	things  things
	// own* are those of the last message alone.
	ownActions actions
	ownVerbs   uint64
	ownThings  things
	// acts is how many acts it names, and joins says that it has a word such as "and".
	acts  int
	joins bool
	// agrees says that it has a word such as "yes".
	agrees bool
	// askedBack says that the message only wants to know: "did you delete it?"
	askedBack bool
	// forbids says that nothing is to be done yet, and stopped that nothing is to be done
	// at all: "never mind", "don't delete it".
	forbids, stopped bool
	// reported are the actions that the user says were done, by whomever: "I've turned
	// off the lights".
	reported actions
	// composes says that a text is wanted.
	composes bool
	// fresh says that something of this moment is asked for.
	fresh bool
	// terse says that it is a question of a word or two, the first thing that the user
	// says, and numbered that it has the number of a parcel, an order and the like.
	terse, numbered bool

	text  string // what was read of the message
	short bool
	// read is what was read of it, and said all messages that it was read from, whose words an
	// answer may repeat.
	read *reading
	said []*reading
	// plain says that the message is no question, and has no verb that is known.
	plain bool
	// sums says that it has numbers to reckon with.
	sums bool
	// coded says that it asks about something by its code: "is LX318 on time".
	coded bool
	// asks says that it is a question, and looks that it has a verb that only looks.
	asks, looks bool
	// own says that it is about what is the user's: "my balance", "do I have".
	own bool
}

// holdsBack reports whether the user wants nothing to be done now.
func (w *wish) holdsBack() bool { return w.askedBack || w.forbids }

// Bounds of what is read of a message of the user: a request stands at its beginning or
// at its end, and between them may be a document.
const (
	maxWish     = 1000
	wishEdge    = 500
	shortWish   = 90 // bytes: an answer to a question of the model
	shortAssent = 24 // bytes: an answer that only agrees
	wishContext = 2  // messages of the user that a short one goes back to
)

// readWish reads the last message of the user, and what it answers to: "yes" asks for
// what the model proposed.
func (k *Case) readWish(expected *language) {
	w := k.wish
	if k.last < 0 {
		return
	}
	*w = k.readMessage(k.last, expected)
	w.said = append(k.room.said[:0], w.read)
	w.terse = w.terse && lastOfUser(k.chat, k.last) < 0
	if len(w.text) > shortAssent || !w.agrees {
		w.ownActions, w.ownVerbs, w.ownThings = w.actions, w.verbs, w.things
	} else {
		w.acts = 0 // "correct" is no order to correct something
	}
	if w.actions&changes == 0 && w.short && !w.holdsBack() && !w.composes {
		k.goBack(expected)
	}
}

// lastOfUser returns the message of the user before one, or -1.
func lastOfUser(c *conversation.Conversation, before int) int {
	for i := before - 1; i >= 0; i-- {
		if c.Messages[i].Role == conversation.User {
			return i
		}
	}
	return -1
}

// goBack adds to a short message what those before it ask for, or propose.
func (k *Case) goBack(expected *language) {
	w := k.wish
	for i, left := k.last-1, wishContext; i >= 0 && left > 0; i-- {
		m := k.chat.Messages[i]
		if m.Role != conversation.User && m.Role != conversation.Assistant {
			continue
		}
		left--
		before := k.readMessage(i, expected)
		w.actions |= before.actions
		w.verbs |= before.verbs
		w.things = w.things.or(before.things)
		if !w.plain {
			w.said = append(w.said, before.read)
		} else {
			k.guard.lexicons.free(before.read)
		}
		w.forbids = w.forbids || m.Role == conversation.User && before.forbids && w.actions == 0
	}
}

// readMessage reads one message as if it were the last. What was read of it is to be freed.
func (k *Case) readMessage(message int, expected *language) wish {
	text := k.edges(message)
	r := k.guard.lexicons.read(text, k.tools.local, expected)
	w := wish{read: r, text: text, short: len(text) <= shortWish, composes: r.alsoComposes}
	for i := range r.sentences {
		s := &r.sentences[i]
		w.readSentence(r, s)
		if w.composes && (s.closed == ':' || bytes.IndexByte(r.text[s.start:s.end], ':') >= 0) { // what follows is the text to work on
			break
		}
	}
	if w.composes && r.writesTo() {
		w.composes = false
		w.actions |= sends
	}
	w.terse, w.numbered = r.isTerse(), r.hasNumber()
	if nextDigit(r.text, 0) < len(r.text) {
		w.sums, w.coded = r.reckons(), r.hasCode()
	}
	w.settle(r)
	return w
}

// settle takes what all of a message says, once its sentences were read.
func (w *wish) settle(r *reading) {
	w.plain = w.actions&^anything == 0 && !w.holdsBack() && !w.composes && w.reported == 0 && !r.hasAny(assent|closing|content|composing|question|inquiry)
	if w.looks && w.actions&changes == 0 && !w.joins { // "please check"
		w.actions &^= anything
	}
	w.stopped = w.stopped && w.actions&(changes|finds) == 0
	w.forbids = w.forbids || w.stopped
}

// writesTo reports whether a message that seems to want a text has a verb such as "write"
// and the address that it is to go to, and no other word for a text: "write to
// ann@mail.example that we are late" wants it sent.
func (r *reading) writesTo() bool {
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
func (w *wish) readSentence(r *reading, s *sentence) {
	asking, opened, from := false, r.isOpened(s), -1
	for k := s.first; k < s.last; k++ {
		m := &r.marks[k]
		if from >= 0 && bytes.IndexByte(r.text[from:m.start], ':') >= 0 { // the text to work on
			break
		}
		if m.is(composing) && from < 0 {
			w.composes, from = true, m.end
		}
		asking = asking || m.is(inquiry) && (r.opensClause(m.start) || s.closed == '?')
		w.note(m)
		w.readVerb(r, s, k, asking || opened)
	}
	if s.closed == '?' || opened {
		w.asks = true
		w.actions |= finds
	}
	w.askedBack = w.askedBack || asking
}

// note takes from a word what it says of the whole message.
func (w *wish) note(m *mark) {
	w.forbids = w.forbids || m.is(forbid)
	w.stopped = w.stopped || m.is(veto)
	w.fresh = w.fresh || m.is(fresh)
	w.own = w.own || m.is(own)
	w.joins = w.joins || m.is(and)
	w.agrees = w.agrees || m.is(assent)
	w.things = w.things.or(m.things)
}

// isOpened reports whether a sentence begins as a question does, with or without its mark.
func (r *reading) isOpened(s *sentence) bool {
	if s.first == s.last || r.marks[s.first].start != s.start {
		return false
	}
	m := &r.marks[s.first]
	return m.is(opener) || m.is(ask) && m.actions == finds && s.closed == '?'
}

// readVerb takes the verb at k, if there is one.
func (w *wish) readVerb(r *reading, s *sentence, k int, asking bool) {
	m := &r.marks[k]
	switch {
	case r.isReported(s, k):
		w.reported |= m.actions & changes
	case !m.is(ask) && (!m.is(participle) || !r.language.framed):
	case m.is(object) && r.isThing(s, k):
	case r.isVetoed(s, k):
		w.stopped = true
	case asking:
		w.verbs |= m.verbs
		w.actions |= m.actions & finds
	default:
		w.verbs |= m.verbs
		w.actions |= m.actions
		w.acts += count(m.actions&changes != 0 || m.verbs != 0)
		w.looks = w.looks || m.actions&finds != 0
	}
}

// isThing reports whether a word that may be a verb is the thing that a message is about: "my order",
// "예약 확인해줘".
func (r *reading) isThing(s *sentence, k int) bool {
	return r.isNoun(s, k) && !r.asks(s) || r.language.final && (s.closed == '?' || r.hasVerb(s, k+1))
}

// hasVerb reports whether a sentence has a verb from the mark at k on that is no noun.
func (r *reading) hasVerb(s *sentence, k int) bool {
	for ; k < s.last; k++ {
		if m := &r.marks[k]; m.is(ask) && !m.is(object) && m.actions != 0 {
			return true
		}
	}
	return false
}

// isReported reports whether the user says that something was done, or asks whether it
// was: "I've deleted it", "was it cancelled?".
func (r *reading) isReported(s *sentence, k int) bool {
	m := &r.marks[k]
	if !m.is(participle | done) {
		return false
	}
	if r.asks(s) { // "I'd like it to be deleted"
		return false
	}
	return m.is(done) || m.is(participle) && r.frameOf(s, k) >= 0
}

// asks reports whether a sentence has words such as "please".
func (r *reading) asks(s *sentence) bool {
	for i := s.first; i < s.last; i++ {
		if r.marks[i].is(ask) && r.marks[i].actions&anything != 0 {
			return true
		}
	}
	return false
}

// isVetoed reports whether a verb is forbidden: "don't delete", "verwijder de taak niet".
func (r *reading) isVetoed(s *sentence, k int) bool {
	m := &r.marks[k]
	if m.is(veto) && r.wordCount(s) <= 2 && r.opensClause(m.start) && !s.has(object) { // "Stop!"
		return true
	}
	if k > s.first && r.adjacent(k-1, k) {
		switch before := &r.marks[k-1]; {
		case before.is(negation | veto):
			return true
		case before.is(article): // "Der Kopierer zieht kein Papier"
			return false
		}
	}
	if !r.language.clause {
		return false
	}
	for i := k + 1; i < s.last; i++ {
		switch next := &r.marks[i]; {
		case bytes.IndexByte(r.text[m.end:next.start], ',') >= 0 || next.is(and|relative):
			return false
		case next.is(negation):
			return true
		}
	}
	return false
}

// opensClause reports whether nothing but spaces is between a place and the beginning of
// its clause.
func (r *reading) opensClause(at int) bool {
	for at > 0 && r.text[at-1] == ' ' {
		at--
	}
	return at == 0 || isClauseEnd(r.text[at-1])
}
