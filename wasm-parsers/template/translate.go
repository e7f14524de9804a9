package template

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// ahead begins the names of the groups that mark where a lookahead begins, and so
// where the match ends.
const ahead = "callgate_ahead"

// translator rewrites an expression of Python's regex module in Go's syntax.
//
// A lookahead at the end of an expression is matched like anything else, and the
// match ends in front of it. A lookbehind at the start that is a literal is checked
// where a match may begin. Nothing else that looks around can be matched in one go.
type translator struct {
	source  string
	b       strings.Builder
	class   int // where the open character class began, plus 1
	aheads  int
	classes int  // classes that have tables of Unicode
	lines   bool // a flag may make $ the end of a line
}

// lookbehind is what must, or must not, stand before a match.
type lookbehind struct {
	text    string
	negated bool
}

func (t *translator) translate() (lookbehind, error) {
	behind, from, err := leadingLookbehind(t.source)
	t.lines = readsLines(t.source)
	if err == nil {
		err = t.run(from, len(t.source), false)
	}
	return behind, err
}

// run translates a part of the source.
func (t *translator) run(i, end int, inside bool) error {
	for i < end {
		n, err := t.step(i, inside)
		if err != nil {
			return err
		}
		i += n
	}
	return nil
}

func (t *translator) step(i int, inside bool) (int, error) {
	rest := t.source[i:]
	switch {
	case rest[0] == '\\':
		return t.escape(rest)
	case t.class > 0:
		t.closeClass(i)
	case rest[0] == '[':
		t.class = i + 1
	case strings.HasPrefix(rest, "(?=") || strings.HasPrefix(rest, "(?!"):
		return t.lookahead(i, inside)
	case strings.HasPrefix(rest, "(?"):
		if err := checkGroup(rest); err != nil {
			return 0, err
		}
	case rest[0] == '$' && !t.lines && atEnd(t.source, i+1):
		t.dollar(inside)
		return 1, nil
	case len(rest) > 2 && rest[:2] == "{," && chars.IsDigit(rest[2]):
		t.b.WriteString("{0,")
		return 2, nil
	}
	t.b.WriteByte(t.source[i])
	return 1, nil
}

// closeClass ends the character class if a bracket at i does so. Right behind the
// opening one it is a character.
func (t *translator) closeClass(i int) {
	negated := t.class < len(t.source) && t.source[t.class] == '^'
	if t.source[i] == ']' && i > t.class && (!negated || i > t.class+1) {
		t.class = 0
	}
}

// dollar translates Python's $, which is also in front of a newline at the end.
func (t *translator) dollar(inside bool) {
	if !inside {
		t.aheads++
		t.b.WriteString("(?P<" + ahead + strconv.Itoa(t.aheads) + ">)")
	}
	t.b.WriteString(`(?:\n?\z)`)
}

// escape translates what begins with a backslash, and says how long it is.
func (t *translator) escape(s string) (int, error) {
	if len(s) < 2 {
		return 0, errors.New("remove the backslash at the end, or write two")
	}
	c := s[1]
	if class, ok := unicodeClasses[c]; ok && (t.class == 0 || c >= 'a') {
		t.unicodeClass(class, c < 'a')
		return 2, nil
	}
	switch {
	case c >= utf8.RuneSelf:
		n := runeLen(s[1:])
		t.b.WriteString(s[1 : 1+n])
		return 1 + n, nil
	case c == 'u' && len(s) >= 6:
		t.b.WriteString(`\x{` + s[2:6] + `}`)
		return 6, nil
	case c == 'U' && len(s) >= 10:
		t.b.WriteString(`\x{` + s[2:10] + `}`)
		return 10, nil
	case c == 'g' || c >= '1' && c <= '9':
		return 0, errors.New("write out what the group matches; a reference to a group, " + relaxed.Quote(s[:2]) + ", has no linear-time match")
	case c == 'p' || c == 'P':
		t.classes++
	}
	t.b.WriteString(renamed(s[:2], t.class > 0))
	return 2, nil
}

// unicodeClass writes a class of Python, which is Unicode's. Inside brackets the
// negated ones stay ASCII's, which only differ in what else the brackets hold.
func (t *translator) unicodeClass(class string, negated bool) {
	t.classes++
	switch {
	case t.class > 0:
		t.b.WriteString(class)
	case negated:
		t.b.WriteString("[^" + class + "]")
	default:
		t.b.WriteString("[" + class + "]")
	}
}

// renamed is Go's name of an escape that has another one there.
func renamed(escape string, class bool) string {
	switch {
	case escape == `\0`:
		return `\x00`
	case escape == `\b` && class:
		return `\x08`
	case escape == `\Z` && !class:
		return `\z`
	}
	return escape
}

// unicodeClasses are Python's classes as the inside of brackets, and what their
// negations leave out. The underscore comes first, for it may not begin a range.
var unicodeClasses = map[byte]string{
	'w': `_\p{L}\p{M}\p{N}`, 'W': `_\p{L}\p{M}\p{N}`,
	'd': `\p{Nd}`, 'D': `\p{Nd}`,
	's': `\x09-\x0d\x1c-\x20\x{85}\x{a0}\p{Z}`, 'S': `\x09-\x0d\x1c-\x20\x{85}\x{a0}\p{Z}`,
}

// lookahead translates the lookahead at i, and says how long it is.
func (t *translator) lookahead(i int, inside bool) (int, error) {
	if inside {
		return 0, errors.New("write the lookahead without another one in it")
	}
	end := groupEnd(t.source, i)
	if end < 0 {
		return 0, errors.New("close the lookahead with )")
	}
	if !atEnd(t.source, end) {
		return 0, errors.New("move the lookahead to the end, or use a class such as [^<] or the shortest match .*?; a lookahead elsewhere has no linear-time match")
	}
	t.aheads++
	t.b.WriteString("(?P<" + ahead + strconv.Itoa(t.aheads) + ">)(?:")
	from := i + len("(?=")
	if t.source[i+2] == '=' {
		if err := t.run(from, end-1, true); err != nil {
			return 0, err
		}
	} else if err := t.notNext(from, end-1); err != nil {
		return 0, err
	}
	t.b.WriteByte(')')
	return end - i, nil
}

// notNext translates the inside of a negative lookahead, which is one character:
// another one follows, or nothing.
func (t *translator) notNext(from, end int) error {
	body, ok := oneCharacter(t.source[from:end])
	if !ok {
		return errors.New("use a single character or a class such as [a-z] in the negative lookahead, or write what may follow")
	}
	sub := translator{source: body, class: 1}
	if err := sub.run(0, len(body), true); err != nil {
		return err
	}
	t.classes += sub.classes
	t.b.WriteString("[^" + sub.b.String() + `]|\z`)
	return nil
}

// oneCharacter gives an expression that matches one character as the inside of
// brackets.
func oneCharacter(s string) (body string, ok bool) {
	switch {
	case s == "":
		return "", false
	case s[0] == '[':
		return s[1:max(1, len(s)-1)], classEnd(s, 0) == len(s) && s[1] != '^'
	case s[0] == '\\':
		return s, len(s) > 1 && len(s) == 1+runeLen(s[1:]) && strings.IndexByte("AzZbBGK", s[1]) < 0
	}
	return s, len(s) == runeLen(s) && strings.IndexByte("(.^$|)", s[0]) < 0
}

func runeLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}
