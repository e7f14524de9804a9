package xmlparams

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/relaxed"
)

// value is the value that is being read. One that can only be a string is written
// as it comes; any other waits until it is complete and is then converted.
type value struct {
	types     sdk.Types // what the schema allows; 0 if it does not say
	trim      bool
	fresh     bool // nothing was read yet
	newline   bool // the last byte was a newline and was not written yet
	lineStart bool // the next byte begins a line
	raw       []byte
	escaped   []byte // memory for put
}

func (v *value) streams() bool { return v.types == abi.String }

// write takes the next bytes of the value.
func (v *value) write(b []byte, out *sdk.Out) {
	if len(b) == 0 {
		return
	}
	first := v.fresh
	v.fresh, v.lineStart = false, b[len(b)-1] == '\n'
	if v.trim && first && b[0] == '\n' {
		if b = b[1:]; len(b) == 0 {
			return
		}
	}
	if v.newline {
		v.put([]byte{'\n'}, out)
	}
	if v.newline = v.trim && v.lineStart; v.newline {
		b = b[:len(b)-1]
	}
	v.put(b, out)
}

func (v *value) put(b []byte, out *sdk.Out) {
	if v.streams() {
		v.escaped = relaxed.AppendEscaped(v.escaped[:0], b)
		out.Args(v.escaped)
	} else {
		v.raw = append(v.raw, b...)
	}
}

// end writes what is left of the value, and reports whether that was converted
// from something that is not strict JSON.
func (v *value) end(maxDepth int, out *sdk.Out) (mended bool) {
	if v.streams() {
		out.Args([]byte{'"'})
		return false
	}
	b, mended := convert(v.raw, v.types, maxDepth)
	out.Args(b)
	return mended
}

// convert turns the text of a value into JSON of one of the types. A string is the
// last resort, also where the schema has none: the tool's author can report a wrong
// value better than we can guess a right one.
func convert(raw []byte, types sdk.Types, maxDepth int) (json []byte, mended bool) {
	text := bytes.Trim(raw, " \t\r\n")
	strict, kind, ok := relaxed.Value(text, maxDepth)
	if !ok && types&abi.Boolean != 0 {
		for _, word := range []string{"true", "false"} {
			if equalFold(text, word) {
				return []byte(word), false
			}
		}
	}
	if ok && types != 0 {
		strict, ok = fit(strict, kind, types)
	}
	if !ok {
		return relaxed.AppendString(nil, raw), false
	}
	structured := kind == relaxed.ObjectOpen || kind == relaxed.ArrayOpen || kind == relaxed.String
	return strict, structured && !bytes.Equal(strict, text)
}

// equalFold compares with a word in lower case; package bytes would bring Unicode's
// tables with it.
func equalFold(text []byte, word string) bool {
	if len(text) != len(word) {
		return false
	}
	for i, c := range text {
		if c|0x20 != word[i] {
			return false
		}
	}
	return true
}

// fit gives the value in a type that is allowed, if there is one besides string:
// text that looks like a JSON string is text.
func fit(strict []byte, kind relaxed.Token, types sdk.Types) ([]byte, bool) {
	switch kind {
	case relaxed.Null:
		return strict, types&abi.Null != 0
	case relaxed.Bool:
		return strict, types&abi.Boolean != 0
	case relaxed.ObjectOpen:
		return strict, types&abi.Object != 0
	case relaxed.ArrayOpen:
		return strict, types&abi.Array != 0
	case relaxed.Number:
		if types&abi.Number != 0 {
			return strict, true
		}
		if types&abi.Integer != 0 {
			return integer(strict)
		}
		return nil, false
	default:
		return nil, false
	}
}

// integer gives a number as an integer: 5 for 5.0. Digits are never changed.
func integer(number []byte) ([]byte, bool) {
	whole, fraction, _ := bytes.Cut(number, []byte{'.'})
	fraction = bytes.Trim(fraction, "0")
	return whole, len(fraction) == 0 && !bytes.ContainsAny(whole, "eE")
}
