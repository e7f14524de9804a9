// Package tokens estimates how many tokens a model makes of a text. Each family of models has
// a vocabulary of its own, so that no count but the upstream's is exact; this one needs none,
// and costs next to nothing.
package tokens

import (
	"bytes"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/wire"
)

// imageTokens is what an image costs, whose size nobody looks at: that of one of about a
// megapixel.
const imageTokens = 1200

// bytesPerPageToken is how many bytes of base64 of a PDF make a token: a page has some 50 KB
// and costs some 2000 tokens.
const bytesPerPageToken = 32

// JSON estimates the tokens of a value's strings, keys and numbers. What base64 stands for is
// not text, and counted by what it is.
func JSON(v []byte) int {
	if len(v) == 0 {
		return 0
	}
	switch v[0] {
	case '"':
		return text(v[1 : len(v)-1])
	case '{':
		if n, ok := media(v); ok {
			return n
		}
		n := 0
		wire.Members(v, 0, func(key []byte, at wire.Span) bool {
			switch string(key) {
			case "cache_control", "signature":
			case "type":
				if inner := at.Of(v); len(inner) < len(`"array"`)+4 && string(inner) != `"text"` { // of a schema
					n += 2
				}
			default:
				n += text(key) + 2 + JSON(at.Of(v))
			}
			return true
		})
		return n
	case '[':
		n := 0
		wire.Elements(v, 0, func(_ int, at wire.Span) bool {
			n += JSON(at.Of(v)) + 1
			return true
		})
		return n
	}
	return (len(v) + 2) / 3
}

// media estimates what the source of an image or a document costs.
func media(object []byte) (n int, ok bool) {
	whole := wire.Span{Start: 0, End: len(object)}
	source := wire.Find(object, whole, "source")
	if source.IsNull(object) || object[source.Start] != '{' {
		return 0, false
	}
	switch kind := wire.Find(object, whole, "type").Of(object); {
	case bytes.Equal(kind, []byte(`"image"`)):
		return imageTokens, true
	case bytes.Equal(kind, []byte(`"document"`)) && bytes.Equal(wire.Find(object, source, "type").Of(object), []byte(`"base64"`)):
		return len(wire.Find(object, source, "data").Of(object)) / bytesPerPageToken, true
	}
	return 0, false
}

// class is what kind of character a byte is, or begins.
type class uint8

const (
	letter  class = iota
	digit         // three of them are a token
	mark          // some in a row are one
	space         // belongs to the word behind it
	newline       // with the space behind it
	foreign       // begins a letter of another alphabet, of two bytes
	wide          // begins a character of more bytes
	inside        // goes on with a character
	classes
)

var (
	// first is how many tokens a run of a class begins with, and more how many of it make one more.
	first = [classes]int{letter: 1, digit: 1, mark: 1, space: 0, newline: 1, foreign: 1, wide: 1, inside: 0}
	more  = [classes]int{letter: 8, digit: 3, mark: 3, space: 16, newline: 8, foreign: 3, wide: 1, inside: 1 << 30}
)

// classOf is the class of each byte.
var classOf = func() (table [256]class) {
	for c := range table {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			table[c] = letter
		case c >= '0' && c <= '9':
			table[c] = digit
		case c == ' ':
			table[c] = space
		case c < utf8.RuneSelf:
			table[c] = mark
		case c < 0xc0:
			table[c] = inside
		case c < 0xe0:
			table[c] = foreign
		default:
			table[c] = wide
		}
	}
	return table
}()

// text estimates the tokens of the inner text of a JSON string. It goes by what tokenizers of
// all families have in common: a word of some letters is one token, and so are three digits, a
// few marks in a row, a line end with the space behind it.
func text(s []byte) int {
	n, run, last := 0, 0, classes
	for i := 0; i < len(s); i++ {
		k := classOf[s[i]]
		if s[i] == '\\' && i+1 < len(s) {
			i++
			switch s[i] {
			case 'n', 't', 'r':
				k = newline
			case 'u':
				k, i = wide, i+4
			}
		}
		if k == inside {
			continue
		}
		if k != last {
			n, run, last = n+first[k], 0, k
		} else if run++; run == more[k] {
			n, run = n+1, 0
		}
	}
	return n
}
