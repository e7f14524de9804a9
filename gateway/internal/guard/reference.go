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

// invented returns the word in front of the number of something that the user wants to be made, which only
// a call would have brought: "work order WO-2231", "pod numerem 7741". told is the JSON of the conversation.
func invented(r *reading, w *wish, told []byte) (word string, found bool) {
	if w.holdsBack() || w.composes || w.asks {
		return "", false
	}
	for i := range r.sentences {
		s := &r.sentences[i]
		if s.closed == '?' || s.has(hypothetical|refusal|failure|hedge) {
			continue
		}
		for k := range s.marks {
			m := &s.marks[k]
			if m.is(reference) && isInvented(s.text[m.end:max(m.end, min(s.end, m.end+referenceGap))], told) {
				return s.word(m), true
			}
		}
	}
	return "", false
}

// isInvented reports whether the first number of a part of the answer may be that of a
// thing, and is nowhere in the conversation.
func isInvented(part, told []byte) (invented bool) {
	figures(part, func(figure []byte) bool {
		invented = countDigits(figure) >= referenceDigits && !containsWord(told, figure)
		return false
	})
	return invented
}
