package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuardConfig has "callgate check" read the configurations of testdata/guards/check.
// Behind the name of each is what is said of it: with NAME.txt all of its contradictions,
// each with its line and path; with NAME.lines, of one that is good, lines of what is
// printed, in their order.
func TestGuardConfig(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/guards/check/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got no configurations: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(path, ".yaml")
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			var stdout, stderr strings.Builder
			status := run(t.Context(), []string{"check", path}, readerOf(""), &stdout, &stderr)
			want, err := os.ReadFile(name + ".txt")
			if err == nil {
				equalBytes(t, "errors", strings.ReplaceAll(stderr.String(), path, "FILE"), string(want))
				if status != exitUsage || stdout.Len() > 0 {
					t.Errorf("got status %d and %q, want %d and nothing", status, stdout.String(), exitUsage)
				}
				return
			}
			if want, err = os.ReadFile(name + ".lines"); err != nil {
				t.Fatal(err)
			}
			if status != 0 || stderr.Len() > 0 {
				t.Errorf("got status %d and %q, want 0 and nothing", status, stderr.String())
			}
			rest := stdout.String()
			for line := range strings.Lines(string(want)) {
				_, behind, found := strings.Cut(rest, line)
				if !found {
					t.Fatalf("got no line %q, in its place, of\n%s", line, stdout.String())
				}
				rest = behind
			}
		})
	}
}
