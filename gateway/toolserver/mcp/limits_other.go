//go:build !linux

package mcp

// limiting is for Linux alone; the configuration refuses limits elsewhere.
func limiting(Limits) []string { return nil }
