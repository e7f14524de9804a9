package filelock

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// Try makes a file and locks it until it is closed or the process ends. held says that somebody else has it.
func Try(path string, mode fs.FileMode) (f *os.File, held bool, err error) {
	f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, mode)
	if err != nil {
		return nil, false, err
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if err != nil {
		held = errors.Is(err, windows.ERROR_LOCK_VIOLATION)
		if held {
			err = nil
		}
		return nil, held, errors.Join(err, f.Close())
	}
	return f, false, nil
}

// LetGo ends a lock and closes its file.
func LetGo(f *os.File) error { return f.Close() }
