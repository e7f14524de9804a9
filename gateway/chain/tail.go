package chain

import (
	"bytes"
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk/chars"
)

// tail finds the end tokens that a text which grows ends with. What it has looked at it does not look at again: models
// write white space without end at times, and end tokens.
type tail struct {
	starts []int // where each of the tokens begins
	white  int   // behind this there was white space alone
	looked int   // up to here
}

// begin is where the end tokens begin that text ends with, and white space around them, or what may become one; what is in
// front of a place does not count. In the final text nothing may become anything.
func (t *tail) begin(text []byte, from int, final bool) int {
	begin := len(text)
	if !final {
		begin = mayBecome(text)
	}
	body := t.trim(text, begin)
	t.white, t.looked = body, begin
	var found []int // from the end on
	for {
		length := endToken(text[:body])
		if length == 0 {
			t.starts = t.starts[:0]
			break
		}
		start := body - length
		for len(t.starts) > 0 && t.starts[len(t.starts)-1] > start {
			t.starts = t.starts[:len(t.starts)-1]
		}
		if n := len(t.starts); n > 0 && t.starts[n-1] == start { // what is in front of it is known
			break
		}
		if found = append(found, start); start <= from {
			t.starts = t.starts[:0]
			break
		}
		body = len(chars.TrimEnd(text[:start]))
	}
	slices.Reverse(found)
	if t.starts = append(t.starts, found...); len(t.starts) > 0 {
		begin = t.starts[0]
	}
	return max(begin, from)
}

// trim is where the white space begins that text[:end] ends with.
func (t *tail) trim(text []byte, end int) int {
	for end > 0 && chars.IsSpace(text[end-1]) {
		if end--; end > t.white && end < t.looked {
			end = t.white
		}
	}
	return end
}

// mayBecome is where the end of text begins that may become an end token, or len(text).
func mayBecome(text []byte) int {
	const longest = 32
	for i := len(text) - 1; i >= max(0, len(text)-longest); i-- {
		if text[i] != '<' && text[i] != '[' {
			continue
		}
		part := string(text[i:])
		if slices.ContainsFunc(endTokens[:], func(t string) bool { return strings.HasPrefix(t, part) }) {
			return i
		}
		break
	}
	return len(text)
}

// endToken is the length of the end token that a text ends with, 0 if there is none.
func endToken(text []byte) int {
	if n := len(text); n == 0 || text[n-1] != '>' && text[n-1] != '[' {
		return 0 // no token ends so
	}
	i := slices.IndexFunc(endTokens[:], func(t string) bool { return bytes.HasSuffix(text, []byte(t)) })
	if i < 0 {
		return 0
	}
	return len(endTokens[i])
}
