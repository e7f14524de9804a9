//go:build unix

package cli

import "golang.org/x/sys/unix"

// freeBytes is the room that is left for this user where a folder is.
func freeBytes(dir string) (free uint64, known bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true //nolint:unconvert // each system has types of its own
}

// openFiles is how many files and connections this process may have.
func openFiles() (n uint64, known bool) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return uint64(limit.Cur), true //nolint:unconvert // each system has types of its own
}
