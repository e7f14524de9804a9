// Package redact finds secrets in texts that somebody else wrote, and takes them out. It
// knows a secret as it is and in the forms in which servers quote it:
//
//   - with JSON's escapes, of which any characters may be written so;
//   - with percent signs, of which the same is true, in either case, and with + for a space;
//   - in base64, of either alphabet, alone or within something longer, such as the value of
//     "Basic". The lines of MIME are not joined.
//
// The first two may be around each other and around the third, four deep: JSON often holds
// JSON as a string. A secret in another form, such as hexadecimal, or in pieces, is not found:
// whoever wants to tell a secret that he knows always can.
package redact

import (
	"encoding/base64"
	"slices"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// minEncoded is the length in bytes from which secrets are looked for in base64: what a
// shorter one looks like there, with what depends on its neighbours left out, may be a word.
const minEncoded = 8

// Secrets are what must not be seen. The zero value has none. It is safe for concurrent use.
type Secrets struct{ needles []needle }

// needle is a form of a secret.
type needle struct {
	text   string
	base64 bool // the characters beside it hold some bits of the secret
}

// New returns the secrets of a list. Empty ones are left out.
func New(list []string) (s Secrets) {
	for _, secret := range list {
		if secret == "" {
			continue
		}
		s.needles = append(s.needles, needle{text: secret})
		if strings.Contains(secret, " ") {
			s.needles = append(s.needles, needle{text: strings.ReplaceAll(secret, " ", "+")})
		}
		s.needles = append(s.needles, encoded(secret)...)
	}
	return s
}

// encoded are the parts of a secret's base64 that do not depend on what stands beside it.
func encoded(secret string) (forms []needle) {
	if len(secret) < minEncoded {
		return nil
	}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := alphabet.EncodeToString(append(make([]byte, before), secret...))
			from := (before*8 + 5) / 6
			to := (before + len(secret)) * 8 / 6
			form := needle{text[from:to], true}
			if !slices.Contains(forms, form) {
				forms = append(forms, form)
			}
		}
	}
	return forms
}

// In reports whether a text holds a secret. For a text without a backslash or a percent sign
// it takes a search for each form of each secret; for others it reads the text a few times.
func (s Secrets) In(text string) (found bool) {
	if len(s.needles) == 0 {
		return false
	}
	readings(reading{text: text}, func(r reading) bool {
		found = slices.ContainsFunc(s.needles, func(n needle) bool { return strings.Contains(r.text, n.text) })
		return !found
	})
	return found
}

// Out returns a text with a mark in place of every secret. What is left of a JSON text stays
// one, as long as no secret holds a quotation mark.
func (s Secrets) Out(text string) string {
	if !s.In(text) {
		return text
	}
	var found []span
	readings(reading{text: text, places: placesOf(text)}, func(r reading) bool {
		found = s.search(found, r)
		return true
	})
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
			i := strings.Index(r.text[at:], n.text)
			if i < 0 {
				break
			}
			from, to := at+i, at+i+len(n.text)
			at = to
			if n.base64 {
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
