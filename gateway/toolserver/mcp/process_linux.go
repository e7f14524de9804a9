package mcp

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes put a process into a group of its own, and let it know, or die, when the gateway
// ends, however that ends.
func attributes(guarded bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if guarded {
		a.Pdeathsig = orphaned
	}
	return a
}

// awaitEnd returns when a process has ended, and leaves its number taken.
func awaitEnd(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}
