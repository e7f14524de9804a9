package plugins

import "testing"

// TestOutOfMemory has what processes said, as Go 1.26 and glibc say it, that were ended by the
// limit on their memory, and by other faults.
func TestOutOfMemory(t *testing.T) {
	for said, want := range map[string]bool{
		"fatal error: runtime: out of memory\n":                                          true,
		"fatal error: runtime: cannot allocate memory\n":                                 true,
		"runtime: failed to create new OS thread (have 6 already; errno=11)\n":           true,
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT":  true,
		"SIGSEGV: segmentation violation\nPC=0x43563d m=3 sigcode=1 addr=0x0\n":          true,
		"panic: cannot allocate memory\n":                                                true,
		"panic: runtime error: index out of range [3] with length 3\n":                   false,
		"panic: runtime error: invalid memory address or nil pointer dereference\n":      false,
		"invalid module: section data: data segment 0 has an offset beyond its memory\n": false,
		"": false,
	} {
		if got := outOfMemory(said); got != want {
			t.Errorf("%q: got %v", said, got)
		}
	}
}
