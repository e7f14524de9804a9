package relaxed

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/callgate/callgate/sdk/chars"
)

// AppendString appends s as a JSON string. Only what JSON demands is escaped:
// the quote, the backslash and control characters. Bytes that are not UTF-8 are
// passed on as they are.
func AppendString(dst, s []byte) []byte {
	return append(AppendEscaped(append(dst, '"'), s), '"')
}

// Quote is s as a JSON string.
func Quote(s string) string { return string(AppendString(nil, []byte(s))) }

// AppendEscaped is AppendString without the quotes, for strings that are written
// in pieces. A piece may end inside a UTF-8 sequence.
func AppendEscaped(dst, s []byte) []byte {
	for from := 0; ; from++ {
		i := chars.Plain(s, from)
		if dst = append(dst, s[from:i]...); i == len(s) {
			return dst
		}
		if c := s[i]; c < ' ' {
			dst = appendControl(dst, c)
		} else {
			dst = append(dst, '\\', c)
		}
		from = i
	}
}

func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '\n':
		return append(dst, '\\', 'n')
	case '\t':
		return append(dst, '\\', 't')
	case '\r':
		return append(dst, '\\', 'r')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// Unquote decodes a strict JSON string with its quotes, such as a Reader writes.
// A lone surrogate becomes U+FFFD. It reports false for anything else.
func Unquote(src []byte) (text []byte, ok bool) {
	return appendUnquoted(nil, src)
}

func appendUnquoted(dst, src []byte) ([]byte, bool) {
	if len(src) < 2 || src[0] != '"' || src[len(src)-1] != '"' {
		return dst, false
	}
	src = src[1 : len(src)-1]
	for {
		n := chars.Plain(src, 0)
		if dst, src = append(dst, src[:n]...), src[n:]; len(src) == 0 {
			return dst, true
		}
		if src[0] != '\\' {
			return dst, false
		}
		if dst, n = appendEscape(dst, src); n == 0 {
			return dst, false
		}
		src = src[n:]
	}
}

// appendEscape decodes the escape that src begins with and gives its length, or 0.
func appendEscape(dst, src []byte) ([]byte, int) {
	if len(src) < 2 {
		return dst, 0
	}
	if i := bytes.IndexByte([]byte(`"\/bfnrt`), src[1]); i >= 0 {
		return append(dst, "\"\\/\b\f\n\r\t"[i]), 2
	}
	r := hexRune(src)
	if r < 0 {
		return dst, 0
	}
	if pair := utf16.DecodeRune(r, hexRune(src[6:])); pair != utf8.RuneError {
		return utf8.AppendRune(dst, pair), 12
	}
	return utf8.AppendRune(dst, r), 6 // a surrogate here becomes U+FFFD
}

// hexRune reads the \uXXXX that b begins with, or gives -1.
func hexRune(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range b[2:6] {
		d := chars.Hex(c)
		if d < 0 {
			return -1
		}
		r = r<<4 | rune(d)
	}
	return r
}

// Value reads all of src, which may have white space around it, as one relaxed
// value. kind is its first token: ObjectOpen, ArrayOpen, String, Number, Bool or
// Null. maxDepth is as for NewReader. It reports false if src is anything else.
func Value(src []byte, maxDepth int) (strict []byte, kind Token, ok bool) {
	r := NewReader(maxDepth)
	for len(src) > 0 {
		var n int
		var tok Token
		if r.Depth() > 0 {
			n, tok = r.FeedTo(src, 0)
		} else {
			n, tok = r.Feed(src)
		}
		src = src[n:]
		if kind == More {
			kind = tok
		}
		if tok == Done {
			break
		}
		if tok == Bad {
			return nil, Bad, false
		}
	}
	tok := r.End()
	if kind == More {
		kind = tok // a number at the very end
	}
	if tok == Bad || len(chars.SkipSpace(src)) > 0 {
		return nil, Bad, false
	}
	return r.Out, kind, true
}
