//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelock_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/callgate/callgate/internal/filelock"
)

// TestLetGo has somebody else have the file of a lock open, as a child does between fork and exec: whoever lets go
// does so for all.
func TestLetGo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.lock")
	lock, _, err := filelock.Try(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	child, err := syscall.Dup(int(lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(child), "child's")
	defer file.Close()
	if _, held, err := filelock.Try(path, 0o600); err != nil || !held {
		t.Fatalf("got held %v, error %v, want it held", held, err)
	}
	if err := filelock.LetGo(lock); err != nil {
		t.Fatal(err)
	}
	again, held, err := filelock.Try(path, 0o600)
	if err != nil || held {
		t.Fatalf("got held %v, error %v, want it free", held, err)
	}
	if err := filelock.LetGo(again); err != nil {
		t.Error(err)
	}
}
