package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// ReadKnown reads a list of cases that fail on a target: one name a line, and what
// follows a # is a comment.
func ReadKnown(text string) []string {
	var known []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			known = append(known, line)
		}
	}
	return known
}

// checkKnown refuses a list with a name that no case has: it would hide nothing now, and
// something else later.
func checkKnown(known []string, cases []Case) error {
	for _, name := range known {
		if !slices.ContainsFunc(cases, func(c Case) bool { return c.Name == name }) {
			return fmt.Errorf("the list of known failures has %q, but there is no such case", name)
		}
	}
	return nil
}
