package steps

import "testing"

// count is the number of steps so far.
//
//go:wasmimport callgate_steps count
func count() uint64

// Run runs a test where steps are counted. Here they are.
func Run(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	test(t)
}
