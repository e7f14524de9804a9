//go:build !linux

package postgrestest

import "syscall"

func attributes(*credential) *syscall.SysProcAttr { return nil }
