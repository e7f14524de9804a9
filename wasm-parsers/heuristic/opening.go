package heuristic

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// The literals of the forms.
const (
	fence        = "```"
	startAction  = "Action:"
	startRequest = "[TOOL_REQUEST]"
	endRequest   = "[END_TOOL_REQUEST]"
	startTags    = "[TOOL_CALL]"
	endTags      = "[/TOOL_CALL]"
	startCalling = "[Calling tool:"
)

// infos are the words behind an opening fence that a call may follow.
var infos = []string{"", "json", "JSON", "tool_call", "tool_calls", "tool_code"}

const (
	maxInfo  = 16
	maxSpace = 64 // more white space than that in front of a block is no call's
	maxName  = 256
)

// canParse wants the beginning of a block that may be a call.
func (f *format) canParse(head []byte) sdk.Verdict {
	n, verdict := f.opening(head)
	if verdict != sdk.Yes {
		return verdict
	}
	return begins(head[n:], f.behind(head[:n]))
}

// behind are the forms that may follow an opening.
func (f *format) behind(opening []byte) forms {
	switch {
	case bytes.Contains(opening, []byte(fence)):
		return f.forms.infence()
	case len(opening) > 0:
		return f.forms.labelled()
	}
	return f.forms
}

// opening tells what stands in front of the block that head begins with: nothing,
// the word Action:, or the opening line of a block of code. n is its length.
func (f *format) opening(head []byte) (n int, verdict sdk.Verdict) {
	rest, verdict := f.afterLabel(head)
	switch label := len(head) - len(rest); {
	case verdict != sdk.Yes:
		return 0, verdict
	case len(rest) == 0:
		return 0, few(len(head), sdk.Maybe)
	case rest[0] == '`' && (f.fenced || f.action):
		n, verdict = fenceLine(rest)
		n += label
		return n, few(n, verdict)
	case rest[0] == '`', f.action, label > 0 && rest[0] != '{':
		return 0, sdk.No
	default:
		return label, few(label, sdk.Yes)
	}
}

// afterLabel is what stands behind the word Action: and white space, where that word is at the front
// of head, and head where it need not be.
func (f *format) afterLabel(head []byte) (rest []byte, verdict sdk.Verdict) {
	if !f.action && !f.label {
		return head, sdk.Yes
	}
	word := bytes.TrimPrefix(head, []byte{'\n'}) // of the line in front
	switch v := markup.Match(word, startAction); {
	case v == sdk.Yes:
		return chars.SkipSpace(word[len(startAction):]), sdk.Yes
	case v == sdk.Maybe, f.action, len(word) < len(head):
		return head, v
	}
	return head, sdk.Yes
}

// fenceLine reads the line that begins a block of code, and the white space behind
// it. n is how much of b that is, or all of b if more may come.
func fenceLine(b []byte) (n int, verdict sdk.Verdict) {
	if verdict := markup.Match(b, fence); verdict != sdk.Yes {
		return len(b), verdict
	}
	info := b[len(fence):]
	body := info
	for len(body) > 0 && isNameByte(body[0]) {
		body = body[1:]
	}
	info = info[:len(info)-len(body)]
	switch {
	case len(info) > maxInfo, len(body) > 0 && !slices.Contains(infos, string(info)):
		return 0, sdk.No
	case len(chars.SkipSpace(body)) == 0:
		return len(b), sdk.Maybe
	}
	return len(b) - len(chars.SkipSpace(body)), sdk.Yes
}

// few is the verdict if an opening of n bytes has not too much white space.
func few(n int, verdict sdk.Verdict) sdk.Verdict {
	if n > len(startAction)+len(fence)+maxInfo+maxSpace {
		return sdk.No
	}
	return verdict
}

