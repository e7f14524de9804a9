package chain_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain runs the tests with a collector that comes less often: the heap is small, and what
// the tests read and throw away is much.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
