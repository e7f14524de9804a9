//go:build unix && !linux

package mcp

import "syscall"

// attributes put a process into a group of its own. One that outlives the gateway finds its
// input at the end.
func attributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
