package pythonic

import (
	"bytes"
	"strconv"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// tokenByte tells what numbers and words are made of.
func tokenByte(c byte) bool {
	return chars.IsLetter(c) || chars.IsDigit(c) || c == '_' || c == '.'
}

// readToken reads a number, a word, or the prefix of a string.
func (a *argReader) readToken(c byte) (int, status) {
	if tokenByte(c) || (c == '-' || c == '+') && a.signFits() {
		if len(a.token) == maxBare {
			return 0, bad
		}
		a.token = append(a.token, c)
		return 1, more
	}
	if (c == '"' || c == '\'') && isPrefix(a.token) {
		a.beginText(false)
		return a.openPrefixed(a.token, c)
	}
	return a.endToken(c)
}

// endToken decides what the token was by the byte behind it.
func (a *argReader) endToken(c byte) (int, status) {
	literal := a.literal(a.token)
	switch {
	case literal != nil && (c == ',' || c == ')' || !a.mayBare()):
		a.out = append(a.out, literal...)
		a.place = afterValue
		return 0, more
	case literal != nil && chars.IsSpace(c):
		a.place = afterToken
		return 0, more
	case c == '=' && a.atTop():
		return a.split()
	case !a.mayBare(), c == '(' && len(a.token) > 0:
		return 0, bad // an expression
	}
	a.beginBare()
	return 0, more
}

// signFits tells whether a sign may follow: at the front, or before an exponent.
func (a *argReader) signFits() bool {
	n := len(a.token)
	if n == 0 {
		return true
	}
	return a.token[n-1]|0x20 == 'e' && numeric(a.token[:n-1])
}

// numeric reports whether b begins like a decimal number.
func numeric(b []byte) bool {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b = b[1:]
	}
	if len(b) > 1 && b[0] == '.' {
		b = b[1:]
	}
	return len(b) > 0 && b[0] >= '0' && b[0] <= '9' && (len(b) == 1 || b[1]|0x20 != 'x')
}

// readAfterToken reads on behind a literal and white space, where the literal may
// be the first word of a text without quotes.
func (a *argReader) readAfterToken(c byte) (int, status) {
	switch {
	case chars.IsSpace(c) && len(a.token) < maxBare:
		a.token = append(a.token, c)
		return 1, more
	case c == ',' || c == ')':
		a.out = append(a.out, a.literal(chars.TrimSpace(a.token))...)
		a.place = afterValue
		return 0, more
	case c == '=' || len(a.token) >= maxBare:
		return 0, bad
	}
	a.beginBare()
	return 0, more
}

// split reads a literal and a keyword without anything between, as a template of
// Gemma 3 writes them: days=3unit="c". The keyword must be a parameter's name.
func (a *argReader) split() (int, status) {
	for n := min(len(a.token), maxName) - 1; n > 0; n-- {
		key := a.token[n:]
		if sdk.FindParam(a.tool, string(key)) == nil {
			continue
		}
		literal := literalOf(a.token[:n])
		if literal == nil {
			continue
		}
		a.out = append(a.out, literal...)
		a.token = append(a.token[:0], key...)
		a.place, a.repaired = inKey, true
		return 0, more
	}
	return 0, bad
}

// literal is literalOf for a value, which may be a whole number with zeros in front. Python has none
// such: what it is says the schema, which takes numbers, or text.
func (a *argReader) literal(token []byte) []byte {
	literal := literalOf(token)
	if literal != nil || !a.atTop() || len(token) < 2 || token[0] != '0' || len(bytes.Trim(token, "0123456789")) > 0 {
		return literal
	}
	a.repaired = true
	if p := a.param; p != nil && p.Types&(abi.Integer|abi.Number) != 0 && p.Types&abi.String == 0 {
		return append(bytes.TrimLeft(token[:len(token)-1:len(token)-1], "0"), token[len(token)-1])
	}
	return relaxed.AppendString(nil, token)
}

// literalOf is a number or a word as JSON, or nil if it is neither.
func literalOf(token []byte) []byte {
	switch string(token) {
	case "True", "true":
		return []byte("true")
	case "False", "false":
		return []byte("false")
	case "None", "null":
		return []byte("null")
	}
	return number(token)
}

// number is a Python number as JSON, or nil if it is none or JSON has none such.
// Decimal digits are copied, never computed.
func number(b []byte) []byte {
	var out []byte
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		if b[0] == '-' {
			out = append(out, '-')
		}
		b = b[1:]
	}
	if len(b) > 1 && b[0] == '0' && b[1]|0x20 >= 'a' && b[1]|0x20 != 'e' {
		return based(out, b)
	}
	return decimal(out, b)
}

// decimal appends a number of base ten, behind its sign. A digit may be missing before or
// behind its point.
func decimal(out, b []byte) []byte {
	b = ungrouped(b)
	rest := bytes.TrimLeft(b, "0123456789")
	whole := b[:len(b)-len(rest)]
	digits := bytes.TrimLeft(whole, "0")
	point := len(rest) > 0 && rest[0] == '.'
	fraction := point && len(rest) > 1 && chars.IsDigit(rest[1])
	switch {
	case len(whole) == 0 && !fraction:
		return nil
	case len(digits) == 0:
		digits = []byte{'0'}
	case len(digits) < len(whole):
		return nil // Python has no number with zeros in front
	}
	out = append(out, digits...)
	if point && !fraction {
		out, rest = append(out, ".0"...), rest[1:]
	}
	if out = append(out, rest...); !relaxed.IsNumber(out) {
		return nil
	}
	return out
}

// ungrouped is a number without the single underscores that may stand between its digits.
// It is nil if one stands elsewhere.
func ungrouped(b []byte) []byte {
	for i, c := range b {
		if c == '_' && (i == 0 || i+1 == len(b) || !chars.IsDigit(b[i-1]) || !chars.IsDigit(b[i+1])) {
			return nil
		}
	}
	return bytes.ReplaceAll(b, []byte{'_'}, nil)
}

// based is a number with another base than ten, behind its sign, if it fits into
// 64 bits.
func based(sign, b []byte) []byte {
	var base int
	switch b[1] | 0x20 {
	case 'x':
		base = 16
	case 'o':
		base = 8
	case 'b':
		base = 2
	default:
		return nil
	}
	n, err := strconv.ParseUint(string(bytes.ReplaceAll(b[2:], []byte{'_'}, nil)), base, 64)
	if err != nil {
		return nil
	}
	return strconv.AppendUint(sign, n, 10)
}
