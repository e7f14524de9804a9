package pythonic

import (
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// text is the state of the string that is being read.
type text struct {
	key    bool // it is a key of a dict
	quote  byte
	triple bool
	raw    bool
	bytes  bool
	stop   byte // the bits of stops that end a run of plain bytes
	quotes int  // quotes of the end of a triple-quoted string that were read
	digits int  // of an escape, still to come
	value  rune // of the digits so far
}

// The bits of stops.
const (
	stopAlways = 1 << iota
	stopFormat // in an f-string
	stopBytes  // in a bytes literal
)

// stops are the bytes of a string that cannot simply be copied.
var stops = func() (t [256]byte) {
	for c := range 0x20 {
		t[c] = stopAlways
	}
	for c := 0x80; c < len(t); c++ {
		t[c] = stopBytes
	}
	t['"'], t['\''], t['\\'] = stopAlways, stopAlways, stopAlways
	t['{'], t['}'] = stopFormat, stopFormat
	return t
}()

// beginText begins a string, which may be written in several parts.
func (a *argReader) beginText(key bool) {
	a.text = text{key: key}
	a.out = append(a.out, '"')
}

// openText reads the first quote of a part without a prefix.
func (a *argReader) openText(quote byte) (int, status) {
	a.text = text{key: a.text.key, quote: quote, stop: stopAlways}
	a.place = atText
	return 1, more
}

// openPrefixed is openText behind a prefix.
func (a *argReader) openPrefixed(prefix []byte, quote byte) (int, status) {
	a.openText(quote)
	for _, c := range prefix {
		switch c | 0x20 {
		case 'r':
			a.text.raw = true
		case 'b':
			a.text.bytes = true
			a.text.stop |= stopBytes
		case 'f':
			a.text.stop |= stopFormat
		}
	}
	return 1, more
}

// isPrefix tells what may stand before the quote of a string.
func isPrefix(b []byte) bool {
	switch len(b) {
	case 1:
		c := b[0] | 0x20
		return c == 'r' || c == 'b' || c == 'f' || c == 'u'
	case 2:
		c, d := b[0]|0x20, b[1]|0x20
		return c == 'r' && (d == 'b' || d == 'f') || d == 'r' && (c == 'b' || c == 'f')
	}
	return false
}

// isBytes tells whether a prefix is that of bytes, which do not go on with text.
func isBytes(prefix []byte) bool {
	for _, c := range prefix {
		if c|0x20 == 'b' {
			return true
		}
	}
	return false
}

// readText copies a run of plain bytes, or else reads the one byte that is not.
func (a *argReader) readText(src []byte) (int, status) {
	n, stop := 0, a.text.stop
	for n < len(src) && stops[src[n]]&stop == 0 {
		n++
	}
	if n > 0 {
		a.out = append(a.out, src[:n]...)
		return n, more
	}
	switch c := src[0]; {
	case c == a.text.quote:
		if a.text.triple {
			a.place, a.text.quotes = inQuotes, 1
		} else {
			a.place, a.gap = afterText, a.gap[:0]
		}
	case c == '\\':
		a.place = inEscape
		if a.text.raw {
			a.out = append(a.out, `\\`...)
			a.place = inRawEscape
		}
	case c == '{' || c == '}' || c >= 0x80:
		return 0, bad // an expression, whose value is not known, or bytes that are no text
	default:
		a.writeByte(c)
	}
	return 1, more
}

// writeByte writes an ASCII character of a string.
func (a *argReader) writeByte(c byte) {
	if (c == '\n' || c == '\r') && !a.text.triple {
		a.repaired = true
	}
	a.out = relaxed.AppendEscaped(a.out, []byte{c})
}

// stepText reads a byte of a string that is not plain.
func (a *argReader) stepText(c byte) (int, status) {
	t := &a.text
	switch a.place {
	case atText:
		if c == t.quote {
			a.place = atTriple
			return 1, more
		}
		a.place = inText
		return 0, more
	case atTriple:
		if c == t.quote {
			t.triple = true
			a.place = inText
			return 1, more
		}
		a.place = afterText // it was empty
		return 0, more
	case inQuotes:
		return a.readQuotes(c)
	case inHex:
		return a.readHex(c)
	case inOctal:
		return a.readOctal(c)
	case inRawEscape:
		a.place = inText
		if c == '"' || c == '\'' || c == '\\' {
			a.writeByte(c)
			return 1, more
		}
		return 0, more
	default:
		return a.readEscape(c)
	}
}

// readQuotes reads on behind a quote in a triple-quoted string.
func (a *argReader) readQuotes(c byte) (int, status) {
	t := &a.text
	if c != t.quote {
		for range t.quotes {
			a.writeByte(t.quote)
		}
		a.place = inText
		return 0, more
	}
	if t.quotes++; t.quotes == 3 {
		a.place = afterText
	}
	return 1, more
}

// readEscape reads the byte behind a backslash.
func (a *argReader) readEscape(c byte) (int, status) {
	a.place = inText
	switch c {
	case 'n', 't', 'b', 'f', 'r', '\\', '"':
		a.out = append(a.out, '\\', c)
	case '\'':
		a.out = append(a.out, c)
	case 'a':
		a.writeByte('\a')
	case 'v':
		a.writeByte('\v')
	case '\n': // the line goes on
	case 'x':
		a.beginDigits(inHex, 2)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		a.beginDigits(inOctal, 3)
		return 0, more
	case 'u', 'U', 'N':
		return a.readUnicodeEscape(c)
	default: // Python keeps the backslash
		a.out = append(a.out, `\\`...)
		return 0, more
	}
	return 1, more
}

// readUnicodeEscape reads the letter of an escape that a bytes literal has not.
func (a *argReader) readUnicodeEscape(c byte) (int, status) {
	switch {
	case a.text.bytes:
		a.out = append(a.out, '\\', '\\', c)
	case c == 'u':
		a.beginDigits(inHex, 4)
	case c == 'U':
		a.beginDigits(inHex, 8)
	default:
		return 0, bad // \N{…}, which takes the names of all characters
	}
	return 1, more
}

func (a *argReader) beginDigits(place place, n int) {
	a.place, a.text.digits, a.text.value = place, n, 0
}

func (a *argReader) readHex(c byte) (int, status) {
	digit := chars.Hex(c)
	if digit < 0 {
		return 0, bad
	}
	t := &a.text
	t.value = t.value<<4 | rune(digit)
	if t.digits--; t.digits == 0 {
		return 1, a.writeRune(t.value)
	}
	if t.value > utf8.MaxRune {
		return 0, bad
	}
	return 1, more
}

func (a *argReader) readOctal(c byte) (int, status) {
	t := &a.text
	if c < '0' || c > '7' {
		return 0, a.writeRune(t.value)
	}
	t.value = t.value<<3 | rune(c-'0')
	if t.digits--; t.digits == 0 {
		return 1, a.writeRune(t.value)
	}
	return 1, more
}

// writeRune writes the character of an escape. Half of a surrogate pair stays an
// escape, since models that think of JSON write the other half behind it.
func (a *argReader) writeRune(r rune) status {
	a.place = inText
	const digits = "0123456789abcdef"
	switch {
	case r > utf8.MaxRune || a.text.bytes && r >= 0x80:
		return bad
	case r < 0x80:
		a.out = relaxed.AppendEscaped(a.out, []byte{byte(r)})
	case r >= 0xd800 && r < 0xe000:
		a.out = append(a.out, '\\', 'u', 'd', digits[r>>8&15], digits[r>>4&15], digits[r&15])
	default:
		a.out = utf8.AppendRune(a.out, r)
	}
	return more
}

// readAfterText reads another part of a string, or what follows it.
func (a *argReader) readAfterText(c byte) (int, status) {
	switch {
	case c == '"' || c == '\'':
		return a.openText(c)
	case nameStart(c) || a.atTop() && (keyStart(c) || onlyText(c)):
		a.place, a.token = inPrefix, a.token[:0]
		return 0, more
	}
	a.endText()
	return 0, more
}

// onlyText tells what no expression goes on with behind a string: digits, and operators that strings
// do not have.
func onlyText(c byte) bool { return c >= '0' && c <= '9' || strings.IndexByte("/-~#?&|", c) >= 0 }

// readPrefix reads letters behind a string.
func (a *argReader) readPrefix(c byte) (int, status) {
	switch {
	case (c == '"' || c == '\'') && isPrefix(a.token) && isBytes(a.token) == a.text.bytes:
		return a.openPrefixed(a.token, c)
	case len(a.token) < maxName && nameStart(c):
		a.token = append(a.token, c)
		return 1, more
	case a.text.key || !a.atTop():
		return 0, bad
	case c == '=' && a.mayBeKey():
		a.endText()
		a.place, a.repaired = inKey, true // the comma is missing
		return 0, more
	case c == '(' || c == '[' || !a.mayHoldQuotes():
		return 0, bad
	}
	a.writeByte(a.text.quote) // a quote inside the string
	a.out = relaxed.AppendEscaped(a.out, a.gap)
	a.out = relaxed.AppendEscaped(a.out, a.token)
	a.place, a.repaired = inText, true
	return 0, more
}

// mayBeKey reports whether the word behind a string is a keyword, whose comma is missing.
func (a *argReader) mayBeKey() bool {
	return a.tool == nil || sdk.FindParam(a.tool, string(a.token)) != nil || len(a.gap) > 0
}

// mayHoldQuotes reports whether words behind a quote can only be text, so that the quote is too:
// they are none of Python's, which would make an expression.
func (a *argReader) mayHoldQuotes() bool {
	switch string(a.token) {
	case "if", "in", "is", "not", "and", "or", "for", "else":
		return false
	}
	return a.tool != nil && !a.text.triple && !a.text.raw && a.text.stop == stopAlways
}

// endText writes the end of a string.
func (a *argReader) endText() {
	a.out = append(a.out, '"')
	a.place = afterValue
	if a.text.key {
		a.place = wantColon
	}
}
