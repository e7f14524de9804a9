//go:build unix

package main

import "syscall"

// fifos makes named pipes.
func fifos(names ...string) {
	for _, name := range names {
		_ = syscall.Mkfifo(name, 0o600) // without it there is one file less
	}
}
