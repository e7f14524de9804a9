package conversation

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/wire"
)

// MaxDepth is how deep JSON in a request may nest.
const MaxDepth = 128

// IsStrictObject reports whether a text is a JSON object that no two parsers read differently,
// and that nests no deeper than a request may.
func IsStrictObject(text []byte) bool {
	if text = bytes.TrimLeft(text, " \t\r\n"); len(text) == 0 || text[0] != '{' {
		return false
	}
	_, at := wire.Depth(text, MaxDepth)
	return at < 0 && jsontext.Value(text).IsValid()
}

// Arguments that are larger or nest deeper are compared as text. To sort the members
// of an object takes some forty times its memory, and a copy for each level.
const (
	maxArguments = 64 << 10
	maxCompared  = 32
)

// Canonical appends the arguments of a call as they are compared: without regard to the order
// of keys, white space and ways to write a text or a fraction. Integers keep their
// digits, since ids may have more than a float64 holds. None are an empty object,
// as repairs of calls have it. What is no JSON is compared as text.
func Canonical(dst, arguments []byte) []byte {
	dst = append(dst, arguments...)
	trimmed := bytes.TrimSpace(dst)
	if len(trimmed) == 0 || string(trimmed) == "null" {
		return append(dst[:0], "{}"...)
	}
	if len(trimmed) > maxArguments {
		return trimmed
	}
	if _, deep := wire.Depth(trimmed, maxCompared); deep >= 0 {
		return trimmed
	}
	value := jsontext.Value(trimmed)
	if value.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		return trimmed
	}
	return value
}

// Members calls f for the members of the object at a span, with their keys decoded,
// until f returns false. Anything but an object has none.
func Members(text []byte, at wire.Span, f func(key []byte, v wire.Span) bool) {
	if !IsObject(text, at) {
		return
	}
	wire.Members(text[:at.End], at.Start, func(key []byte, v wire.Span) bool { return f(wire.Key(key), v) })
}

// Member returns the place of an object's member, or an empty span.
func Member(text []byte, object wire.Span, name string) (found wire.Span) {
	Members(text, object, func(key []byte, v wire.Span) bool {
		if string(key) == name {
			found = v
			return false
		}
		return true
	})
	return found
}

// IsObject reports whether there is an object at a span.
func IsObject(text []byte, at wire.Span) bool { return !at.Empty() && text[at.Start] == '{' }

// Decode returns the text of a string, or nil for null and for an empty span. ok is
// false for any other value. What it returns is a part of text where that has no
// escapes.
func Decode(text []byte, at wire.Span) (s []byte, ok bool) {
	if at.IsNull(text) {
		return nil, true
	}
	raw := at.Of(text)
	if raw[0] != '"' {
		return nil, false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], true
	}
	s, err := wire.AppendUnquoted(nil, raw)
	return s, err == nil
}
