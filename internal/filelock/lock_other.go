//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package filelock

import (
	"errors"
	"io/fs"
	"os"
)

// Try makes a file. What is there already counts as held: nobody takes over what a process
// has left that was killed.
func Try(path string, mode fs.FileMode) (f *os.File, held bool, err error) {
	f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil, true, nil
	}
	return f, false, err
}

// LetGo ends a lock, closes its file and removes it.
func LetGo(f *os.File) error {
	err := os.Remove(f.Name())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(f.Close(), err)
}
