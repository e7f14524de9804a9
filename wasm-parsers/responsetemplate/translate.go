package responsetemplate

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// translate rewrites what Python's regex module writes otherwise than Go, and
// refuses what cannot be matched in linear time.
func translate(source string) (string, error) {
	var b strings.Builder
	class := 0 // where the open character class began, plus 1
	for i := 0; i < len(source); {
		rest := source[i:]
		n := 1
		switch {
		case rest[0] == '\\':
			text, size, err := escape(rest, class > 0)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
			i += size
			continue
		case class > 0:
			if rest[0] == ']' && i > class && (i > class+1 || source[class] != '^') {
				class = 0
			} else if n = posixClass(rest); n == 0 {
				n = 1
			}
		case rest[0] == '[':
			class = i + 1
		case strings.HasPrefix(rest, "(?"):
			if err := checkGroup(rest); err != nil {
				return "", err
			}
		case strings.HasPrefix(rest, "{,"):
			b.WriteString("{0")
			i++
			continue
		}
		b.WriteString(rest[:n])
		i += n
	}
	return b.String(), nil
}

// posixClass is the length of [:name:] at the start of s, 0 if there is none.
func posixClass(s string) int {
	if !strings.HasPrefix(s, "[:") {
		return 0
	}
	if end := strings.Index(s, ":]"); end > 0 {
		return end + 2
	}
	return 0
}

// escape translates what begins with a backslash.
func escape(s string, class bool) (text string, size int, err error) {
	if len(s) < 2 {
		return s, len(s), nil
	}
	switch c := s[1]; {
	case c >= utf8.RuneSelf:
		_, n := utf8.DecodeRuneInString(s[1:])
		return s[1 : 1+n], 1 + n, nil
	case c == 'u' && len(s) >= 6:
		return `\x{` + s[2:6] + `}`, 6, nil
	case c >= '1' && c <= '9', c == 'g' && !class:
		return "", 0, errors.New("a reference to a group, " + quote(s[:2]) + ", is not supported: write out what it repeats")
	case c == 'K' || c == 'G':
		return "", 0, errors.New(quote(s[:2]) + " is not supported: use a named group for the part that counts")
	}
	return renamed(s[:2], class), 2, nil
}

// renamed is Go's name of an escape that has another one there.
func renamed(escape string, class bool) string {
	switch {
	case escape == `\h` && class:
		return `\t `
	case escape == `\h`:
		return `[\t ]`
	case escape == `\b` && class:
		return `\x08`
	case escape == `\Z` && !class:
		return `\z`
	}
	return escape
}

// checkGroup refuses the groups that have no linear-time match.
func checkGroup(s string) error {
	for _, g := range [...]struct{ open, why string }{
		{"(?=", "a lookahead is not supported: put what follows into the pattern, or leave it out"},
		{"(?!", "a negative lookahead is not supported: use a character class such as [^<], or a longer literal"},
		{"(?<=", "a lookbehind is not supported: put what precedes into the pattern"},
		{"(?<!", "a negative lookbehind is not supported: put what precedes into the pattern as a character class"},
		{"(?>", "an atomic group is not supported: use (?:...), matching takes linear time anyway"},
		{"(?P=", "a reference to a group is not supported: write out what it repeats"},
		{"(?P>", "a call of a group is not supported: write the group out"},
		{"(?&", "a call of a group is not supported: write the group out"},
		{"(?R", "recursion is not supported: match the marker only, the content is read by its own parser"},
		{"(?(", "a conditional group is not supported: use two alternatives"},
		{"(?|", "a branch reset is not supported: give the groups different names"},
		{"(?#", "a comment is not supported: leave it out"},
	} {
		if strings.HasPrefix(s, g.open) {
			return errors.New(g.why)
		}
	}
	return nil
}

// nonEmpty refuses a pattern that matches where there is nothing.
func (p *pattern) nonEmpty(opens bool) error {
	flag := allButEnd
	if opens {
		flag = allAsserted
	}
	if p.matchesNothing(flag) {
		return errors.New("it matches the empty text: make a part of it required")
	}
	return nil
}
