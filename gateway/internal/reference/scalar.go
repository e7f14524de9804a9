package reference

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// kinds is a set of types that a scalar may have. Null is none: it says that there is
// no value.
type kinds uint8

const (
	aString kinds = 1 << iota
	aNumber
	aBool
)

// scalar is a string, a number or a boolean.
type scalar struct {
	kind kinds
	// text is the string's text, or the number in the form that equal ones share.
	text string
	// literal is the number as it was written.
	literal string
}

// readScalar reads a value of valid JSON. ok is false for one that is no scalar.
func readScalar(raw []byte) (s scalar, ok bool) {
	switch raw[0] {
	case '"':
		if bytes.IndexByte(raw, '\\') < 0 {
			return scalar{kind: aString, text: string(raw[1 : len(raw)-1])}, true
		}
		text, err := jsontext.AppendUnquote(nil, raw)
		return scalar{kind: aString, text: string(text)}, err == nil
	case 't', 'f':
		return scalar{kind: aBool, text: string(raw)}, true
	case 'n', '{', '[':
		return scalar{}, false
	}
	literal := string(raw)
	return scalar{kind: aNumber, text: plainNumber(literal), literal: literal}, true
}

// plainNumber writes a whole number without point and exponent: 17.0 and 1.7e1 are 17.
// Others stay as they are, and so do large ones, of which a float would lose digits.
func plainNumber(literal string) string {
	if literal == "-0" {
		return "0"
	}
	if !strings.ContainsAny(literal, ".eE") {
		return literal
	}
	const exact = 1 << 53
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= exact {
		return literal
	}
	return strconv.FormatInt(int64(f), 10)
}

// as is the scalar as one of the types that an argument may have, if it can be, and
// otherwise as it is.
func (s scalar) as(types abi.Types) scalar {
	numbers := types & (abi.Number | abi.Integer)
	switch {
	case types == 0:
	case s.kind == aNumber && numbers == 0 && types&abi.String != 0:
		return scalar{kind: aString, text: s.literal}
	case s.kind == aString && types&abi.String == 0 && numbers != 0 && isNumber(s.text):
		return scalar{kind: aNumber, text: plainNumber(s.text), literal: s.text}
	}
	return s
}

func isNumber(text string) bool {
	v := jsontext.Value(text)
	return len(text) > 0 && strings.IndexByte("-0123456789", text[0]) >= 0 && text[len(text)-1] > ' ' && v.IsValid()
}

// mayBeID says whether the scalar looks like an id rather than a name: a word with a
// digit.
func (s scalar) mayBeID() bool {
	return strings.ContainsFunc(s.text, unicode.IsDigit) && !strings.ContainsFunc(s.text, unicode.IsSpace)
}

func (s scalar) equal(t scalar) bool { return s.kind == t.kind && s.text == t.text }

// json is the scalar as it stands in JSON.
func (s scalar) json() []byte {
	switch s.kind {
	case aString:
		return wire.AppendQuoted(nil, s.text)
	case aNumber:
		return []byte(s.literal)
	}
	return []byte(s.text)
}

// other is the number that a string writes, or the string that is a number, if it
// is among the types in which a result holds that text.
func (s scalar) other(held kinds) (t scalar, ok bool) {
	switch {
	case s.kind == aString && held&aNumber != 0:
		return scalar{kind: aNumber, text: s.text, literal: s.text}, true
	case s.kind == aNumber && held&aString != 0:
		return scalar{kind: aString, text: s.text}, true
	}
	return scalar{}, false
}
