package postgrestest

import "syscall"

// attributes let a program run as a user, and end with the test, also with one that is
// killed.
func attributes(as *credential) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if as != nil {
		a.Credential = &syscall.Credential{Uid: uint32(as.uid), Gid: uint32(as.gid)}
	}
	return a
}
