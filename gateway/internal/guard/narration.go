package guard

import (
	"bytes"
	"slices"
)

// narration is what of a whole answer says that its claims only tell something.
type narration struct {
	// text says that it is a text that was wanted, or shown first, and shown that code follows.
	text, shown bool
	// advises says that it begins with what the user is to do, behind no call.
	advises bool
	// asksFirst says that it asks for leave, and looked that it tells what a look-up brought.
	asksFirst, looked bool
	// denied says that it says of what the user wants that it is not done, in any form, and
	// undone that it says so in that of a claim.
	denied, undone bool
}

func (j *judgement) narration(claims []claim) narration {
	alone := len(j.turn) == 0
	asksToLook := (j.wish.asks || j.wish.looks) && j.wish.ownActions&(changes|anything) == 0
	return narration{
		text:      j.isDraft() || alone && j.text.isLetter(),
		shown:     slices.ContainsFunc(claims, func(c claim) bool { return c.shown }),
		advises:   alone && len(j.text.sentences) > 1 && j.text.isInstruction(&j.text.sentences[0]),
		asksFirst: j.asksFirst(),
		looked:    j.ledger.Looked() && (j.asked() >= 0 || asksToLook && !j.owing().act),
		denied:    j.isDenied(participle | done | ask),
		undone:    j.isDenied(participle | done),
	}
}

// tells reports whether a claim is none: it stands in a text, is a condition or a state that was
// looked up, or speaks of what the user has done himself.
func (t *narration) tells(j *judgement, c *claim) bool {
	switch {
	case t.text, c.general && (t.shown || t.denied), c.shown && c.actions&^shaping == 0:
		return true
	case !c.firm && (t.advises || t.asksFirst || t.looked):
		return true
	case !c.state:
		return false
	}
	his := !j.referred && j.wish.reported&^j.wish.ownActions&c.actions != 0
	return his || t.asksFirst || t.looked || t.undone || j.text.supposes(c.sentence)
}

// supposes reports whether a sentence before one asks, or begins with a condition: then that one may
// go on to tell what would be. "When I create an event I can add guests. They are told by email."
func (r *reading) supposes(before int) bool {
	for i := range r.sentences[:before] {
		if s := &r.sentences[i]; s.closed == '?' && !s.has(closing) || s.first < s.last && r.marks[s.first].start == s.start && r.marks[s.first].is(hypothetical) {
			return true
		}
	}
	return false
}

// isDraft reports whether an answer shows a text that it asks about: "Here's a draft: …
// Should I send it?".
func (j *judgement) isDraft() bool {
	list, text := j.text.sentences, j.text.text
	if len(j.turn) == 0 && j.text.itemized {
		return true
	}
	last := j.asked()
	if last <= 0 {
		return false
	}
	for i := range list[:min(last, 2)] {
		if s := &list[i]; s.has(content) && bytes.IndexByte(text[s.start:s.end], ':') >= 0 {
			return true
		}
	}
	return false
}

// maxGreeting is the length in bytes of the line that greets, in a letter.
const maxGreeting = 40

// isLetter reports whether a text begins and ends as letters do: "Dear Ann," and "Regards,", each in a
// line of its own, or the second without a comma.
func (r *reading) isLetter() bool {
	first, last := bytes.IndexByte(r.text, '\n'), bytes.LastIndexByte(r.text, '\n')
	if first < 2 || first > maxGreeting || r.text[first-1] != ',' || len(r.text)-last > maxGreeting {
		return false
	}
	end := r.text[len(r.text)-1]
	return last > first && (r.text[last-1] == ',' || end >= 'a' && end <= 'z')
}

// asksFirst reports whether the question at the end is for the user's leave to do what he
// asked for: "Do you want me to go ahead?"
func (j *judgement) asksFirst() bool {
	at := j.asked()
	if at < 0 && len(j.text.sentences) > 1 && j.text.sentences[0].closed == '?' && j.text.sentences[0].has(question) {
		at = 0 // "Shall I cancel it? Your data are deleted then."
	}
	if at < 0 {
		return false
	}
	s := &j.text.sentences[at]
	about := j.text.aboutSentence(s)
	if !about.none() && !about.meets(j.wish.things) { // it offers something else
		return false
	}
	leave := j.text.howMany(question) > 1 // "Just to confirm: … Are you sure?"
	for k := s.first; k < s.last; k++ {
		m := &j.text.marks[k]
		if m.is(assent) || m.is(ask|doing) && m.actions&j.wish.actions&changes != 0 {
			return true
		}
		leave = leave && (!m.is(ask|doing) || m.actions&changes == 0)
	}
	return leave
}

// isDenied reports whether an answer says that what the user speaks of was not done:
// then "Got it" says no more than that he was understood.
func (j *judgement) isDenied(by role) bool {
	for i := range j.text.sentences {
		s := &j.text.sentences[i]
		if !s.has(negation | failure) {
			continue
		}
		for k := s.first; k < s.last; k++ {
			m := &j.text.marks[k]
			if m.is(by) && m.actions&j.wish.actions&changes != 0 {
				if _, _, ok := j.text.isClaim(s, k, false); !ok {
					return true
				}
			}
		}
	}
	return false
}
