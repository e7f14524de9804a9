package template

import (
	"errors"
	"regexp/syntax"
	"strings"
)

// The functions of this file find their way in the source of an expression.

// classEnd is the place behind the class whose bracket is at i, or -1.
func classEnd(s string, i int) int {
	i++
	if i < len(s) && s[i] == '^' {
		i++
	}
	for from := i; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == ']' && i > from:
			return i + 1
		}
	}
	return -1
}

// next is the place behind the character, escape or class at i.
func next(s string, i int) int {
	switch s[i] {
	case '\\':
		return min(i+2, len(s))
	case '[':
		if end := classEnd(s, i); end > 0 {
			return end
		}
		return len(s)
	}
	return i + 1
}

// branchEnd is the place of the parenthesis that ends the group in which i is, or
// the end of s.
func branchEnd(s string, i int) int {
	for depth := 0; i < len(s); i = next(s, i) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return len(s)
}

// groupEnd is the place behind the group that begins at i, or -1.
func groupEnd(s string, i int) int {
	if end := branchEnd(s, i+1); end < len(s) {
		return end + 1
	}
	return -1
}

// atEnd tells whether a match ends at i, whatever alternative is taken.
func atEnd(s string, i int) bool {
	for i < len(s) {
		switch s[i] {
		case '|':
			i = branchEnd(s, i+1)
		case ')':
			i++
			if i < len(s) && strings.IndexByte("*+?{", s[i]) >= 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// alternatives tells whether s has a | outside of groups.
func alternatives(s string) bool {
	for i := 0; i < len(s); i = next(s, i) {
		switch s[i] {
		case '(':
			end := groupEnd(s, i)
			if end < 0 {
				return false
			}
			i = end - 1
		case '|':
			return true
		}
	}
	return false
}

// readsLines tells whether s has the flag m, as in (?im) or (?m:…).
func readsLines(s string) bool {
	for {
		_, rest, ok := strings.Cut(s, "(?")
		if !ok {
			return false
		}
		n := 0
		for n < len(rest) && rest[n]|0x20 >= 'a' && rest[n]|0x20 <= 'z' {
			n++
		}
		if n < len(rest) && strings.IndexByte("):-", rest[n]) >= 0 && strings.IndexByte(rest[:n], 'm') >= 0 {
			return true
		}
		s = rest
	}
}

// maxBehind is how long the literal of a lookbehind may be.
const maxBehind = 64

// leadingLookbehind reads a lookbehind at the start of an expression, and says
// where the rest begins.
func leadingLookbehind(s string) (b lookbehind, from int, err error) {
	if !strings.HasPrefix(s, "(?<=") && !strings.HasPrefix(s, "(?<!") {
		return b, 0, nil
	}
	end := groupEnd(s, 0)
	if end < 0 {
		return b, 0, errors.New("close the lookbehind with )")
	}
	re, err := syntax.Parse(s[len("(?<="):end-1], syntax.Perl)
	if err != nil || re.Op != syntax.OpLiteral || re.Flags&syntax.FoldCase != 0 || len(string(re.Rune)) > maxBehind {
		return b, 0, errors.New("use a short literal in the lookbehind; it has no linear-time match otherwise")
	}
	if alternatives(s[end:]) {
		return b, 0, errors.New("put the alternatives behind the lookbehind in a group, (?:…)")
	}
	return lookbehind{string(re.Rune), s[3] == '!'}, end, nil
}

// checkGroup refuses the groups that have no linear-time match.
func checkGroup(s string) error {
	for _, g := range [...]struct{ open, why string }{
		{"(?<=", "move the lookbehind to the start, or put what precedes into the expression; a lookbehind elsewhere has no linear-time match"},
		{"(?<!", "move the lookbehind to the start, or put what precedes into the expression as a class such as [^<]"},
		{"(?>", "write (?:…) for the atomic group; matching takes linear time anyway"},
		{"(?P=", "write out what the group matches; a reference to it has no linear-time match"},
		{"(?P>", "write out what the group matches; a call of a group is not supported"},
		{"(?&", "write out what the group matches; a call of a group is not supported"},
		{"(?R", "leave out the recursion; the content parsers read what nests"},
		{"(?(", "use two alternatives; a condition on a group is not supported"},
		{"(?|", "give the groups names instead of the branch reset"},
		{"(?#", "leave out the comment"},
		{"(?x", "write the expression without white space and comments; the flag x is not supported"},
		{"(?P<" + ahead, "choose another name for the group"},
	} {
		if strings.HasPrefix(s, g.open) {
			return errors.New(g.why)
		}
	}
	return nil
}
