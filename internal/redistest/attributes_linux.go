package redistest

import "syscall"

// attributes let the server end with the test, also with one that is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
