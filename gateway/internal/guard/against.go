package guard

import "github.com/callgate/callgate/internal/plaintext"

// against adds the signals that speak against a ghost.
func (j *judgement) against() { //nolint:gocyclo // a list
	r := j.text
	left, others := 3, j.asksOthers()
	for i := len(r.sentences) - 1; i >= 0; i-- {
		s := &r.sentences[i]
		if s.has(refusal) {
			j.add(SignalRefusal, -0.5, "")
		}
		if s.has(closing) {
			continue
		}
		if s.closed == ':' && s.has(question) { // "Could you tell me: …", above a list
			j.add(SignalQuestion, -0.5, "")
		}
		if left == 0 {
			continue
		}
		left--
		if s.closed == '?' && !others || s.has(question) {
			j.add(SignalQuestion, -0.5, "")
		}
	}
	switch {
	case j.wish.stopped:
		j.add(SignalForbidden, barred, "")
	case j.wish.forbids:
		j.add(SignalForbidden, -0.5, "")
	}
	if j.played && len(j.unmet) == 0 {
		j.add(SignalContent, barred, "")
	}
	if j.wish.composes && (r.quotation+r.code > 0 || len(r.text) > 120) {
		j.add(SignalContent, -0.5, "")
	}
}

// asksOthers reports whether the questions of an answer are not for the user to answer:
// an operator demands a call, and the answer goes on behind them without a word of what
// comes then. "A few things to check: Is it plugged in? Keep me posted."
func (j *judgement) asksOthers() bool {
	r := j.text
	if len(j.unmet) == 0 || len(r.sentences) == 0 || j.asked() >= 0 || r.hasAny(question) {
		return false
	}
	last := &r.sentences[len(r.sentences)-1]
	if _, announced := r.promiseOf(last); announced || last.has(closing|assent) {
		return false
	}
	return !last.has(hypothetical) || !last.has(ask|doing) // "once I know, I'll open it"
}

// contradicts looks for calls of this turn that failed and an answer that claims success
// all the same. A tool that succeeded later is forgiven, and so is an answer that speaks
// of a failure anywhere.
func (j *judgement) contradicts() {
	failed := j.failure()
	if failed == nil {
		return
	}
	for i := range j.text.sentences {
		if s := &j.text.sentences[i]; s.has(failure|refusal) || s.closed == '?' && !s.has(closing) {
			j.add(SignalFailureTold, -0.5, "")
			return
		}
	}
	for _, c := range j.claimed() {
		if fit := closeness(&c, &failed.tool); fit > 0 && fit >= j.succeeded(&c) {
			j.contradict(failed, c.word)
			return
		}
	}
	if last := &j.turn[len(j.turn)-1]; last == failed && j.text.known && !j.negates() {
		j.contradict(failed, "")
	}
}

// negates reports whether a sentence says that something is not so, without a condition.
func (j *judgement) negates() bool {
	for i := range j.text.sentences {
		s := &j.text.sentences[i]
		if s.has(negation) && (!s.has(hypothetical) || j.text.marks[s.first].start == s.start && j.text.marks[s.first].is(negation)) {
			return true
		}
	}
	return false
}

// maxShown bounds what is shown of a failed result, in bytes.
const maxShown = 600

func (j *judgement) contradict(failed *called, word string) {
	j.contradiction = true
	j.failed = plaintext.Excerpt(j.ledger.Said(failed.call), maxShown)
	j.add(SignalContradiction, 0, word)
	j.tool = failed.name
}

// failure returns the last call of this turn that failed and was not repeated with
// success, or nil.
func (j *judgement) failure() *called {
	succeeded := map[string]bool{}
	for i := len(j.turn) - 1; i >= 0; i-- {
		c := &j.turn[i]
		if !c.answered() {
			continue
		}
		if j.hasFailed(c) && !succeeded[c.name] {
			if c.call.Prose && c.actions&(changes|anything) == 0 { // what it found
				continue
			}
			return c
		}
		succeeded[c.name] = true
	}
	return nil
}

// closeness says how well a tool fits a claim: 0 is not at all.
func closeness(c *claim, t *tool) (n int) {
	switch {
	case c.actions&t.actions != 0 || c.general || c.verbs&t.verbs != 0:
		n = 2
	case t.actions&anything != 0, c.actions&making != 0 && t.actions&making != 0:
		n = 1
	default:
		return 0
	}
	if c.things.meets(t.things) {
		n++
	}
	return n
}

// succeeded returns how well a call that did not fail fits a claim.
func (j *judgement) succeeded(c *claim) (best int) {
	for i := range j.turn {
		if t := &j.turn[i]; !c.general && !j.hasFailed(t) {
			best = max(best, closeness(c, &t.tool))
		}
	}
	return best
}
