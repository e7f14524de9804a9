package guard

import "github.com/callgate/callgate/gateway/internal/conversation"

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
	known bool // it was reckoned
	act   bool
	// proposal is what the assistant said, whose words an answer may repeat.
	proposal *reading
}

// owing returns what is due. It is reckoned when it is first asked for.
func (j *judgement) owing() *obligation {
	if !j.due.known {
		j.due.known = true
		if len(j.turn) == 0 || !j.ledger.Changed() {
			j.oblige(&j.due)
		}
	}
	return &j.due
}

func (j *judgement) oblige(o *obligation) {
	l, c := j.guard.lexicons, j.chat
	if j.last < 1 || j.wish.holdsBack() || j.wish.stopped || j.wish.composes { // "yes, write me a text for it"
		return
	}
	said := c.Saying(c.Messages[j.last])
	proposal := j.last - 1
	m := c.Messages[proposal]
	if len(said) > shortReply || m.Role != conversation.Assistant || !m.Calls.Empty() {
		return
	}
	reply := l.readAnswer(string(said), j.tools.local, j.chat.Said(m))
	defer l.free(reply)
	if reply.isQuestion() || reply.refusesFirst() || j.wish.reported != 0 && !reply.hasAny(assent) { // "they booked me for Monday"
		return
	}
	p := l.readAnswer(j.edges(proposal), j.tools.local, "")
	q := p.asked()
	if q < 0 {
		l.free(p)
		return
	}
	if o.act = (p.proposes(&p.sentences[q]) || reply.hasAny(assent)) && !reply.thanks() || j.isUnmet(proposal); o.act {
		o.proposal = p
		return
	}
	l.free(p)
}

// thanks reports whether a message has a word that only closes a conversation. One that agrees as well, as
// "gerne", does not.
func (r *reading) thanks() bool {
	for i := range r.marks {
		if m := &r.marks[i]; m.is(closing) && !m.is(assent) {
			return true
		}
	}
	return false
}

// isQuestion reports whether a message is a question itself.
func (r *reading) isQuestion() bool {
	for i := range r.sentences {
		if r.sentences[i].closed == '?' {
			return true
		}
	}
	return false
}

// maxHesitation is the length in bytes of what may stand before the "no" of a message: "hm ".
const maxHesitation = 4

// refusesFirst reports whether a message begins with "no".
func (r *reading) refusesFirst() bool {
	if len(r.sentences) == 0 {
		return true
	}
	s := &r.sentences[0]
	for k := s.first; k < s.last; k++ {
		if m := &r.marks[k]; m.is(negation|veto|forbid|refusal) && (r.opensClause(m.start) || m.start-s.start < maxHesitation) {
			return true
		}
	}
	return false
}

// asked returns the last sentence that asks, but for what closes a text, or -1.
func (r *reading) asked() int {
	for i := len(r.sentences) - 1; i >= 0; i-- {
		s := &r.sentences[i]
		if !s.has(closing) && (s.closed == '?' || r.asksIn(s)) {
			return i
		}
	}
	return -1
}

// asksIn reports whether a sentence has a word that asks, and not only as a noun: "negaram a autorização".
func (r *reading) asksIn(s *sentence) bool {
	for k := s.first; k < s.last; k++ {
		if r.marks[k].is(question) && !r.isNoun(s, k) {
			return true
		}
	}
	return false
}

// asksOutright reports whether a text asks with a question mark, or in a phrase. A word alone such
// as "confirmation" is no question.
func (r *reading) asksOutright() bool {
	for i := range r.sentences {
		s := &r.sentences[i]
		if s.has(closing) {
			continue
		}
		if s.closed == '?' {
			return true
		}
		for k := s.first; k < s.last; k++ {
			if m := &r.marks[k]; m.is(question) && r.isPhrase(m) {
				return true
			}
		}
	}
	return false
}

// proposes reports whether a question asks for leave to do something: it has a verb that changes
// something, or a phrase such as "go ahead".
func (r *reading) proposes(s *sentence) bool {
	if s.has(assent | question) {
		return true
	}
	for k := s.first; k < s.last; k++ {
		if m := &r.marks[k]; m.is(ask|doing|promise) && (m.actions&(changes|anything) != 0 || m.verbs != 0) {
			return true
		}
	}
	return false
}

