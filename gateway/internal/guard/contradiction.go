package guard

import (
	"slices"

	"github.com/callgate/callgate/gateway/internal/conversation"
)

// contradicted looks for a call of this turn that failed where the answer claims success
// all the same, and returns it with the word that claims, or nil. A tool that succeeded later is
// forgiven, and so is an answer that speaks of a failure anywhere. said reports whether the assistant has told of a
// failure behind all calls; then an answer that does not claim the tool's own act goes on from there.
func (t *turn) contradicted(to *reasons, r *reading, claims []claim, said func() bool) *called {
	failed := t.failure()
	if failed == nil {
		return nil
	}
	if r.asks() || r.tellsFailure() || r.deniesByForm() {
		to.add(SignalFailureTold, -0.5, "")
		return nil
	}
	denies := negates(r)
	if word, found := t.claimed(failed, claims, denies, said); found {
		to.add(SignalContradiction, 0, word)
		return failed
	}
	if last := &t.calls[len(t.calls)-1]; last == failed && r.known && !denies && !said() {
		to.add(SignalContradiction, 0, "")
		return failed
	}
	return nil
}

// claimed finds the word that claims the act of a tool that failed.
func (t *turn) claimed(failed *called, claims []claim, denies bool, said func() bool) (word string, found bool) {
	for i := range claims {
		c := &claims[i]
		fit, best := closeness(c, &failed.tool), t.succeeded(c)
		if fit == 1 && said() { // of any act, which the tool may or may not do
			continue
		}
		if fit > best || fit > 0 && fit == best && !denies { // "Alpha is cancelled. Beta isn't: it is still pending."
			return c.word, true
		}
	}
	return "", false
}

// asks reports whether a sentence is a question, but for one that closes.
func (r *reading) asks() bool {
	return slices.ContainsFunc(r.sentences, func(s sentence) bool { return s.closed == '?' && !s.has(closing) })
}

// tellsFailure reports whether a sentence speaks of a failure.
func (r *reading) tellsFailure() bool {
	return slices.ContainsFunc(r.sentences, func(s sentence) bool { return s.has(failure | refusal) })
}

// hasToldFailure reports whether the assistant's messages behind all calls speak of a failure. There are some where a
// client asks again without a message of the user's.
func (k *Case) hasToldFailure() bool {
	chat := k.talk.chat
	for i := len(chat.Messages) - 1; i >= 0; i-- {
		if m := &chat.Messages[i]; m.Role != conversation.Assistant || !m.Calls.Empty() {
			return false
		}
		text := k.talk.edges(i)
		r := k.talk.lexicons.read(text, k.talk.tools.local, nil)
		told := r.tellsFailure()
		k.talk.lexicons.free(r)
		if told {
			return true
		}
	}
	return false
}

// negates reports whether a sentence says that something is not so, in front of any condition: "It isn't, until it
// has settled", but not "if it isn't right".
func negates(r *reading) bool {
	return slices.ContainsFunc(r.sentences, func(s sentence) bool {
		at := slices.IndexFunc(s.marks, func(m mark) bool { return m.is(negation | hypothetical) })
		return at >= 0 && s.marks[at].is(negation)
	})
}

// closeness says how well a tool fits a claim: 0 is not at all.
func closeness(c *claim, t *tool) (n int) {
	switch {
	case c.actions&t.actions != 0 || c.general || c.verbs&t.verbs != 0:
		n = 2
	case t.actions&anything != 0, bothMake(c.actions, t.actions):
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
func (t *turn) succeeded(c *claim) (best int) {
	for i := range t.calls {
		if x := &t.calls[i]; !c.general && !t.hasFailed(x) {
			best = max(best, closeness(c, &x.tool))
		}
	}
	return best
}
