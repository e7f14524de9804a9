//go:build !linux

package mcp

// GuardMain is for Linux alone: elsewhere a server finds its input at the end.
func GuardMain([]string) int { return 2 }
