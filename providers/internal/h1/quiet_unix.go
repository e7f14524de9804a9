//go:build unix

package h1

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Supported says that the system tells whether a kept connection was closed. Where it does not, net/http's
// transport is the better one, which has a goroutine that waits for that.
const Supported = true

// quiet asks whether there is nothing to read on a connection, neither bytes nor its end.
type quiet struct {
	raw     syscall.RawConn
	look    func(fd uintptr) bool
	nothing bool
}

func newQuiet(c net.Conn) *quiet {
	q := &quiet{}
	if own, ok := c.(syscall.Conn); ok {
		q.raw, _ = own.SyscallConn() // an error is one of a connection that was closed
	}
	q.look = func(fd uintptr) bool {
		var one [1]byte
		_, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		q.nothing = err == unix.EAGAIN || err == unix.EWOULDBLOCK
		return true // it does not wait
	}
	return q
}

func (q *quiet) now() bool {
	return q.raw != nil && q.raw.Read(q.look) == nil && q.nothing
}
