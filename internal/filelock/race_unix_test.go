//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelock_test

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/internal/filelock"
)

// TestDeleted has many take a lock whose file each of them deletes before it lets go: never have two of them the lock, also
// of those who had opened the file that was deleted.
func TestDeleted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.lock")
	var have atomic.Int32
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 300 {
				lock, held, err := filelock.Try(path, 0o600)
				if err != nil {
					t.Error(err)
					return
				}
				if held {
					continue
				}
				if n := have.Add(1); n > 1 {
					t.Errorf("got %d who have the lock, want 1", n)
				}
				have.Add(-1)
				if err := os.Remove(path); err != nil {
					t.Error(err)
				}
				if err := filelock.LetGo(lock); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}
