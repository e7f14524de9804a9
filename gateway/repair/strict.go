package repair

import (
	"bytes"
	"unicode/utf8"

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

// strict reads one object, or array, of strict JSON.
type strict struct {
	walk
	state state
	slip  bool // what is at at is no strict JSON
	comma int  // place of a comma that may be trailing, or -1
	token int  // where the key or the number begins that is being read
}

// begin makes s ready for an object that begins at start.
func (s *strict) begin(maxDepth, start int) {
	*s = strict{walk: walk{frames: s.frames, maxDepth: maxDepth, at: start}, comma: -1}
	s.frames.reset()
}

// read reads what is new of text, and stops where that ends, the object ends, or something
// else begins.
func (s *strict) read(text []byte) {
	for more := true; more && s.at < len(text) && !s.closed && !s.slip && s.fault == nil; {
		switch s.state {
		case inString, inKey:
			more = s.readString(text)
		case inNumber:
			more = s.number(text)
		default:
			more = s.between(text)
		}
	}
}

// certain is the place before which all is certain: what was read but for a comma that may be
// trailing.
func (s *strict) certain() int {
	if s.comma >= 0 {
		return s.comma
	}
	return s.at
}

// inText reports whether a string is being read.
func (s *strict) inText() bool { return s.state == inString || s.state == inKey }

// readString reads some of a string, or its end. It reports false if more text is
// needed, as the others do.
func (s *strict) readString(text []byte) bool {
	switch c := text[s.at]; c {
	case '"':
		s.at++
		if s.state == inString {
			s.value()
			return true
		}
		s.state = wantColon
		s.key(text)
		return true
	case '\'':
		s.at++
		return true
	}
	n, kind := nextUnit(text[s.at:])
	switch kind {
	case unitOK:
		s.at += n
	case unitCut:
		return false
	case unitUTF8, unitHalf:
		s.refuseUnit(kind)
	case unitEscape, unitOther:
		s.slip = true
	}
	return true
}

// key notes a key that was read.
func (s *strict) key(text []byte) {
	quoted := text[s.token:s.at]
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		name, _ = relaxed.Unquote(quoted) // its escapes were checked
	}
	if !s.frames.key(name) {
		s.refuseKey(s.token)
	}
}

// number reads some of a number, or its end.
func (s *strict) number(text []byte) bool {
	for s.at < len(text) {
		c := text[s.at]
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c|0x20 != 'e' {
			if s.slip = !relaxed.IsNumber(text[s.token:s.at]); !s.slip {
				s.value()
			}
			return true
		}
		s.at++
	}
	return false
}

// between reads what is not part of a string or a number.
func (s *strict) between(text []byte) bool {
	for chars.IsSpace(text[s.at]) {
		if s.at++; s.at == len(text) {
			return true
		}
	}
	c := text[s.at]
	switch s.state {
	case wantKey, wantNextKey:
		switch {
		case c == '"':
			s.beginToken(inKey)
		case c == '}' && s.state == wantKey:
			s.close(c)
		default:
			s.slip = true
		}
	case wantColon:
		if s.slip = c != ':'; !s.slip {
			s.state = wantValue
			s.at++
		}
	case wantComma:
		if c != ',' {
			s.close(c)
			break
		}
		s.comma = s.at
		s.at++
		s.state = wantNextKey
		if s.frames.stack[len(s.frames.stack)-1].array {
			s.state = wantValue
		}
	default:
		return s.beginValue(text)
	}
	return true
}

// beginToken begins a string, a key or a number with its first byte. A comma before it
// is not trailing.
func (s *strict) beginToken(as state) {
	s.state, s.token, s.comma = as, s.at, -1
	s.at++
}

