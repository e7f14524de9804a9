package postgrestest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestSweep holds that folders of servers that were killed go, and that those of servers that run, or only begin, stay.
func TestSweep(t *testing.T) {
	t.Parallel()
	over := exec.CommandContext(t.Context(), "go", "version")
	if err := over.Run(); err != nil {
		t.Fatal(err)
	}
	tmp, now := t.TempDir(), time.Now()
	for name, c := range map[string]struct {
		pid  int // 0: none
		old  bool
		want bool // that it stays
	}{
		folders + "killed": {over.Process.Pid, true, false}, folders + "empty": {0, true, false},
		folders + "runs": {os.Getpid(), true, true}, folders + "begins": {0, false, true}, "another": {0, true, true},
	} {
		dir := filepath.Join(tmp, name)
		if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
			t.Fatal(err)
		}
		if c.pid != 0 {
			if err := os.WriteFile(filepath.Join(dir, "data", "postmaster.pid"), fmt.Appendf(nil, "%d\n%s\n", c.pid, dir), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if c.old {
			if err := os.Chtimes(dir, now, now.Add(-2*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		sweep(tmp, now)
		if _, err := os.Stat(dir); (err == nil) != c.want {
			t.Errorf("%s: got %v, want that it stays: %v", name, err, c.want)
		}
	}
}
