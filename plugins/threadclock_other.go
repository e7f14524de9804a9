//go:build !linux

package plugins

// readThreadClock reads none.
func readThreadClock() threadClock { return threadClock{} }
