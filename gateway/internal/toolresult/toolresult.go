// Package toolresult tells from what a tool answered whether its call failed. There is no
// standard for it: results are JSON of any form, or text in any language. Who asks decides how
// sure that must be, by a [Policy]: each mistake costs something else.
package toolresult

import (
	"bytes"
	"strings"
)

// Policy says how sure it must be that a result is a failure.
type Policy uint8

const (
	// Certain takes what can mean nothing else: the plain text of an exception, and by
	// [Certainly] a few members of the outermost object. A result that is none is read for what
	// there is, and one that is taken for a failure is not.
	Certain Policy = iota
	// Likely takes what programs write when they fail, as JSON or in words, also further in. An
	// answer that claims success after such a result is doubted.
	Likely
	// Missing takes also what says that something is not there: {"results":[]}, "No flights
	// found". Calls that bring nothing but that, again and again, lead nowhere.
	Missing
	// Refused takes what Likely does, and a sentence that says that it was not done: "Seat 12A is
	// already taken." It is for tools that change something: in what others find such sentences
	// are data.
	Refused
)

// acts are the beginnings of words that mostly tell of a failure, and that name what some tools are for.
var acts = strings.Fields("reject declin refus abort den block expir fail missing invalid error")

// WithoutAct is a result of a tool without the words in its values for what the tool itself does, which say that it was
// done: "rejected" of reject_order. Who judges whether the call failed looks at the rest.
func WithoutAct(tool string, result []byte) []byte {
	for _, act := range acts {
		if hasWord(tool, act) {
			result = cut(result, act)
		}
	}
	return result
}

// hasWord reports whether a word in a tool's name begins with some letters: "deny_all" and "autoDeny", but not "identity".
func hasWord(name, start string) bool {
	for i := 0; i+len(start) <= len(name); i++ {
		if begins := i == 0 || !isLetter(name[i-1]) || name[i] < 'a' && isLetter(name[i]); begins && strings.EqualFold(name[i:i+len(start)], start) {
			return true
		}
	}
	return false
}

// cut takes out the words that begin with some letters, but for the names of members, which no tool chooses.
func cut(text []byte, start string) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && isLetter(text[end]) {
			end++
		}
		word := text[i:end]
		isName := end+1 < len(text) && text[end] == '"' && bytes.HasPrefix(bytes.TrimLeft(text[end+1:], " "), []byte{':'})
		if len(word) < len(start) || !strings.EqualFold(string(word[:len(start)]), start) || isName {
			end = max(end, i+1)
			out = append(out, text[i:end]...)
		}
		i = end
	}
	return out
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80 }

// Failed reports whether a result says that the call failed.
func Failed(result []byte, p Policy) bool {
	switch p {
	case Likely:
		return isLikely(result)
	case Missing:
		return speaksOfFailure(result)
	case Refused:
		return isLikely(result) || refuses(result)
	}
	start := strings.ToLower(strings.TrimSpace(string(result[:min(len(result), 64)])))
	return beginsWithOne(start, []string{"error", "exception", "traceback"})
}

// CertainMembers are those of a result's outermost object that [Certainly] knows.
var CertainMembers = [...]string{"success", "ok", "isError", "is_error", "error", "status"}

// Certainly reports whether one of CertainMembers tells that the call failed. So write OpenAI's
// and Anthropic's examples, the Model Context Protocol (isError) and most web APIs. A status of
// "failed" is none: it may be that of the thing that is asked for, such as a job.
func Certainly(name string, raw []byte) bool {
	switch name {
	case "success", "ok":
		return memberSuccess.fails(raw)
	case "isError", "is_error":
		return memberFailure.fails(raw)
	case "error":
		return memberError.fails(raw)
	}
	return string(raw) == `"error"`
}
