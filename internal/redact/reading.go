package redact

import (
	"html"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// reading is a text, or what its escapes stand for.
type reading struct {
	text   string
	places []span // of each byte in the first text; nil if nobody wants them
}

// The bounds on how often a text is read: how many escapes may be around each other, and how
// many bytes are read beside eight times the text.
const (
	maxDepth = 4
	spare    = 256 << 10
)

// kind is a kind of escapes: the byte that begins one, and what reads the one that begins a
// text. That gives its length, 0 if there is none, and what it stands for.
type kind struct {
	mark   byte
	escape func(text string) (length int, by string)
}

var kinds = [...]kind{{'\\', jsonEscape}, {'%', percentEscape}, {'&', htmlEscape}}

// readings calls see with a text and with what its escapes stand for, taken as those of each kind,
// and so on with each of these, until see returns false.
func readings(first reading, see func(reading) bool) {
	if !see(first) {
		return
	}
	work := 8*len(first.text) + spare
	level := []reading{first}
	for range maxDepth {
		var next []reading
		for _, r := range level {
			for _, k := range kinds {
				if work <= 0 || strings.IndexByte(r.text, k.mark) < 0 {
					continue
				}
				work -= len(r.text)
				read, changed := r.without(k)
				if !changed {
					continue
				}
				if !see(read) {
					return
				}
				next = append(next, read)
			}
		}
		level = next
	}
}

// placed is a part of a text, with its places in it.
func placed(text string, from, to int) reading {
	places := make([]span, to-from)
	for i := range places {
		places[i] = span{int32(from + i), int32(from + i + 1)} // texts are bounded, far below
	}
	return reading{text[from:to], places}
}

// without replaces the escapes of a kind by what they stand for.
func (r reading) without(k kind) (read reading, changed bool) {
	var b strings.Builder
	copied := 0
	copyTo := func(i int) {
		b.WriteString(r.text[copied:i])
		if r.places != nil {
			read.places = append(read.places, r.places[copied:i]...)
		}
	}
	for i := 0; ; {
		n := strings.IndexByte(r.text[i:], k.mark)
		if n < 0 {
			break
		}
		i += n
		length, by := k.escape(r.text[i:])
		if length == 0 {
			i++
			continue
		}
		if !changed {
			b.Grow(len(r.text))
			if r.places != nil {
				read.places = make([]span, 0, len(r.text))
			}
		}
		copyTo(i)
		b.WriteString(by)
		if r.places != nil {
			for range len(by) {
				read.places = append(read.places, span{r.places[i].from, r.places[i+length-1].to})
			}
		}
		i += length
		copied, changed = i, true
	}
	if !changed {
		return reading{}, false
	}
	copyTo(len(r.text))
	read.text = b.String()
	return read, true
}

// jsonEscape reads one of JSON's escapes (RFC 8259, 7), or \x and two digits, as Python and C write
// bytes. Half a character becomes the one that stands for what cannot be read.
func jsonEscape(s string) (length int, by string) {
	if len(s) < 2 {
		return 0, ""
	}
	if i := strings.IndexByte(`"\/bfnrt`, s[1]); i >= 0 {
		return 2, "\"\\/\b\f\n\r\t"[i : i+1]
	}
	if s[1] == 'x' && len(s) >= 4 {
		return byteEscape(4, s[2:4])
	}
	v, ok := unicodeEscape(s)
	if !ok {
		return 0, ""
	}
	if utf16.IsSurrogate(v) {
		low, _ := unicodeEscape(s[6:])
		if pair := utf16.DecodeRune(v, low); pair != utf8.RuneError {
			return 12, string(pair)
		}
	}
	return 6, string(v)
}

func unicodeEscape(s string) (v rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	return number(s[2:6])
}

// percentEscape reads one of an address's (RFC 3986, 2.1).
func percentEscape(s string) (length int, by string) {
	if len(s) < 3 {
		return 0, ""
	}
	return byteEscape(3, s[1:3])
}

// maxReference is how long one of HTML's is read, with all that belongs to it.
const maxReference = 12

// htmlEscape reads one of HTML's character references.
func htmlEscape(s string) (length int, by string) {
	for length = 1; length < min(len(s), maxReference) && (s[length] == '#' || isBase64(s[length])); {
		length++
	}
	if length == 1 {
		return 0, ""
	}
	if length < len(s) && s[length] == ';' {
		length++
	}
	if by = html.UnescapeString(s[:length]); by == s[:length] {
		return 0, ""
	}
	return length, by
}

// byteEscape is the byte of two digits.
func byteEscape(length int, digits string) (int, string) {
	v, ok := number(digits)
	if !ok {
		return 0, ""
	}
	return length, string([]byte{byte(v)})
}

// number is the number that digits are.
func number(digits string) (v rune, ok bool) {
	for i := range len(digits) {
		switch c := digits[i]; {
		case '0' <= c && c <= '9':
			v = v<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			v = v<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}
