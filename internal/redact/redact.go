// Package redact finds secrets in texts that somebody else wrote, and takes them out. It
// knows a secret as it is and in the forms in which servers quote it:
//
//   - with JSON's escapes, of which any characters may be written so, and with \x and two digits;
//   - with percent signs, of which the same is true, in either case, and with + for a space;
//   - with HTML's character references, by number or name;
//   - in base64, of either alphabet, alone or within something longer, such as the value of
//     "Basic". The lines of MIME are not joined;
//   - in hexadecimal digits of either case, alone or within something longer, with nothing between.
//
// The first three may be around each other and around the last two, four deep: JSON often holds
// JSON as a string. A secret in another form, such as quoted-printable, or in pieces, is not found:
// whoever wants to tell a secret that he knows always can.
//
// What is shorter than [Shortest] is no secret, and stays: "x" and "-" are what people write for a server that wants
// a key and checks none. Marks in the place of each x of a text make it unreadable, and hide nothing: what is left of
// the words says which letter is missing, and whoever wants to find so short a key tries them all. It is not refused
// either, since such servers are many; who takes a secret from an operator says that it is too short to be one. From
// Shortest on a leak is worse than a text that is hard to read, so "none" is taken out of every sentence.
package redact

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// minEncoded is the length in bytes from which secrets are looked for in base64 and hexadecimal:
// what a shorter one looks like there, with what depends on its neighbours left out, may be a word.
const minEncoded = 8

// Shortest is the length in bytes of the shortest text that is taken for a secret.
const Shortest = 4

// Secrets are what must not be seen. The zero value has none. It is safe for concurrent use.
type Secrets struct{ needles []needle }

// needle is a form of a secret.
type needle struct {
	text string
	// key is the longest part of text that is written in one way alone, and at where it is. Only that
	// is searched for, once for all ways of writing the rest.
	key string
	at  int
	as  form
}

// form is how the bytes of a secret are written.
type form int

const (
	asIs     form = iota
	inBase64      // of either alphabet; the characters beside it hold some bits of the secret
	inHex         // of either case
)

// twofold are the characters of a form that may also be written as another one.
var twofold = [...]string{asIs: "", inBase64: "+/", inHex: "abcdef"}

// New returns the secrets of a list. Those that are too short to be any are left out.
func New(list []string) (s Secrets) {
	for _, secret := range list {
		if len(secret) < Shortest {
			continue
		}
		s.needles = append(s.needles, newNeedle(secret, asIs))
		if strings.Contains(secret, " ") {
			s.needles = append(s.needles, newNeedle(strings.ReplaceAll(secret, " ", "+"), asIs))
		}
		if len(secret) < minEncoded {
			continue
		}
		s.needles = append(s.needles, newNeedle(hex.EncodeToString([]byte(secret)), inHex))
		for before := range 3 { // the part of its base64 that does not depend on what stands beside it
			text := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), secret...))
			s.needles = append(s.needles, newNeedle(text[(before*8+5)/6:(before+len(secret))*8/6], inBase64))
		}
	}
	return s
}

func newNeedle(text string, as form) needle {
	n := needle{text: text, as: as}
	from := 0
	for i := range len(text) + 1 {
		if i < len(text) && strings.IndexByte(twofold[as], text[i]) < 0 {
			continue
		}
		if i-from > len(n.key) {
			n.key, n.at = text[from:i], from
		}
		from = i + 1
	}
	return n
}

// index is where the needle is first in a text, -1 if it is not there.
func (n needle) index(text string) int {
	for from, last := 0, len(text)-len(n.text); from <= last; from++ { // where it begins
		i := strings.Index(text[from+n.at:last+n.at+len(n.key)], n.key)
		if i < 0 {
			break
		}
		if from += i; n.begins(text[from:]) {
			return from
		}
	}
	return -1
}

// begins says whether a text, which has the key at its place, begins with the needle.
func (n needle) begins(text string) bool {
	if n.as == asIs {
		return true // the key is all of it
	}
	for i := range len(n.text) {
		c := text[i]
		switch {
		case n.as == inHex && 'A' <= c && c <= 'F':
			c |= 0x20
		case n.as == inBase64 && c == '-':
			c = '+'
		case n.as == inBase64 && c == '_':
			c = '/'
		}
		if c != n.text[i] {
			return false
		}
	}
	return true
}

// OutOfCut is a text that was cut, without the beginning of a secret at its end: the rest of it is what was cut
// off, so that Out does not find it. A form with escapes is not found.
func (s Secrets) OutOfCut(text string) string {
	from := len(text)
	for _, n := range s.needles {
		for size := min(len(n.text)-1, len(text)); size >= Shortest; size-- {
			if strings.HasSuffix(text, n.text[:size]) {
				from = min(from, len(text)-size)
				break
			}
		}
	}
	if from == len(text) {
		return text
	}
	return text[:from] + Mark
}

// In reports whether a text holds a secret. For a text without escapes it takes a search for each
// form of each secret; others are read a few times.
func (s Secrets) In(text string) (found bool) {
	if len(s.needles) == 0 {
		return false
	}
	readings(reading{text: text}, func(r reading) bool {
		found = slices.ContainsFunc(s.needles, func(n needle) bool { return n.index(r.text) >= 0 })
		return !found
	})
	return found
}

// What Out looks at at once: the places of what it reads take nine times its bytes. A secret is found that
// has as many bytes as overlap, with all its escapes.
const (
	window  = 64 << 10
	overlap = 8 << 10
)

// Out returns a text with a mark in place of every secret. What is left of a JSON text stays
// one, as long as no secret holds a quotation mark.
func (s Secrets) Out(text string) string {
	if !s.In(text) {
		return text
	}
	var found []span
	for from := 0; from < len(text); from += window {
		readings(placed(text, from, min(from+window+overlap, len(text))), func(r reading) bool {
			found = s.search(found, r)
			return true
		})
	}
	slices.SortFunc(found, func(a, b span) int { return int(a.from - b.from) })
	var b strings.Builder
	end := int32(0)
	for _, p := range found {
		if p.from >= end {
			b.WriteString(text[end:p.from])
			b.WriteString(Mark)
		}
		end = max(end, p.to)
	}
	b.WriteString(text[end:])
	return b.String()
}

// span is a part of a text.
type span struct{ from, to int32 }

// search adds where the secrets are.
func (s Secrets) search(found []span, r reading) []span {
	for _, n := range s.needles {
		for at := 0; ; {
			i := n.index(r.text[at:])
			if i < 0 {
				break
			}
			from, to := at+i, at+i+len(n.text)
			at = to
			if n.as == inBase64 {
				from, to = widened(r.text, from, to)
			}
			found = append(found, span{r.places[from].from, r.places[to-1].to})
		}
	}
	return found
}

// widened is a part of a text with the characters of base64 beside it, which hold some bits
// of the secret.
func widened(text string, from, to int) (int, int) {
	if from > 0 && isBase64(text[from-1]) {
		from--
	}
	if to < len(text) && isBase64(text[to]) {
		to++
	}
	return from, to
}

func isBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}
