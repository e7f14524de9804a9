package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/internal/install"
)

// TestInstall fills a directory from several sides at once, and again when what it
// belongs to is another.
func TestInstall(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "new")
	var filled atomic.Int64
	fill := func(dir string) error {
		filled.Add(1)
		return os.WriteFile(filepath.Join(dir, "sdk"), []byte("ok"), 0o600)
	}
	var dirs sync.Map
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			dir, err := install.Once(root, "kind", []string{"1", "sdk==1"}, fill)
			if err != nil {
				t.Error(err)
			}
			if text, err := os.ReadFile(filepath.Join(dir, "sdk")); err != nil || string(text) != "ok" {
				t.Errorf("got %q and error %v in %s, want what was filled in", text, err, dir)
			}
			dirs.Store(dir, true)
		})
	}
	all.Wait()
	if got := filled.Load(); got != 1 {
		t.Errorf("got %d installations, want 1", got)
	}
	another := func(of ...string) {
		t.Helper()
		dir, err := install.Once(root, "kind", of, fill)
		if err != nil {
			t.Error(err)
		}
		if _, known := dirs.LoadOrStore(dir, true); known {
			t.Errorf("got %s once more, want a directory of its own", dir)
		}
	}
	another("2", "sdk==1")
	another("1", "sdk==2")
	another("1sdk==1")
}

// TestInstallFails sees that an installation that failed leaves nothing that the next
// one takes for complete.
func TestInstallFails(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	broken := errors.New("no network")
	dir, err := install.Once(root, "kind", nil, func(dir string) error {
		write(t, filepath.Join(dir, "half"), "")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got error %v, want %v", err, broken)
	}
	left, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil || len(left) != 1 || !strings.HasSuffix(left[0], ".lock") {
		t.Errorf("got %q left (error %v), want the lock alone", left, err)
	}
	again, err := install.Once(root, "kind", nil, func(string) error { return nil })
	if again != dir || err != nil {
		t.Errorf("got %s and error %v, want %s", again, err, dir)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
