package mcp

import (
	"os/exec"
	"syscall"
)

func attributes(bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func terminateGroup(cmd *exec.Cmd) { killGroup(cmd) } // there is no gentle way without a console

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
