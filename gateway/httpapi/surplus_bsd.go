//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package httpapi

import (
	"net"

	"golang.org/x/sys/unix"
)

// hasLeft reports whether the other end has closed the connection, whatever is still to be read,
// or has sent more than maxSurplus.
func hasLeft(c *net.TCPConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return true // it is closed
	}
	queue, err := unix.Kqueue()
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(queue) }()
	left := false
	err = raw.Control(func(fd uintptr) {
		ask, said := make([]unix.Kevent_t, 1), make([]unix.Kevent_t, 1)
		unix.SetKevent(&ask[0], int(fd), unix.EVFILT_READ, unix.EV_ADD|unix.EV_ONESHOT)
		n, err := unix.Kevent(queue, ask, said, &unix.Timespec{})
		left = err == nil && n > 0 && (said[0].Flags&unix.EV_EOF != 0 || said[0].Data > maxSurplus)
	})
	return left || err != nil
}