// begins tells whether a block of one of the forms may begin with b.
func begins(b []byte, f forms) sdk.Verdict {
	switch {
	case len(b) == 0:
		return sdk.Maybe
	case b[0] == '{' && f&object != 0:
		return objectBegins(b[1:])
	case b[0] != '[' && f&(element|pythonCall) != 0:
		return writtenBegins(b, f)
	case b[0] != '[':
		return sdk.No
	}
	return bracketBegins(b, f)
}

// bracketBegins tells whether a block that has a bracket at its front may begin with b.
func bracketBegins(b []byte, f forms) sdk.Verdict {
	verdict := sdk.No
	if f&array != 0 {
		verdict = follows(b[1:], isOpenBrace)
	}
	if call := listedCall(b); call != nil && f&pythonList != 0 {
		return pythonBegins(call)
	}
	for _, m := range []struct {
		form  forms
		start string
		first func(byte) bool // of what follows the literal
	}{{request, startRequest, isBracket}, {tags, startTags, isBracket}, {calling, startCalling, isNameByte}} {
		if f&m.form == 0 {
			continue
		}
		switch markup.Match(b, m.start) {
		case sdk.Yes:
			return follows(b[len(m.start):], m.first)
		case sdk.Maybe:
			verdict = sdk.Maybe
		}
	}
	if verdict == sdk.No && f&header != 0 {
		return headerBegins(b[1:])
	}
	return verdict
}

// objectBegins wants a first key.
func objectBegins(b []byte) sdk.Verdict {
	return follows(b, func(c byte) bool { return c == '"' || c == '\'' || isLetter(c) })
}

// headerBegins wants a name in brackets and an object behind it.
func headerBegins(b []byte) sdk.Verdict {
	n := nameLen(b)
	switch {
	case n > maxName:
		return sdk.No
	case n == len(b):
		return sdk.Maybe
	case n == 0 || b[n] != ']':
		return sdk.No
	}
	return follows(b[n+1:], isOpenBrace)
}

// writtenBegins is begins for what is no JSON.
func writtenBegins(b []byte, f forms) sdk.Verdict {
	switch {
	case b[0] == '<' && f&element != 0:
		return elementBegins(b[1:])
	case isLetter(b[0]) && f&pythonCall != 0:
		return pythonBegins(b)
	}
	return sdk.No
}

// elementBegins wants a name as a tag and an object behind it.
func elementBegins(b []byte) sdk.Verdict {
	n := nameLen(b)
	switch {
	case n > maxName, n < len(b) && (n == 0 || b[n] != '>'):
		return sdk.No
	case n == len(b):
		return sdk.Maybe
	}
	return follows(b[n+1:], isOpenBrace)
}

// pythonBegins wants a name and its parenthesis, which touches it.
func pythonBegins(b []byte) sdk.Verdict {
	n := nameLen(b)
	switch {
	case n > maxName, n < len(b) && b[n] != '(':
		return sdk.No
	case n == len(b):
		return sdk.Maybe
	}
	return sdk.Yes
}

// listedCall is what stands behind a bracket and white space, if that may be a name.
func listedCall(b []byte) []byte {
	if b = chars.SkipSpace(b[1:]); len(b) > 0 && isLetter(b[0]) {
		return b
	}
	return nil
}

func nameLen(b []byte) int {
	n := 0
	for n < len(b) && isNameByte(b[n]) {
		n++
	}
	return n
}

// follows tells whether the first byte of b that is no white space is a good one.
func follows(b []byte, good func(byte) bool) sdk.Verdict {
	if b = chars.SkipSpace(b); len(b) == 0 {
		return sdk.Maybe
	}
	if good(b[0]) {
		return sdk.Yes
	}
	return sdk.No
}

func isOpenBrace(c byte) bool { return c == '{' }
func isBracket(c byte) bool   { return c == '{' || c == '[' }

func isLetter(c byte) bool { return chars.IsLetter(c) || c == '_' }

// isNameByte tells what a name that is not in quotes may be made of.
func isNameByte(c byte) bool {
	return isLetter(c) || chars.IsDigit(c) || bytes.IndexByte([]byte("-.:/"), c) >= 0
}
