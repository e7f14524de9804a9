//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelock

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Try makes a file and locks it until it is closed or the process ends. held says that somebody else has it. Whoever had
// it may delete it between the two: then there is another file, or none, and the lock would be of nothing.
func Try(path string, mode fs.FileMode) (f *os.File, held bool, err error) {
	for {
		f, held, err = try(path, mode)
		if err != nil || held || isAt(f, path) {
			return f, held, err
		}
		if err := LetGo(f); err != nil {
			return nil, false, err
		}
	}
}

// isAt reports whether a path is that of the file.
func isAt(f *os.File, path string) bool {
	own, err := f.Stat()
	there, missing := os.Stat(path)
	return err == nil && missing == nil && os.SameFile(own, there)
}

func try(path string, mode fs.FileMode) (f *os.File, held bool, err error) {
	f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, mode)
	if err != nil {
		return nil, false, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		held = errors.Is(err, syscall.EWOULDBLOCK)
		if held {
			err = nil
		}
		return nil, held, errors.Join(err, f.Close())
	}
	return f, false, nil
}

// LetGo ends a lock and closes its file. A child that is being started may have the file for a moment more, and closing
// alone would leave the lock with it.
func LetGo(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
