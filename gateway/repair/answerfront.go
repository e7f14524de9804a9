package repair

import (
	"bytes"

	"github.com/callgate/callgate/sdk/chars"
)

// front is what stands in front of an answer that begins as JSON does: white space, a byte order
// mark, the line that opens a code fence. It is read as the text grows, up to the value.
type front struct {
	at      int // read up to here
	dropped int // what is left out, up to here
	space   int // up to here there is nothing but white space behind the line that opens a fence
	inFence bool
	kinds   answerKinds
	state   frontState
}

// frontState is what the front has come to.
type frontState uint8

const (
	frontOpen frontState = iota // it may go on
	frontEnds                   // the value begins
	frontNone                   // something else is there
)

// read reads what is new of text.
func (f *front) read(text []byte, form *Form) frontState {
	if f.state == frontOpen && !f.inFence {
		f.state = f.start(text, form)
	}
	if f.state == frontOpen && f.inFence {
		f.state = f.fence(text, form)
	}
	return f.state
}

// kept is where the white space begins that goes out with the value.
func (f *front) kept() int {
	if f.dropped > 0 {
		return f.at
	}
	return 0
}

// bom is what some editors begin a text with.
const bom = "\ufeff"

// start looks for the first byte of the answer.
func (f *front) start(text []byte, form *Form) frontState {
	for f.at < len(text) {
		c := text[f.at]
		switch {
		case chars.IsSpace(c):
			f.at++
			continue
		case c == bom[0]:
			if rest := text[f.at:]; len(rest) < len(bom) && string(rest) == bom[:len(rest)] {
				return frontOpen
			} else if f.dropped == 0 && bytes.HasPrefix(rest, []byte(bom)) {
				f.at += len(bom)
				f.dropped = f.at
				f.kinds |= answerJSON
				continue
			}
		case (c == '{' || c == '[') && form.takes(c):
			return frontEnds
		case c == '`':
			f.inFence = true
			return frontOpen
		}
		return frontNone
	}
	return frontOpen
}

// maxInfo is how long the line may be that opens a code fence.
const maxInfo = 24

// fence reads the line that opens a code fence, up to the value.
func (f *front) fence(text []byte, form *Form) frontState {
	line := text[f.at:]
	info := bytes.TrimLeft(line, "`")
	switch marks := len(line) - len(info); {
	case len(info) == 0 && marks <= maxInfo:
		return frontOpen
	case marks < len(fenceMark):
		return frontNone
	}
	n := bytes.IndexAny(info, "\n{[")
	switch {
	case n < 0 && len(info) <= maxInfo:
		return frontOpen
	case n < 0 || !isDataFence(info[:n]):
		return frontNone
	}
	value := max(len(text)-len(info)+n, f.space)
	value = chars.Space(text, value)
	if f.space = value; value == len(text) {
		return frontOpen
	}
	if c := text[value]; c != '{' && c != '[' || !form.takes(c) {
		return frontNone
	}
	f.at = value
	f.dropped = f.at
	f.kinds |= answerFenced
	return frontEnds
}

const fenceMark = "```"

// isDataFence reports whether what stands behind the marks of a code fence says that JSON is in it,
// or says nothing.
func isDataFence(info []byte) bool {
	switch string(bytes.ToLower(chars.TrimSpace(info))) {
	case "", "json", "json5", "jsonc", "jsonl", "javascript", "js", "text", "plaintext", "txt":
		return true
	}
	return false
}
