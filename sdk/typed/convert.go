// Package typed turns the text of a value into JSON of a type that the tool's
// schema allows. Formats of tags and keys write no types, so a parser of one needs
// it for every value; the gateway uses it for strings where none is allowed.
//
// The rule, for all formats: where the schema allows only a string the text is the
// string. Otherwise the other types are tried, and the whole text must be one of
// them. What fits none is a string if the schema allows one or the text is no JSON,
// and is left as it was written if it is. Digits are copied, never computed.
package typed

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// structure are the types whose text is more than a word.
const structure = abi.Object | abi.Array

// Convert gives raw as JSON of one of the types. repaired says that raw was nearly
// JSON and had to be made strict: a Python literal, a trailing comma.
func Convert(raw []byte, types sdk.Types, maxDepth int) (json []byte, repaired bool) {
	if types == abi.String {
		return relaxed.AppendString(nil, raw), false
	}
	text := chars.TrimSpace(raw)
	if word := truth(text, types); word != "" {
		return []byte(word), false
	}
	number := unpadded(text, types)
	strict, kind, ok := relaxed.Value(number, maxDepth)
	if !ok {
		if len(text) == 0 && types&abi.String == 0 {
			if empty := empty(types); empty != "" {
				return []byte(empty), false
			}
		}
		return relaxed.AppendString(nil, raw), false
	}
	if types != 0 {
		fitted, fits := fit(strict, kind, types)
		switch {
		case fits:
			strict = fitted
		case types&abi.String != 0:
			return relaxed.AppendString(nil, raw), false
		}
	}
	structured := len(number) < len(text) || kind == relaxed.ObjectOpen || kind == relaxed.ArrayOpen || kind == relaxed.String
	return strict, structured && !bytes.Equal(strict, text)
}

// String gives a JSON string as a value of one of the types, which do not hold
// String. ok is false if what the string says is not exactly such a value.
func String(quoted []byte, types sdk.Types, maxDepth int) (json []byte, ok bool) {
	raw, ok := relaxed.Unquote(quoted)
	if !ok || types == 0 || types&abi.String != 0 {
		return nil, false
	}
	text := chars.TrimSpace(raw)
	if word := truth(text, types); word != "" {
		return []byte(word), true
	}
	strict, kind, ok := relaxed.Value(unpadded(text, types), maxDepth)
	if !ok {
		return nil, false
	}
	return fit(strict, kind, types)
}

// truth is true or false if text says so, in any case, where the schema has it; else "".
func truth(text []byte, types sdk.Types) string {
	for _, word := range [...]string{"true", "false"} {
		if types&abi.Boolean != 0 && equalFold(text, word) {
			return word
		}
	}
	return ""
}

// unpadded is text without the zeros in front of a whole number, 9 for 09, where the schema has
// numbers and no strings: elsewhere they mean something.
func unpadded(text []byte, types sdk.Types) []byte {
	if types&(abi.Integer|abi.Number) == 0 || types&abi.String != 0 || len(text) < 2 || text[0] != '0' {
		return text
	}
	for _, c := range text {
		if !chars.IsDigit(c) {
			return text
		}
	}
	for len(text) > 1 && text[0] == '0' {
		text = text[1:]
	}
	return text
}

// empty is what no text at all says for a value that cannot be a string.
func empty(types sdk.Types) string {
	switch {
	case types&abi.Null != 0:
		return "null"
	case types&structure == abi.Object:
		return "{}"
	case types&structure == abi.Array:
		return "[]"
	}
	return ""
}

// equalFold compares with a word in lower case; package bytes would bring Unicode's
// tables with it.
func equalFold(text []byte, word string) bool {
	if len(text) != len(word) {
		return false
	}
	for i, c := range text {
		if c|0x20 != word[i] {
			return false
		}
	}
	return true
}

// fit gives the value in a type that is allowed, if there is one besides string:
// text that looks like a JSON string is text.
func fit(strict []byte, kind relaxed.Token, types sdk.Types) ([]byte, bool) {
	switch kind {
	case relaxed.Null:
		return strict, types&abi.Null != 0
	case relaxed.Bool:
		return strict, types&abi.Boolean != 0
	case relaxed.ObjectOpen:
		return strict, types&abi.Object != 0
	case relaxed.ArrayOpen:
		return strict, types&abi.Array != 0
	case relaxed.Number:
		if types&abi.Number != 0 {
			return strict, true
		}
		if types&abi.Integer != 0 {
			return integer(strict)
		}
		return nil, false
	default:
		return nil, false
	}
}

// integer gives a number as an integer: 5 for 5.0. Digits are never changed.
func integer(number []byte) ([]byte, bool) {
	whole, fraction, _ := bytes.Cut(number, []byte{'.'})
	fraction = bytes.Trim(fraction, "0")
	return whole, len(fraction) == 0 && !bytes.ContainsAny(whole, "eE")
}
