package mcp

import (
	"strings"
	"testing"
)

// TestStray holds that the first line which cannot be a message is kept, however the output is cut.
func TestStray(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                   "",
		"{\"a\": 1}\n{}\n":                   "",
		"[{\"a\": 1}]\n [ {}]\n\r\n":         "",
		"{\"a\": \"hello\"}\nhello you\nx\n": "hello you",
		"\n  starting …\n{}\n":               "starting …",
		"[info] {x}\n":                       "[info] {x}",
		"no end":                             "no end",
		strings.Repeat("x", 3*keptStray):     strings.Repeat("x", keptStray),
	} {
		for _, size := range []int{1, 3, 4096} {
			var s stray
			for rest := []byte(in); len(rest) > 0; {
				n := min(size, len(rest))
				s.see(rest[:n])
				rest = rest[n:]
			}
			if got := s.String(); got != want {
				t.Errorf("%q in pieces of %d: got %q, want %q", in, size, got, want)
			}
		}
	}
}
