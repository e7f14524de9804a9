package wire

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendQuoted appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func AppendQuoted[T ~string | ~[]byte](b []byte, s T) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// Unquote is the text of a JSON string, or "" if raw is none.
func Unquote(raw []byte) string {
	if n := len(raw); n >= 2 && raw[0] == '"' && raw[n-1] == '"' && isPlain(raw[1:n-1]) { // most are
		return string(raw[1 : n-1])
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return ""
	}
	return string(b)
}

// isPlain reports whether b is ASCII of which a JSON string escapes nothing.
func isPlain(b []byte) bool {
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
