package billing

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock makes a file and locks it until it is closed or the process ends. held says that somebody else has it.
func tryLock(path string) (f *os.File, held bool, err error) {
	f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, fileMode)
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

// letGo ends a lock and closes its file.
func letGo(f *os.File) error { return f.Close() }
