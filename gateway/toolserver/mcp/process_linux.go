package mcp

import "syscall"

// attributes put a process into a group of its own, and let it die with the gateway however that
// ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
