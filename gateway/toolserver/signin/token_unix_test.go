//go:build unix

package signin_test

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestFIFOAsToken has a named pipe in the place of the file: it is not opened, which would never end.
func TestFIFOAsToken(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.file = filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(s.file, 0o600); err != nil {
		t.Fatal(err)
	}
	if token, err := tokenOf(t, s.open(t)); token != "" || err != nil {
		t.Errorf("got %q and %v, want nothing", token, err)
	}
}
