package conformance

import (
	"os"
	"testing"
)

// TestMain gives the targets of the tests time: the machine may be busy.
func TestMain(m *testing.M) {
	slack = "60"
	os.Exit(m.Run())
}
