package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendDecoded appends the text of a JSON string that may be a piece of a longer one.
// Nothing of it is lost: bytes that are not UTF-8 stay, and half of a surrogate pair, whose
// other half may be in the next piece, is written as UTF-8 would write it.
func AppendDecoded(dst, quoted []byte) []byte {
	text := quoted[1 : len(quoted)-1]
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 || at+1 == len(text) {
			return append(dst, text...)
		}
		dst = append(dst, text[:at]...)
		c := text[at+1]
		if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
			dst, text = append(dst, "\"\\/\b\f\n\r\t"[i]), text[at+2:]
			continue
		}
		r, ok := hex4(text[at:])
		if !ok { // no JSON
			dst, text = append(dst, '\\'), text[at+1:]
			continue
		}
		text = text[at+6:]
		low, ok := hex4(text)
		if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
			r, text = pair, text[6:]
		}
		if utf16.IsSurrogate(r) { // half of a pair
			dst = append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
		} else {
			dst = utf8.AppendRune(dst, r)
		}
	}
}

// hex4 reads the \uXXXX that b begins with.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

// HalfSize is how many bytes half of a surrogate pair takes in decoded text.
const HalfSize = 3

// HalfAt is the half of a surrogate pair that decoded text begins with, or 0.
func HalfAt[T string | []byte](b T) rune {
	if len(b) < HalfSize || b[0] != 0xed || b[1] < 0xa0 || b[1] > 0xbf || b[2]&0xc0 != 0x80 {
		return 0
	}
	return 0xd000 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f)
}

// EndsInHalf reports whether decoded text ends in the first half of a surrogate pair.
func EndsInHalf(text []byte) bool {
	half := HalfAt(text[max(0, len(text)-HalfSize):])
	return half >= 0xd800 && half < 0xdc00
}

// JoinHalves puts two pieces of decoded text together whose border may be within a
// surrogate pair.
func JoinHalves(head, tail []byte) []byte {
	if EndsInHalf(head) {
		at := len(head) - HalfSize
		if pair := utf16.DecodeRune(HalfAt(head[at:]), HalfAt(tail)); pair != utf8.RuneError {
			return append(utf8.AppendRune(head[:at:at], pair), tail[HalfSize:]...)
		}
	}
	return append(slices.Clip(head), tail...)
}

// Units is how many bytes of a JSON string, from n of them at most, are whole characters and
// whole escapes, those of a surrogate pair together. n is not less than such a pair has.
func Units(text []byte, n int) int {
	if len(text) <= n {
		return len(text)
	}
	const escape, short = len(`\u1234`), len(`\n`)
	end := max(n-64, 0)
	for end > 0 && text[end-1] == '\\' { // a backslash behind none begins an escape
		end--
	}
	for {
		at := bytes.IndexByte(text[end:n], '\\')
		if at < 0 {
			return n - beginning(text[end:n])
		}
		at += end
		size := short
		if high, ok := hex4(text[at:]); ok {
			size = escape
			if _, pair := hex4(text[at+escape:]); pair && high >= 0xd800 && high < 0xdc00 {
				size = 2 * escape
			}
		}
		if end = at + size; end >= n {
			if end == n {
				return n
			}
			return at
		}
	}
}

// jsonString writes a JSON string of a text that comes in pieces, cut anywhere.
type jsonString struct {
	out    []byte
	cut    string // the beginning of a character whose rest is in the next piece
	halves bool   // the text is what AppendDecoded gave, with halves of surrogate pairs
}

// openString begins a string behind dst.
func openString(dst []byte, halves bool) jsonString {
	return jsonString{out: append(dst, '"'), halves: halves}
}

func (s *jsonString) add(piece string) {
	if s.cut != "" {
		piece, s.cut = s.cut+piece, ""
	}
	if n := beginning(piece); n > 0 {
		piece, s.cut = piece[:len(piece)-n], piece[len(piece)-n:]
	}
	s.put(piece)
}

// close ends the string.
func (s *jsonString) close() []byte {
	s.put(s.cut)
	return append(s.out, '"')
}

// beginning is how many bytes at the end of a text begin a character and are not all of it.
func beginning[T string | []byte](text T) int {
	for n := 1; n <= min(len(text), utf8.UTFMax-1); n++ {
		b := text[len(text)-n]
		if !utf8.RuneStart(b) {
			continue
		}
		if b >= 0xf0 || b >= 0xe0 && n < 3 || b >= 0xc0 && n < 2 {
			return n
		}
		break
	}
	return 0
}

