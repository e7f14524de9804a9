package h1

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// closeWait is the kernel's TCP_CLOSE_WAIT.
const closeWait = 8

// Acknowledged is how many bytes the other end has acknowledged, by the kernel's count, and whether
// it has closed its own direction and no more than that; ok is false if nothing is known.
func Acknowledged(c net.Conn) (n int64, ended, ok bool) {
	raw := rawOf(c)
	if raw == nil {
		return 0, false, false
	}
	var info *unix.TCPInfo
	var err error
	if e := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); e != nil || err != nil {
		return 0, false, false
	}
	return int64(info.Bytes_acked), info.State == closeWait, true
}

func rawOf(c net.Conn) syscall.RawConn {
	own, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := own.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
