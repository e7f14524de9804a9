package typed

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// Trim is how much of the white space around a value is markup. More than that is
// never trimmed: it is the model's text.
type Trim uint8

// The rules of the formats.
const (
	Keep    Trim = iota // none
	Newline             // one newline behind the start tag and one before the end tag
)

// Value is a value that is being read, piece by piece. What can only be a string is
// written as it comes; anything else waits until it is complete and is then
// converted. It is used again and again: Begin, Write, End.
type Value struct {
	types     sdk.Types
	trim      Trim
	streams   bool
	fresh     bool // nothing was read yet
	newline   bool // the last byte was a newline and was not written yet
	lineStart bool // the next byte begins a line
	start     int  // white space at the front of raw
	looked    int  // how much of raw may be a number
	raw       []byte
	escaped   []byte // memory for put
}

// Begin begins a value of the given types; 0 means that the schema does not say. A
// format that says itself that the value is a string passes abi.String.
func (v *Value) Begin(types sdk.Types, trim Trim, out *sdk.Out) {
	*v = Value{types: types, trim: trim, fresh: true, raw: v.raw[:0], escaped: v.escaped}
	if types == abi.String {
		v.stream(out)
	}
}

// Keep makes all white space a part of the value. Nothing may have been written.
func (v *Value) Keep() { v.trim = Keep }

// LineStart reports whether the next byte of the value begins a line of its own,
// not the first.
func (v *Value) LineStart() bool { return v.lineStart }

// Write takes the next bytes of the value.
func (v *Value) Write(b []byte, out *sdk.Out) {
	if len(b) == 0 {
		return
	}
	first := v.fresh
	v.fresh, v.lineStart = false, b[len(b)-1] == '\n'
	if v.trim == Newline && first && b[0] == '\n' {
		if b = b[1:]; len(b) == 0 {
			return
		}
	}
	if v.newline {
		v.put([]byte{'\n'}, out)
	}
	if v.newline = v.trim == Newline && v.lineStart; v.newline {
		b = b[:len(b)-1]
	}
	v.put(b, out)
}

func (v *Value) put(b []byte, out *sdk.Out) {
	if v.streams {
		v.escaped = relaxed.AppendEscaped(v.escaped[:0], b)
		out.Args(v.escaped)
		return
	}
	v.raw = append(v.raw, b...)
	if !v.open() {
		v.stream(out)
		v.put(v.raw, out)
		v.raw = v.raw[:0]
	}
}

// stream says that the value is a string whatever follows.
func (v *Value) stream(out *sdk.Out) {
	v.streams = true
	out.Args([]byte{'"'})
}

// open reports whether raw may still be the beginning of something besides a
// string. Text that can be none is always a string.
func (v *Value) open() bool {
	v.start = chars.Space(v.raw, v.start)
	if v.start == len(v.raw) {
		return true
	}
	switch v.raw[v.start] {
	case '{', '[':
		return v.may(structure)
	case '"', '\'':
		return v.may(0)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return v.may(abi.Integer|abi.Number) && v.openNumber()
	}
	return v.may(abi.Boolean|abi.Null) && openWord(v.raw[v.start:])
}

// may reports whether the value may be of one of the types: the schema has one of
// them, or no string, so that what is JSON stays so.
func (v *Value) may(types sdk.Types) bool { return v.types&types != 0 || v.types&abi.String == 0 }

// openNumber looks at what is new behind the first digit.
func (v *Value) openNumber() bool {
	for v.looked = max(v.looked, v.start); v.looked < len(v.raw); v.looked++ {
		switch c := v.raw[v.looked]; {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c|0x20 == 'e', chars.IsSpace(c):
		default:
			return false
		}
	}
	return true
}

// openWord reports whether text begins true, false, null or none, with some white
// space behind it at most.
func openWord(text []byte) bool {
	const space = 64
	for _, word := range [...]string{"true", "false", "null", "none"} {
		n := min(len(text), len(word))
		if !equalFold(text[:n], word[:n]) {
			continue
		}
		for _, c := range text[n:min(len(text), n+space)] {
			if !chars.IsSpace(c) {
				return false
			}
		}
		return len(text) <= n+space
	}
	return false
}

// End writes what is left of the value, and reports whether that was converted
// from something that is not strict JSON.
func (v *Value) End(maxDepth int, out *sdk.Out) (repaired bool) {
	if v.streams {
		out.Args([]byte{'"'})
		return false
	}
	b, repaired := Convert(v.raw, v.types, maxDepth)
	out.Args(b)
	return repaired
}
