package relaxed

import (
	"bytes"

	"github.com/callgate/callgate/sdk/chars"
)

func (r *Reader) beginString(quote byte, isKey bool) {
	r.state, r.quote, r.isKey = inString, quote, isKey
	if quote == '\'' {
		r.repairs |= SingleQuotes
	}
}

// write appends strict bytes of a string to where that string goes.
func (r *Reader) write(b ...byte) {
	if r.isKey {
		r.held = append(r.held, b...)
	} else {
		r.Out = append(r.Out, b...)
	}
}

// readString copies a run of what strict strings hold, or else reads one byte.
func (r *Reader) readString(src []byte) (int, Token) {
	if r.quote == '\'' {
		if n := r.readQuoted(src); n > 0 {
			return n, More
		}
	} else if n, _ := scanString(src, 0); n > 0 {
		r.write(src[:n]...)
		return n, More
	}
	c := src[0]
	if c == r.quote {
		r.write('"')
		if !r.isKey {
			return 1, r.end(String)
		}
		r.keyEnd, r.state = len(r.held), wantColon
		return 1, More
	}
	switch c {
	case '\\':
		r.state = inEscape // \' loses its backslash, so it waits
	case '"':
		r.write('\\', '"')
	default:
		var b [6]byte
		r.write(appendControl(b[:0], c)...)
		r.repairs |= ControlChar
	}
	return 1, More
}

// readQuoted reads a run of a string between single quotes, with the double quotes and the
// usual escapes in it, and says how long it is.
func (r *Reader) readQuoted(src []byte) (n int) {
	for n < len(src) {
		end := chars.Plain(src, n)
		if i := bytes.IndexByte(src[n:end], '\''); i >= 0 {
			end = n + i
		}
		r.write(src[n:end]...)
		if n = end; n == len(src) {
			break
		}
		switch c := src[n]; {
		case c == '"':
			r.write('\\', '"')
			n++
		case c == '\\' && n+1 < len(src) && isEscape(src[n+1]):
			r.write('\\', src[n+1])
			n += 2
		default:
			return n
		}
	}
	return n
}

// isEscape tells what JSON has behind a backslash, but for u.
func isEscape(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

func (r *Reader) readEscape(c byte) (int, Token) {
	switch {
	case isEscape(c):
		r.write('\\', c)
	case c == 'u':
		r.write('\\', 'u')
		r.state, r.hex = inHex, 4
		return 1, More
	case c == '\'':
		r.write('\'')
		// Inside '…' Python needs the backslash; the quotes are the slip there.
		r.repairs |= QuoteEscape
	default:
		return 0, r.fail()
	}
	r.state = inString
	return 1, More
}

func (r *Reader) readHex(c byte) (int, Token) {
	if chars.Hex(c) < 0 {
		return 0, r.fail()
	}
	r.write(c)
	if r.hex--; r.hex == 0 {
		r.state = inString
	}
	return 1, More
}

func (r *Reader) readBareKey(c byte) (int, Token) {
	if isLetter(c) || chars.IsDigit(c) {
		r.held = append(r.held, c)
		return 1, More
	}
	r.held = append(r.held, '"')
	r.keyEnd, r.state = len(r.held), wantColon
	r.repairs |= BareKey
	return 0, More
}

// words are the bare words of JSON and of Python, with what they mean. None is the
// beginning of another, so a word is complete without a look at what follows.
var words = [...]struct {
	text, strict string
	tok          Token
}{
	{"true", "true", Bool}, {"false", "false", Bool}, {"null", "null", Null},
	{"True", "true", Bool}, {"False", "false", Bool}, {"None", "null", Null},
}

func isWordStart(c byte) bool {
	for i := range words {
		if words[i].text[0] == c {
			return true
		}
	}
	return false
}

func (r *Reader) readWord(c byte) (int, Token) {
	n := len(r.held)
	for i := range words {
		w := &words[i]
		if n >= len(w.text) || w.text[n] != c || w.text[:n] != string(r.held) {
			continue
		}
		if r.held = append(r.held, c); len(r.held) < len(w.text) {
			return 1, More
		}
		if w.text != w.strict {
			r.repairs |= PythonWord
		}
		r.held = append(r.held[:0], w.strict...)
		r.flush()
		return 1, r.end(w.tok)
	}
	return 0, r.fail()
}

func (r *Reader) readNumber(c byte) (int, Token) {
	if next := r.number.next(c); next != 0 {
		r.number = next
		r.held = append(r.held, c)
		return 1, More
	}
	if !r.number.complete() {
		return 0, r.fail()
	}
	r.flush()
	return 0, r.end(Number)
}

// IsNumber reports whether b is a number of JSON.
func IsNumber(b []byte) bool {
	s := numberStart
	for _, c := range b {
		if s = s.next(c); s == 0 {
			return false
		}
	}
	return s.complete()
}

// numberState is a place in the grammar of JSON numbers; 0 is outside.
type numberState uint8

const (
	numberStart numberState = iota + 1
	numberMinus
	numberZero // a leading 0, which no digit may follow
	numberInt
	numberPoint
	numberFraction
	numberE
	numberSign // of the exponent
	numberExponent
)

// next is the place after c, or 0 if c cannot follow.
func (s numberState) next(c byte) numberState {
	switch {
	case c >= '0' && c <= '9':
		return s.digit(c)
	case c == '-' && s == numberStart:
		return numberMinus
	case c == '.' && (s == numberZero || s == numberInt):
		return numberPoint
	case c|0x20 == 'e' && s.complete() && s != numberExponent:
		return numberE
	case (c == '+' || c == '-') && s == numberE:
		return numberSign
	}
	return 0
}

// digit is the place after the digit c.
func (s numberState) digit(c byte) numberState {
	switch s {
	case numberStart, numberMinus:
		if c == '0' {
			return numberZero
		}
		return numberInt
	case numberZero:
		return 0
	case numberPoint:
		return numberFraction
	case numberE, numberSign:
		return numberExponent
	default:
		return s
	}
}

func (s numberState) complete() bool {
	return s == numberZero || s == numberInt || s == numberFraction || s == numberExponent
}

// isLetter tells what may begin a bare key.
func isLetter(c byte) bool { return chars.IsLetter(c) || c == '_' || c == '$' }
