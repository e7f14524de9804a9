package guard

const (
	// referenceGap is how many bytes may be between a word such as "number" and the number.
	referenceGap = 24
	// referenceDigits is the least number of digits of one.
	referenceDigits = 3
	// referenceWeight is for a number of a booking, a ticket and the like that nobody gave.
	// It is no ghost by itself.
	referenceWeight = 0.6
)

// references looks for the number of something that the user wants to be made, which only
// a call would have brought: "work order WO-2231", "pod numerem 7741".
func (j *judgement) references() {
	w := j.wish
	if len(j.turn) > 0 || j.figures == 0 || w.holdsBack() || w.composes || w.asks {
		return
	}
	r := j.text
	for i := range r.sentences {
		s := &r.sentences[i]
		if s.closed == '?' || s.has(hypothetical|refusal|failure|hedge) {
			continue
		}
		for k := s.first; k < s.last; k++ {
			m := &r.marks[k]
			if m.is(reference) && j.isInvented(m.end, min(s.end, m.end+referenceGap)) {
				j.referred = true
				j.add(SignalUnsourced, referenceWeight, r.word(m))
				return
			}
		}
	}
}

// isInvented reports whether the first number of a part of the answer may be that of a
// thing, and is nowhere in the conversation.
func (j *judgement) isInvented(from, to int) (invented bool) {
	if from >= to {
		return false
	}
	figures(j.text.text[from:to], func(figure []byte) bool {
		digits := 0
		for _, c := range figure {
			digits += count(isDigit(c))
		}
		invented = digits >= referenceDigits && !containsWord(j.chat.Text, figure)
		return false
	})
	return invented
}
