package relaxed

import "github.com/callgate/callgate/sdk/chars"

// FeedTo is Feed for a caller that does not look inside a value: it gives no token
// until as few brackets are open as depth, which are fewer than now, and is several
// times as fast. More and Bad are given as by Feed.
func (r *Reader) FeedTo(src []byte, depth int) (n int, tok Token) {
	for n < len(src) {
		n += r.strict(src[n:], depth)
		if len(r.stack) <= depth {
			if src[n-1] == '}' {
				return n, ObjectClose
			}
			return n, ArrayClose
		}
		if n == len(src) {
			break
		}
		used, tok := r.step(src[n:])
		n += used
		if tok == Bad || tok != More && len(r.stack) <= depth {
			return n, tok
		}
	}
	return n, More
}

// strict reads whole tokens of strict JSON and copies them at once, and says how
// many bytes these were. It stops where the text is anything else, ends inside a
// token, or as few brackets are open as depth; the slow way goes on from there.
// Nothing is held when it stops: a comma or an opening brace is only read together
// with what makes it certain. In a guest a call of a function costs as much as a
// few bytes read in a loop, so the loops are here.
func (r *Reader) strict(src []byte, depth int) int {
	if r.state == inString && r.quote == '"' && !r.isKey {
		n, _ := scanString(src, 0)
		r.Out = append(r.Out, src[:n]...)
		return n
	}
	if len(r.held) > 0 || r.state != wantComma && r.state != wantValue && r.state != wantFirst {
		return 0
	}
	n := 0
	for n < len(src) && len(r.stack) > depth {
		var next int
		if r.state == wantComma {
			next = r.strictNext(src, n)
		} else {
			next = r.strictValue(src, chars.Space(src, n), r.state == wantFirst)
		}
		if next < 0 {
			break
		}
		n = next
	}
	r.Out = append(r.Out, src[:n]...)
	return n
}

// strictNext reads what follows a value: a closing bracket, or a comma with the
// key or the value behind it. It gives the place behind, or -1.
func (r *Reader) strictNext(src []byte, i int) int {
	i = chars.Space(src, i)
	if i == len(src) {
		return -1
	}
	last := len(r.stack) - 1
	switch c := src[i]; {
	case c != ',':
		return r.strictClose(src, i)
	case r.stack[last] == '{':
		return r.strictKey(src, chars.Space(src, i+1))
	}
	return r.strictValue(src, chars.Space(src, i+1), false)
}

func (r *Reader) strictClose(src []byte, i int) int {
	last := len(r.stack) - 1
	if c := src[i]; c != '}' && c != ']' || r.stack[last] != c-2 {
		return -1
	}
	r.stack = r.stack[:last]
	r.end(More)
	return i + 1
}

// strictKey reads a key and the colon behind it.
func (r *Reader) strictKey(src []byte, i int) int {
	if i == len(src) || src[i] != '"' {
		return -1
	}
	end, closed := scanString(src, i+1)
	if !closed {
		return -1
	}
	if i = chars.Space(src, end+1); i == len(src) || src[i] != ':' {
		return -1
	}
	r.state = wantValue
	return i + 1
}

// strictValue reads a scalar, an opening bracket with a key behind its brace, or,
// where the array may be empty, its closing bracket.
func (r *Reader) strictValue(src []byte, i int, mayClose bool) int {
	if i == len(src) {
		return -1
	}
	switch c := src[i]; c {
	case '"':
		end, closed := scanString(src, i+1)
		if !closed {
			return -1
		}
		r.state = wantComma
		return end + 1
	case '{', '[':
		return r.strictOpen(src, i)
	case ']':
		if mayClose {
			return r.strictClose(src, i)
		}
		return -1
	case 't', 'f', 'n':
		for _, w := range words[:3] {
			if len(src)-i >= len(w.text) && string(src[i:i+len(w.text)]) == w.text {
				r.state = wantComma
				return i + len(w.text)
			}
		}
		return -1
	}
	return r.strictNumber(src, i)
}

func (r *Reader) strictOpen(src []byte, i int) int {
	if len(r.stack) == r.maxDepth {
		return -1
	}
	c := src[i]
	r.stack = append(r.stack, c)
	if c == '[' {
		r.state = wantFirst
		return i + 1
	}
	var next int
	if i = chars.Space(src, i+1); i < len(src) && src[i] == '}' {
		next = r.strictClose(src, i)
	} else {
		next = r.strictKey(src, i)
	}
	if next < 0 {
		r.stack = r.stack[:len(r.stack)-1]
	}
	return next
}

// strictNumber reads a number and sees the byte behind it, without which it might
// go on.
func (r *Reader) strictNumber(src []byte, i int) int {
	state := numberStart
	for ; i < len(src); i++ {
		c := src[i]
		if c >= '0' && c <= '9' && state >= numberInt && state != numberPoint && state < numberE {
			continue
		}
		next := state.next(c)
		if next == 0 {
			break
		}
		state = next
	}
	if i == len(src) || !state.complete() {
		return -1
	}
	r.state = wantComma
	return i
}

// scanString reads the inside of a string from i on: plain bytes and whole escapes
// that strict JSON allows. It gives the place of the closing quote, or of what it
// cannot read or see the end of.
func scanString(src []byte, i int) (end int, closed bool) {
	for {
		if i = chars.Plain(src, i); i == len(src) {
			return i, false
		}
		if src[i] != '\\' || i+1 == len(src) {
			return i, src[i] == '"'
		}
		switch c := src[i+1]; {
		case isEscape(c):
			i += 2
		case c == 'u':
			if hexRune(src[i:]) < 0 {
				return i, false
			}
			i += 6
		default:
			return i, false
		}
	}
}
