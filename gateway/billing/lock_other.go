//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package billing

import (
	"errors"
	"io/fs"
	"os"
)

// tryLock makes a file. What is there already counts as held: nobody takes over the rows of a process that was
// killed.
func tryLock(path string) (f *os.File, held bool, err error) {
	f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, fileMode)
	if errors.Is(err, fs.ErrExist) {
		return nil, true, nil
	}
	return f, false, err
}

// letGo ends a lock and closes its file.
func letGo(f *os.File) error { return f.Close() }
