//go:build !linux

package resident

import "runtime/debug"

// Release gives back memory that is free.
func Release() { debug.FreeOSMemory() }
