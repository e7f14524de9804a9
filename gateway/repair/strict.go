package repair

import (
	"bytes"

	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// state is what comes next in strict JSON.
type state uint8

const (
	wantValue   state = iota // at the beginning, after a colon, or after a comma in an array
	wantFirst                // after [: a value or ]
	wantKey                  // after {: a key or }
	wantNextKey              // after a comma in an object: a key
	wantColon                // after a key
	wantComma                // after a value: a comma, } or ]
	inString                 // in a value that is a string
	inKey                    // in a key
	inNumber                 // in a number
)

// strict reads strict JSON, and stops where text ends, the object ends, or something
// else begins. All that it reads is certain but for a comma that may be trailing.
func (o *object) strict(text []byte) {
	for o.at < len(text) && !o.closed && !o.slip && o.fault == nil {
		var more bool
		switch o.state {
		case inString, inKey:
			more = o.strictString(text)
		case inNumber:
			more = o.strictNumber(text)
		default:
			more = o.strictBetween(text)
		}
		if !more {
			break
		}
	}
	if o.sent = o.at; o.comma >= 0 {
		o.sent = o.comma
	}
}

// strictString reads some of a string, or its end. It reports false if more text is
// needed, as the others do.
func (o *object) strictString(text []byte) bool {
	switch c := text[o.at]; c {
	case '"':
		o.at++
		if o.state == inString {
			o.value()
			return true
		}
		o.state = wantColon
		o.strictKey(text)
		return true
	case '\'':
		o.at++
		return true
	}
	n, kind := nextUnit(text[o.at:])
	switch kind {
	case unitOK:
		o.at += n
	case unitCut:
		return false
	case unitUTF8, unitHalf:
		o.refuseUnit(kind)
	case unitEscape, unitOther:
		o.slip = true
	}
	return true
}

// strictKey notes a key that was read.
func (o *object) strictKey(text []byte) {
	quoted := text[o.token:o.at]
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		name, _ = relaxed.Unquote(quoted) // its escapes were checked
	}
	if !o.frames.key(name) {
		o.refuseKey(o.token)
	}
}

// strictNumber reads some of a number, or its end.
func (o *object) strictNumber(text []byte) bool {
	for o.at < len(text) {
		c := text[o.at]
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c|0x20 != 'e' {
			if o.slip = !relaxed.IsNumber(text[o.token:o.at]); !o.slip {
				o.value()
			}
			return true
		}
		o.at++
	}
	return false
}

// strictBetween reads what is not part of a string or a number.
func (o *object) strictBetween(text []byte) bool {
	for chars.IsSpace(text[o.at]) {
		if o.at++; o.at == len(text) {
			return true
		}
	}
	c := text[o.at]
	switch o.state {
	case wantKey, wantNextKey:
		switch {
		case c == '"':
			o.beginToken(inKey)
		case c == '}' && o.state == wantKey:
			o.strictClose(c)
		default:
			o.slip = true
		}
	case wantColon:
		if o.slip = c != ':'; !o.slip {
			o.state = wantValue
			o.at++
		}
	case wantComma:
		if c == ',' {
			o.strictComma()
		} else {
			o.strictClose(c)
		}
	default:
		return o.strictValue(text)
	}
	return true
}

func (o *object) strictComma() {
	o.comma = o.at
	o.at++
	o.state = wantNextKey
	if o.frames.stack[len(o.frames.stack)-1].array {
		o.state = wantValue
	}
}

// beginToken begins a string, a key or a number with its first byte. A comma before it
// is not trailing.
func (o *object) beginToken(s state) {
	o.state, o.token, o.comma = s, o.at, -1
	o.at++
}

// strictValue reads a word or the beginning of any other value.
func (o *object) strictValue(text []byte) bool {
	switch c := text[o.at]; c {
	case '"':
		o.beginToken(inString)
	case '{', '[':
		if len(o.frames.stack) == o.maxDepth {
			o.refuseDepth()
			return true
		}
		o.beginToken(wantKey)
		if o.frames.open(c); c == '[' {
			o.state = wantFirst
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		o.beginToken(inNumber)
	case 't':
		return o.strictWord(text, "true")
	case 'f':
		return o.strictWord(text, "false")
	case 'n':
		return o.strictWord(text, "null")
	case ']':
		if o.slip = o.state != wantFirst; !o.slip {
			o.strictClose(c)
		}
	default:
		o.slip = true
	}
	return true
}

func (o *object) strictWord(text []byte, word string) bool {
	rest := text[o.at:]
	if n := min(len(rest), len(word)); string(rest[:n]) != word[:n] {
		o.slip = true
		return true
	} else if n < len(word) {
		return false
	}
	o.comma = -1
	o.at += len(word)
	o.value()
	return true
}

// strictClose reads what must be the bracket that closes the innermost object or
// array.
func (o *object) strictClose(c byte) {
	closes := byte('}')
	if o.frames.stack[len(o.frames.stack)-1].array {
		closes = ']'
	}
	if o.slip = c != closes; o.slip {
		return
	}
	o.at++
	o.frames.close()
	o.state = wantComma
	o.closed = len(o.frames.stack) == 0
}

// value notes that a value inside the object is complete.
func (o *object) value() {
	o.state = wantComma
	o.frames.value()
}
