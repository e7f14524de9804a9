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

// Meets reports whether there is a text that both patterns stand for. It takes the product of their lengths in time.
func (g Glob) Meets(other Glob) bool {
	a, b := g.text, other.text
	row := make([]bool, len(b)+1) // whether a[i:] and b[j:] meet, for the i of the loop
	for i := len(a); i >= 0; i-- {
		below := false // row[j+1] as it was for i+1
		for j := len(b); j >= 0; j-- {
			was := row[j]
			starA, starB := i < len(a) && a[i:i+1] == Star, j < len(b) && b[j:j+1] == Star
			switch {
			case i == len(a) && j == len(b):
				row[j] = true
			case starA || starB: // the star ends here, or takes one sign of the other
				row[j] = i < len(a) && was || j < len(b) && row[j+1]
			default:
				row[j] = i < len(a) && j < len(b) && a[i] == b[j] && below
			}
			below = was
		}
	}
	return row[0]
}

// IsPattern reports whether a name stands for several.
func IsPattern(name string) bool { return strings.Contains(name, Star) }

// literal is how many bytes of the pattern stand for themselves.
func (g Glob) literal() int { return len(g.text) - (len(g.parts) - 1) }
