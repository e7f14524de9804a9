package toolresult

import (
	"strings"
	"unicode/utf8"
)

// lookAt is how many bytes of a result are read for words. A failure is told first,
// or the text is about something else.
const lookAt = 256

// speaksOfFailure says whether a result tells that something failed or is not there,
// by the words of its beginning: "No such file", {"success":false}, {"results":[]}.
//
// The words are those of POSIX's strerror, of HTTP's reasons, of the members that
// results in JSON have for it (success, ok, error, total, isError of MCP), and those
// for "error" and "not found" in the larger languages. A failure in words that are
// not known passes for an acknowledgement, and stops nobody.
func speaksOfFailure(text []byte) bool {
	if len(text) > lookAt {
		text = text[:lookAt]
	}
	known := lexicon()
	var space [lookAt + 1]class // room for a word of each byte
	said, foreign := space[:0], false
	reader := wordReader{text: text}
	for word := reader.next(); word != nil; word = reader.next() {
		foreign = foreign || word[0] >= utf8.RuneSelf
		said = append(said, known[string(word)])
	}
	for i := range said {
		if saysFailure(said, i) {
			return true
		}
	}
	return foreign && containsOne(strings.ToLower(string(text)), phrases())
}

// saysFailure says whether the word at i does, where it stands.
func saysFailure(said []class, i int) bool {
	word := said[i]
	if word == 0 {
		return false
	}
	before, next := at(said, i-1), at(said, i+1)
	begins := before&(end|label) != 0
	switch {
	case word&failure != 0: // but not "no errors" nor "error": null
		return !ruledOut(said, i) && !holdsNone(said, i+1)
	case word&no != 0: // "No flights", "There are no flights available", but not "Saved, no errors"
		return next&(failure|harmless) == 0 && (begins && next != end || within(said, i+1, present|absent|counted))
	case word&negation != 0: // "does not exist", but not "is not urgent"
		return within(said, i+1, present|absent)
	case word&list != 0: // of anything but errors
		return before&(failure|harmless) == 0
	case word&count != 0 && next&zero != 0:
		return before&(failure|harmless) == 0
	}
	return begins && word&opening != 0 || tellsByNext(word, next)
}

// tellsByNext says whether two words tell a failure together.
func tellsByNext(word, next class) bool {
	return word&success != 0 && next&falsy != 0 || // "success": false
		word&present != 0 && next&(falsy|zero) != 0 || // "found": false, "Found 0 files"
		word&falsy != 0 && next&present != 0 || // "None found"
		word&zero != 0 && next&counted != 0 // "0 results"
}

// at returns what the word at i does, or end where there is none.
func at(said []class, i int) class {
	if i < 0 || i >= len(said) {
		return end
	}
	return said[i]
}

// within says whether one of the next words is of a class.
func within(said []class, i int, of class) bool {
	const reach = 3 // "could not be found", "no flights were found"
	for _, word := range said[i:min(i+reach, len(said))] {
		if word&of != 0 {
			return true
		}
	}
	return false
}

// ruledOut says whether a failure is one of those that there are none of: "no
// errors", "without output or errors", "0 failed".
func ruledOut(said []class, i int) bool {
	for i--; i >= 0; i-- {
		if said[i]&(no|zero|without) != 0 {
			return true
		}
		if said[i]&(failure|harmless|joint) == 0 {
			return false
		}
	}
	return false
}

// holdsNone says whether the value of a failure is none, which begins at i: null,
// false, 0 or an empty list, and a label may come before it.
func holdsNone(said []class, i int) bool {
	if at(said, i)&(label|count) != 0 {
		i++
	}
	return at(said, i)&(falsy|zero|list) != 0
}
