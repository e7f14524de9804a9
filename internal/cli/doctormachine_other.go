//go:build !unix

package cli

// freeBytes is not known here.
func freeBytes(string) (free uint64, known bool) { return 0, false }

// openFiles is not known here.
func openFiles() (n uint64, known bool) { return 0, false }
