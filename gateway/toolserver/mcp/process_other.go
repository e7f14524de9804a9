//go:build !linux

package mcp

import "os"

// awaitEnd returns when a process has ended.
func awaitEnd(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_, _ = p.Wait()
	}
}