// put writes a piece of whole characters.
func (s *jsonString) put(text string) {
	for s.halves && strings.IndexByte(text, 0xed) >= 0 {
		at := 0
		for at < len(text) && HalfAt(text[at:]) == 0 {
			at++
		}
		s.quote(text[:at])
		if text = text[at:]; len(text) > 0 {
			s.out = fmt.Appendf(s.out, `\u%04x`, HalfAt(text))
			text = text[HalfSize:]
		}
	}
	s.quote(text)
}

// quote writes text as AppendQuoted does, but its quotes.
func (s *jsonString) quote(text string) {
	last := len(s.out) - 1
	before := s.out[last]
	s.out = AppendQuoted(s.out[:last], text)
	s.out[last] = before // where the opening quote stands, and the closing one goes
	s.out = s.out[:len(s.out)-1]
}

// longText is how long a text is whose memory is worth to be reckoned.
const longText = 16 << 10

// AppendQuoted appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func AppendQuoted[T ~string | ~[]byte](b []byte, s T) []byte {
	if len(s) >= longText { // it would grow by steps, of which most are thrown away
		b = slices.Grow(b, quotedSize(s))
	}
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// quotedSize is how many bytes a text of UTF-8 takes as a JSON string, at most.
func quotedSize[T ~string | ~[]byte](s T) int {
	size := len(s) + len(`""`)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
			size++
		case c < ' ':
			size += len(`\u0000`) - 1
		}
	}
	return size
}

// Unquote is the text of a JSON string, or "" if raw is none.
func Unquote(raw []byte) string {
	if n := len(raw); n >= 2 && raw[0] == '"' && raw[n-1] == '"' && Plain(raw[1:n-1]) { // most are
		return string(raw[1 : n-1])
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return ""
	}
	return string(b)
}

// Key is the name of a member, by what stands between its quotes. None that matters here is written with
// escapes by anyone, but it may be. What is not well-formed is replaced.
func Key(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key
	}
	name, _ := jsontext.AppendUnquote(nil, slices.Concat([]byte{'"'}, key, []byte{'"'})) // what is no key is none that is sought
	return name
}

// AppendUnquoted appends the text of a JSON string. What is not well-formed is replaced, and an error.
// A long text takes as much room as it needs: the library takes as much as the string has bytes, and
// touches all of it.
func AppendUnquoted(b, quoted []byte) ([]byte, error) {
	if len(quoted) < longText {
		return jsontext.AppendUnquote(b, quoted)
	}
	b = slices.Grow(b, unquotedSize(quoted))
	var in, out []byte
	for text := quoted[1 : len(quoted)-1]; len(text) > 0; {
		n := Units(text, longText/2)
		in = append(append(append(in[:0], '"'), text[:n]...), '"')
		var err error
		if out, err = jsontext.AppendUnquote(out[:0], in); err != nil {
			return append(b, out...), err
		}
		b, text = append(b, out...), text[n:]
	}
	return b, nil
}

// unquotedSize is how many bytes the text of a JSON string has, at most.
func unquotedSize(quoted []byte) int {
	size := len(quoted) - len(`""`)
	for i := 0; i < len(quoted); {
		n := bytes.IndexByte(quoted[i:], '\\')
		if n < 0 {
			break
		}
		if i += n + len(`\n`); i <= len(quoted) && quoted[i-1] == 'u' {
			size -= len(`\u1234`) - utf8.UTFMax + 1
		} else {
			size--
		}
	}
	return size
}

// Plain reports whether b is ASCII of which a JSON string escapes nothing.
func Plain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// AppendInt appends a number.
func AppendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

// AppendKey begins a member of the object that b ends in. key needs no escapes.
func AppendKey(b []byte, key string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(append(append(b, '"'), key...), `":`...)
}

// AppendOthers appends the members of an object but those that are left out, as they
// came, to the object that b ends in.
func AppendOthers(b, object []byte, leftOut ...string) []byte {
	Members(object, 0, func(key []byte, v Span) bool {
		if !slices.Contains(leftOut, string(key)) {
			b = append(AppendKey(b, string(key)), v.Of(object)...)
		}
		return true
	})
	return b
}

// IsObject reports whether b is a JSON object from end to end, judged by its quotes and
// brackets: an answer that was cut, a page of HTML or several values are none. What stands
// between the brackets is the reader's to judge; looking at all of it would be the dearest
// part of a request.
func IsObject(b []byte) bool {
	object, ok := Value(b, 0)
	return ok && b[object.Start] == '{' && Blank(b[object.End:])
}
