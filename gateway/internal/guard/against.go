package guard

// against weighs what of an answer and of the wish speaks against a ghost.
type against struct {
	answer *reading
	wish   *wish
	// expected says that an operator demands a call, and played that the answer is a part in a play.
	expected, played bool
}

func (a against) weigh(to *reasons) {
	a.questions(to)
	switch {
	case a.wish.stopped:
		to.add(SignalForbidden, barred, "")
	case a.wish.forbids:
		to.add(SignalForbidden, -0.5, "")
	}
	if a.played && !a.expected {
		to.add(SignalContent, barred, "")
	}
	if a.wish.composes && (a.answer.quotation+a.answer.code > 0 || len(a.answer.text) > 120) {
		to.add(SignalContent, -0.5, "")
	}
}

// lastSentences is how many sentences from the end are searched for a question, besides those that only close.
const lastSentences = 3

// questions weighs refusals, and questions at the end.
func (a against) questions(to *reasons) {
	left, others := lastSentences, a.expected && asksOthers(a.answer)
	for i := len(a.answer.sentences) - 1; i >= 0; i-- {
		s := &a.answer.sentences[i]
		if s.has(refusal) {
			to.add(SignalRefusal, -0.5, "")
		}
		if s.has(closing) {
			continue
		}
		atEnd := left > 0 && (s.closed == '?' && !others || s.has(question))
		if atEnd || s.closed == ':' && s.has(question) { // "Could you tell me: …", above a list
			to.add(SignalQuestion, -0.5, "")
		}
		left--
	}
}

// asksOthers reports whether the questions of an answer are not for the user to answer: it goes on behind
// them without a word of what comes then. "A few things to check: Is it plugged in? Keep me posted."
func asksOthers(r *reading) bool {
	if len(r.sentences) == 0 || r.asked() >= 0 || r.hasAny(question) {
		return false
	}
	last := &r.sentences[len(r.sentences)-1]
	if _, announced := promiseOf(last); announced || last.has(closing|assent) {
		return false
	}
	return !last.has(hypothetical) || !last.has(ask|doing) // "once I know, I'll open it"
}
