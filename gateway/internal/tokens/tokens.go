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

// text estimates the tokens of the inner text of a JSON string. It goes by what tokenizers of
// all families have in common: a word of some letters is one token, and so are three digits, a
// few marks in a row, a line end with the space behind it.
func text(s []byte) int {
	n, letters, digits, marks, spaces := 0, 0, 0, 0, 0
	end := func() {
		if letters > 0 {
			n += 1 + (letters-1)/7
		}
		n += (digits+2)/3 + (marks+1)/2
		letters, digits, marks = 0, 0, 0
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			i++
			switch s[i] {
			case 'n', 't', 'r':
				if spaces == 0 {
					end()
					n++
				}
				spaces++
				continue
			case 'u':
				i = min(i+4, len(s)-1)
				end()
				n++
				spaces = 0
				continue
			}
			c = s[i]
		}
		switch {
		case c == ' ':
			if letters > 0 || digits > 0 || marks > 0 {
				end()
			} else if spaces++; spaces%16 == 2 {
				n++
			}
			continue
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			if digits > 0 || marks > 0 {
				end()
			}
			letters++
		case c >= '0' && c <= '9':
			if letters > 0 || marks > 0 {
				end()
			}
			digits++
		case c < utf8.RuneSelf:
			if letters > 0 || digits > 0 {
				end()
			}
			marks++
		default:
			end()
			r, size := utf8.DecodeRune(s[i:])
			i += size - 1
			n += wide(r, &letters)
		}
		spaces = 0
	}
	end()
	return n
}

// wide is what a character beyond ASCII costs. Letters of alphabets make words too, shorter
// ones.
func wide(r rune, letters *int) int {
	if r < 0x2000 { // accents, Greek, Cyrillic, Arabic, Thai and the like
		*letters = 3
		return 0
	}
	return 1
}
