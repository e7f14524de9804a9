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
	left := false
	err = raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(p, 0)
		unread, _ := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		left = err == nil && n > 0 || unread > maxSurplus
	})
	return left || err != nil
}
