//go:build !linux

package mcp_test

func limitsText() string { return "" }