// wishesBack is how many messages of the user are searched for a wish that was not met.
const wishesBack = 3

// isUnmet reports whether the user asked for a change before the message at a place, and no call
// since has changed anything.
func (j *judgement) isUnmet(before int) bool {
	c, left := j.chat, wishesBack
	for i := before - 1; i >= 0 && left > 0; i-- {
		if c.Messages[i].Role != conversation.User {
			continue
		}
		left--
		w := j.readMessage(i, j.text.language)
		j.guard.lexicons.free(w.read)
		if w.actions&(changes|anything) != 0 && !w.askedBack && !w.forbids && !w.composes {
			return !j.ledger.ChangedBefore(i)
		}
	}
	return false
}

// obligations weighs an answer that owes an act: it claims one, in any words, and neither asks
// nor refuses.
func (j *judgement) obligations() {
	r := j.text
	if j.has(SignalClaimTool, dueWeight) || len(r.text) == 0 || !j.owing().act {
		return
	}
	if r.asksOutright() || r.hasAny(refusal|failure|guide) || r.isDenying() {
		return
	}
	for i := range r.sentences {
		s := &r.sentences[i]
		weight, word := j.claimsDue(s)
		if weight == 0 {
			continue
		}
		if len(j.turn) > 0 { // which may have been what was due, by a name that is not known
			weight *= unexpected
		}
		j.add(SignalClaim, 0.3, word)
		j.add(SignalDue, weight, word)
		if name := j.pointed(); name != "" {
			j.prefer(name, weight)
		}
		return
	}
}

// claimsDue says how much a sentence of an answer claims of what is due, and by which word.
func (j *judgement) claimsDue(s *sentence) (weight float64, word string) {
	r := j.text
	if s.closed == '?' || s.has(closing|negation|veto|hedge) || s.first < s.last && r.marks[s.first].start == s.start && r.marks[s.first].is(hypothetical) {
		return 0, ""
	}
	for k := s.first; k < s.last; k++ {
		m := &r.marks[k]
		if m.is(hypothetical) || !r.isOpen(s, k) {
			continue
		}
		switch {
		case m.is(done | participle | finished | stated | frame | doing):
			return dueWeight, r.word(m)
		case m.is(passive) && (j.figures > 0 || r.repeats(r.text[s.start:s.end]) > 0): // but not "That's kind of you."
			weight, word = copulaWeight, r.word(m)
		}
	}
	return weight, word
}

// isDenying reports whether the first sentence says that something is not so.
func (r *reading) isDenying() bool {
	return len(r.sentences) > 0 && r.sentences[0].has(negation|refusal|failure)
}

// pointed returns the one tool that wish and proposal point to, or "".
func (j *judgement) pointed() string {
	best, name := 0, ""
	for i := range j.tools.tools {
		t := &j.tools.tools[i]
		if t.actions&(changes|anything) == 0 {
			continue
		}
		n := j.points(t)
		switch {
		case n > best:
			best, name = n, t.name
		case n == best:
			name = ""
		}
	}
	return name
}

// points counts what of the wish, of the proposal and of the answer points to a tool.
func (j *judgement) points(t *tool) (n int) {
	n = 2*count(j.wish.verbs&t.verbs != 0) + count(j.wish.actions&t.actions&changes != 0) + count(j.wish.things.meets(t.things))
	if p := j.owing().proposal; p != nil {
		var verbs uint64
		var act actions
		for i := range p.marks {
			verbs |= p.marks[i].verbs
			if p.marks[i].is(ask | doing | done | participle) {
				act |= p.marks[i].actions
			}
		}
		n += 2*count(verbs&t.verbs != 0) + count(act&t.actions&changes != 0) + count(p.about().meets(t.things))
	}
	return n
}

// has reports whether there is a signal of at least a weight.
func (j *judgement) has(name string, weight float64) bool {
	for _, s := range j.signals {
		if s.Name == name && s.Weight >= weight {
			return true
		}
	}
	return false
}
