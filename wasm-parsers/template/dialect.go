package template

import (
	"bytes"

	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// plain appends text, JSON in the dialect of c, as JSON that package relaxed
// understands: strings between delimiters become strings in quotes, and keys
// without quotes get them. What is in quotes already stays as it is.
func (c *content) plain(dst, text []byte) []byte {
	q := quotes{c: c}
	mayKey := false // a key may follow
	for i := 0; i < len(text); {
		n, inner := q.token(text[i:], true)
		token := text[i : i+n]
		switch {
		case inner != nil:
			dst = relaxed.AppendString(dst, inner)
			mayKey = false
		case mayKey && c.lax && keyLen(text[i:]) > 0:
			n = keyLen(text[i:])
			dst = relaxed.AppendString(dst, text[i:i+n])
			mayKey = false
		default:
			dst = append(dst, token...)
			mayKey = token[0] == '{' || token[0] == ',' || mayKey && chars.IsSpace(token[0])
		}
		i += n
	}
	return dst
}

// keyLen is the length of the key without quotes that b begins with, or 0.
func keyLen(b []byte) int {
	n := 0
	for n < len(b) && b[n] > ' ' && bytes.IndexByte([]byte(`"'{}[],:`), b[n]) < 0 {
		n++
	}
	if i := chars.Space(b, n); i == len(b) || b[i] != ':' {
		return 0
	}
	return n
}

// quotes tells where strings of JSON are, in the dialect of a content.
type quotes struct {
	c    *content
	none [maxDelims]bool // there is no closing delimiter of the pair in what is left
}

// token is the length of the first token of text: a string, or one character
// outside of strings. inner is what is inside a string between delimiters, nil if
// it is none. A string that does not end goes up to the end of the text.
func (q *quotes) token(text []byte, all bool) (n int, inner []byte) {
	for i, d := range q.c.delims {
		if q.none[i] || !bytes.HasPrefix(text, []byte(d.open)) {
			continue
		}
		rest := text[len(d.open):]
		at := bytes.Index(rest, []byte(d.close))
		if at < 0 {
			q.none[i] = all
			continue
		}
		return len(d.open) + at + len(d.close), rest[:at:at]
	}
	if c := text[0]; c != '"' && c != '\'' {
		return 1, nil
	}
	for n = 1; n < len(text); n++ {
		switch text[n] {
		case '\\':
			n++
		case text[0]:
			return n + 1, nil
		}
	}
	return len(text), nil
}

// stringWatch follows the JSON of a region as it grows, to tell whether a closing
// marker lies inside a string and so is none.
type stringWatch struct {
	c       *content
	at      int    // up to where the text was read
	depth   int    // of brackets
	within  string // what ends the string that is open
	escaped bool
	done    bool // the value is complete
}

// inside reads up to a place, and reports whether a string is open there.
func (w *stringWatch) inside(buf []byte, off, to int) bool {
	for text := buf[w.at-off : to-off]; len(text) > 0 && !w.done; {
		n := w.step(text)
		if n == 0 {
			break
		}
		w.at += n
		text = text[n:]
	}
	return w.within != ""
}

// step reads a run of characters or a delimiter, or nothing if it may become one.
func (w *stringWatch) step(text []byte) int {
	switch {
	case w.within == `"` || w.within == `'`:
		return w.stepQuoted(text)
	case w.within != "":
		return w.stepDelimited(text)
	}
	for i, c := range text {
		for _, d := range w.c.delims {
			if d.open[0] != c {
				continue
			}
			rest := text[i:]
			switch n := min(len(rest), len(d.open)); {
			case string(rest[:n]) != d.open[:n]:
			case n < len(d.open):
				return i
			default:
				w.within = d.close
				return i + n
			}
		}
		switch c {
		case '"', '\'':
			w.within = string(rune(c))
			return i + 1
		case '{', '[':
			w.depth++
		case '}', ']':
			if w.depth--; w.depth <= 0 {
				w.done = true
				return i + 1
			}
		}
	}
	return len(text)
}

func (w *stringWatch) stepQuoted(text []byte) int {
	quote := w.within[0]
	for i, c := range text {
		switch {
		case w.escaped:
			w.escaped = false
		case c == '\\':
			w.escaped = true
		case c == quote:
			w.within = ""
			return i + 1
		}
	}
	return len(text)
}

func (w *stringWatch) stepDelimited(text []byte) int {
	i := bytes.IndexByte(text, w.within[0])
	if i != 0 {
		if i < 0 {
			i = len(text)
		}
		return i
	}
	switch n := min(len(text), len(w.within)); {
	case string(text[:n]) != w.within[:n]:
		return 1
	case n < len(w.within):
		return 0
	default:
		w.within = ""
		return n
	}
}