// beginValue reads a word or the beginning of any other value.
func (s *strict) beginValue(text []byte) bool {
	switch c := text[s.at]; c {
	case '"':
		s.beginToken(inString)
	case '{', '[':
		if len(s.frames.stack) == s.maxDepth {
			s.refuseDepth()
			return true
		}
		s.beginToken(wantKey)
		if s.frames.open(c); c == '[' {
			s.state = wantFirst
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		s.beginToken(inNumber)
	case 't':
		return s.word(text, "true")
	case 'f':
		return s.word(text, "false")
	case 'n':
		return s.word(text, "null")
	case ']':
		if s.slip = s.state != wantFirst; !s.slip {
			s.close(c)
		}
	default:
		s.slip = true
	}
	return true
}

func (s *strict) word(text []byte, word string) bool {
	rest := text[s.at:]
	if n := min(len(rest), len(word)); string(rest[:n]) != word[:n] {
		s.slip = true
		return true
	} else if n < len(word) {
		return false
	}
	s.comma = -1
	s.at += len(word)
	s.value()
	return true
}

// close reads what must be the bracket that closes the innermost object or
// array.
func (s *strict) close(c byte) {
	closes := byte('}')
	if s.frames.stack[len(s.frames.stack)-1].array {
		closes = ']'
	}
	if s.slip = c != closes; s.slip {
		return
	}
	s.at++
	s.frames.close()
	s.state = wantComma
	s.closed = len(s.frames.stack) == 0
}

// value notes that a value inside the object is complete.
func (s *strict) value() {
	s.state = wantComma
	s.frames.value()
}

// plain are the bytes that stand for themselves in any string of nearly JSON.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 0x80; c++ {
		t[c] = true
	}
	t['"'], t['\''], t['\\'] = false, false, false
	return t
}()

// unit is what a piece of a string is.
type unit uint8

const (
	unitOK     unit = iota
	unitCut         // more text is needed to tell
	unitUTF8        // not UTF-8
	unitHalf        // half of a surrogate pair
	unitEscape      // an escape that JSON has not, to the byte that is wrong
	unitOther       // a quote or a control character
)

// nextUnit measures what text, the inside of a string, begins with: a run of plain
// bytes, a character, an escape, or the two escapes of a surrogate pair. A string
// in pieces of units can be cut between any of them.
func nextUnit(text []byte) (n int, kind unit) {
	for n < len(text) && plain[text[n]] {
		n++
	}
	switch {
	case n > 0:
		return n, unitOK
	case text[0] == '\\':
		return escapeUnit(text)
	case text[0] < utf8.RuneSelf:
		return 1, unitOther
	case !utf8.FullRune(text):
		return 0, unitCut
	}
	r, n := utf8.DecodeRune(text)
	if r == utf8.RuneError && n == 1 {
		return 1, unitUTF8
	}
	return n, unitOK
}

// escapeUnit measures an escape.
func escapeUnit(text []byte) (n int, kind unit) {
	if len(text) < 2 {
		return 0, unitCut
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, unitOK
	case 'u':
	default:
		return 2, unitEscape
	}
	high, n, kind := hexUnit(text)
	switch {
	case kind != unitOK || high < 0xd800 || high > 0xdfff:
		return n, kind
	case high > 0xdbff:
		return n, unitHalf
	}
	low, _, kind := hexUnit(text[n:])
	switch {
	case kind == unitCut:
		return 0, unitCut
	case kind != unitOK || low < 0xdc00 || low > 0xdfff:
		return n, unitHalf
	}
	return 2 * n, unitOK
}

// hexUnit reads the \uXXXX that text begins with.
func hexUnit(text []byte) (r rune, n int, kind unit) {
	for i := range 6 {
		switch {
		case i == len(text):
			return 0, 0, unitCut
		case i < 2:
			if text[i] != `\u`[i] {
				return 0, i + 1, unitEscape
			}
		default:
			digit := chars.Hex(text[i])
			if digit < 0 {
				return 0, i + 1, unitEscape
			}
			r = r<<4 | rune(digit)
		}
	}
	return r, 6, unitOK
}
