package guard

import (
	"bytes"
	"slices"
)

// narration is what of a whole answer says that its claims only tell something.
type narration struct {
	answer *reading
	// text says that it is a text that was wanted, or shown first, and shown that code follows.
	text, shown bool
	// advises says that it begins with what the user is to do, behind no call.
	advises bool
	// asksFirst says that it asks for leave, and looked that it tells what a look-up brought.
	asksFirst, looked bool
	// denied says that it says of what the user wants that it is not done, in any form, and
	// undone that it says so in that of a claim.
	denied, undone bool
	// his are the acts that the user says were done.
	his actions
}

// newNarration reads an answer behind a turn. owed says that an act is due.
func newNarration(by *actWeigher, claims []claim, owed bool) narration {
	r, w, alone := by.answer, by.wish, len(by.turn.calls) == 0
	asksToLook := (w.asks || w.looks) && w.own.actions&(changes|anything) == 0
	n := narration{
		answer:    r,
		text:      isDraft(r, alone) || alone && isLetter(r),
		shown:     slices.ContainsFunc(claims, func(c claim) bool { return c.shown }),
		advises:   alone && len(r.sentences) > 1 && isInstruction(&r.sentences[0]),
		asksFirst: asksFirst(r, w),
		looked:    by.turn.ledger.Looked() && (r.asked() >= 0 || asksToLook && !owed),
		denied:    isDenied(r, by.echo, participle|done|ask, w.actions&changes),
		undone:    isDenied(r, by.echo, participle|done, w.actions&changes),
	}
	if !by.referred {
		n.his = w.reported &^ w.own.actions
	}
	return n
}

// tells reports whether a claim is none: it stands in a text, is a condition or a state that was
// looked up, or speaks of what the user has done himself.
func (n *narration) tells(c *claim) bool {
	switch {
	case n.text, c.general && (n.shown || n.denied), c.shown && c.actions&^shaping == 0:
		return true
	case !c.firm && (n.advises || n.asksFirst || n.looked):
		return true
	case !c.state:
		return false
	}
	return n.his&c.actions != 0 || n.asksFirst || n.looked || n.undone || supposes(n.answer.sentences[:c.sentence])
}

// supposes reports whether one of some sentences asks, or begins with a condition: then the next may
// go on to tell what would be. "When I create an event I can add guests. They are told by email."
func supposes(before []sentence) bool {
	return slices.ContainsFunc(before, func(s sentence) bool { return s.closed == '?' && !s.has(closing) || s.begins(hypothetical) })
}

// isDraft reports whether an answer shows a text that it asks about: "Here's a draft: …
// Should I send it?". alone says that it stands behind no call.
func isDraft(r *reading, alone bool) bool {
	if alone && r.itemized {
		return true
	}
	last := r.asked()
	if last <= 0 {
		return false
	}
	for i := range r.sentences[:min(last, 2)] {
		if s := &r.sentences[i]; s.has(content) && bytes.IndexByte(s.part(), ':') >= 0 {
			return true
		}
	}
	return false
}

// maxGreeting is the length in bytes of the line that greets, in a letter.
const maxGreeting = 40

// isLetter reports whether a text begins and ends as letters do: "Dear Ann," and "Regards,", each in a
// line of its own, or the second without a comma.
func isLetter(r *reading) bool {
	first, last := bytes.IndexByte(r.text, '\n'), bytes.LastIndexByte(r.text, '\n')
	if first < 2 || first > maxGreeting || r.text[first-1] != ',' || len(r.text)-last > maxGreeting {
		return false
	}
	end := r.text[len(r.text)-1]
	return last > first && (r.text[last-1] == ',' || end >= 'a' && end <= 'z')
}

// asksFirst reports whether the question at the end is for the user's leave to do what he
// asked for: "Do you want me to go ahead?"
func asksFirst(r *reading, w *wish) bool {
	at := r.asked()
	if at < 0 && len(r.sentences) > 1 && r.sentences[0].closed == '?' && r.sentences[0].has(question) {
		at = 0 // "Shall I cancel it? Your data are deleted then."
	}
	if at < 0 {
		return false
	}
	s := &r.sentences[at]
	about := s.about()
	if !about.none() && !about.meets(w.things) { // it offers something else
		return false
	}
	leave := r.howMany(question) > 1 // "Just to confirm: … Are you sure?"
	for k := range s.marks {
		m := &s.marks[k]
		if m.is(assent) || m.is(ask|doing) && m.actions&w.actions&changes != 0 {
			return true
		}
		leave = leave && (!m.is(ask|doing) || m.actions&changes == 0)
	}
	return leave
}

// isDenied reports whether an answer says by words of some roles that what the user speaks of was not
// done: then "Got it" says no more than that he was understood.
func isDenied(r *reading, e *echo, by role, wanted actions) bool {
	for i := range r.sentences {
		s := &r.sentences[i]
		if !s.has(negation | failure) {
			continue
		}
		for k := range s.marks {
			m := &s.marks[k]
			if !m.is(by) || m.actions&wanted == 0 {
				continue
			}
			if _, _, ok := (claimFinder{s, e}).isClaim(k, false); !ok {
				return true
			}
		}
	}
	return false
}

// isInstruction reports whether a sentence begins with what the user is to do.
func isInstruction(s *sentence) bool {
	return s.begins(ask) && !s.marks[0].is(object|participle|stated)
}
