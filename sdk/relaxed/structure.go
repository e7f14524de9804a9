package relaxed

import "github.com/callgate/callgate/sdk/chars"

// readBetween reads what is not part of a scalar.
func (r *Reader) readBetween(src []byte) (int, Token) {
	if n := chars.Space(src, 0); n > 0 {
		if r.state != wantValue || len(r.stack) > 0 {
			r.held = append(r.held, src[:n]...)
		}
		return n, More
	}
	tok := r.readStructure(src[0])
	if tok == Bad || r.state == inBareKey {
		return 0, tok
	}
	return 1, tok
}

// readStructure reads a byte between values.
func (r *Reader) readStructure(c byte) Token {
	switch r.state {
	case wantKey, wantNextKey:
		return r.beginKey(c)
	case wantColon:
		if c != ':' {
			return r.fail()
		}
		r.key, _ = appendUnquoted(r.key[:0], r.held[r.keyAt:r.keyEnd])
		r.held = append(r.held, ':')
		r.flush()
		r.state = wantValue
		return Key
	case wantComma:
		if c != ',' {
			return r.closeBracket(c)
		}
		r.comma = len(r.held)
		r.held = append(r.held, ',')
		r.state = wantNext
		if r.stack[len(r.stack)-1] == '{' {
			r.state = wantNextKey
		}
		return More
	default:
		if c == ']' && r.state != wantValue {
			return r.closeBracket(c)
		}
		return r.beginValue(c)
	}
}

func (r *Reader) beginKey(c byte) Token {
	switch {
	case c == '}':
		return r.closeBracket(c)
	case c == '"' || c == '\'':
		r.keyAt = len(r.held)
		r.held = append(r.held, '"')
		r.beginString(c, true)
	case isLetter(c):
		r.keyAt = len(r.held)
		r.held = append(r.held, '"')
		r.state = inBareKey
	default:
		return r.fail()
	}
	r.comma = -1
	return More
}

func (r *Reader) beginValue(c byte) Token {
	switch {
	case c == '{' || c == '[':
		return r.openBracket(c)
	case c == '"' || c == '\'':
		r.beginString(c, false)
	case c == '-' || c >= '0' && c <= '9':
		r.state, r.number = inNumber, numberStart.next(c)
	case isWordStart(c):
		r.state = inWord
	default:
		return r.fail()
	}
	r.flush() // a value follows, so the comma before it was not trailing
	if r.state == inString {
		r.Out = append(r.Out, '"')
	} else {
		r.held = append(r.held, c)
	}
	return More
}

func (r *Reader) openBracket(c byte) Token {
	if len(r.stack) == r.maxDepth {
		return r.fail()
	}
	r.stack = append(r.stack, c)
	r.flush()
	if c == '[' {
		r.Out = append(r.Out, c)
		r.state = wantFirst
		return ArrayOpen
	}
	r.held = append(r.held, c)
	r.state = wantKey
	return ObjectOpen
}

func (r *Reader) closeBracket(c byte) Token {
	last := len(r.stack) - 1
	if c != '}' && c != ']' || r.stack[last] != c-2 { // in ASCII { is two before }, [ before ]
		return r.fail()
	}
	if r.comma >= 0 {
		r.held = append(r.held[:r.comma], r.held[r.comma+1:]...)
		r.repairs |= TrailingComma
	}
	r.held = append(r.held, c)
	r.flush()
	r.stack = r.stack[:last]
	if c == '}' {
		return r.end(ObjectClose)
	}
	return r.end(ArrayClose)
}

// flush makes what was held part of the output.
func (r *Reader) flush() {
	r.Out = append(r.Out, r.held...)
	r.held, r.comma = r.held[:0], -1
}

// end notes that a value is complete.
func (r *Reader) end(tok Token) Token {
	r.state = wantComma
	if len(r.stack) == 0 {
		r.state = isDone
	}
	return tok
}

func (r *Reader) fail() Token {
	r.state = isBad
	return Bad
}
