package route

import "strings"

// Star stands in a pattern for any bytes, none and "/" among them.
const Star = "*"

// Glob is a pattern for names and values. Case counts.
type Glob struct {
	text  string
	parts []string // between the stars; one is a text without any
}

// NewGlob reads a pattern. Every text is one.
func NewGlob(text string) Glob { return Glob{text, strings.Split(text, Star)} }

// String is the pattern as it was written.
func (g Glob) String() string { return g.text }

// Match reports whether s is as the pattern says. It takes each part where it comes first,
// so the time is that of searching s once for each.
func (g Glob) Match(s string) bool {
	last := len(g.parts) - 1
	if last <= 0 {
		return s == g.text
	}
	s, ok := strings.CutPrefix(s, g.parts[0])
	if !ok {
		return false
	}
	for _, part := range g.parts[1:last] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, g.parts[last])
}

// IsPattern reports whether a name stands for several.
func IsPattern(name string) bool { return strings.Contains(name, Star) }

// literal is how many bytes of the pattern stand for themselves.
func (g Glob) literal() int { return len(g.text) - (len(g.parts) - 1) }
