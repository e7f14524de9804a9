package mcp

import (
	"runtime"
	"strings"
	"testing"
)

// TestCauseOfAnEndSeenByAWrite holds that a failed write, which may tell of an end before the output
// is read, does not hide what the command wrote.
func TestCauseOfAnEndSeenByAWrite(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the command is one of /bin/sh")
	}
	p, err := start(Options{Command: []string{"/bin/sh", "-c", "echo no database >&2; echo I serve; exit 5"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.end()
	<-p.exited
	if _, err = p.stdin.Write([]byte("{}\n")); err == nil {
		t.Fatal("a write to a command that has ended did not fail")
	}
	for range 2 { // the second time, all is read
		got := p.cause(err)
		for _, want := range []string{"standard error only: I serve;", "its last words: no database"} {
			if !strings.Contains(got, want) {
				t.Errorf("got %q, want %q in it", got, want)
			}
		}
	}
}
