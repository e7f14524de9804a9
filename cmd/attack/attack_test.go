package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/callgate/callgate/plugins/builtin"
)

// program is a gateway that is built already, or one that the test builds.
func program(t *testing.T) string {
	t.Helper()
	if built := os.Getenv("CALLGATE_PROGRAM"); built != "" {
		return built
	}
	if _, err := builtin.Wasm(builtin.Name); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "callgate.exe") // a name that every system runs
	if out, err := exec.Command("go", "build", "-o", file, "../gateway").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// TestAttack makes each attack once, with smaller bodies: every answer of the client that behaves
// well is right, memory stays within its bound, and nothing is left. "make attack" does it for
// ten minutes.
func TestAttack(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGTERM")
	}
	t.Parallel()
	r, err := attack(t.Context(), settings{program: program(t), rounds: 1, body: 3_000_000, answer: 4 << 20, memory: 256, pause: 200 * time.Millisecond, patience: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	for _, fault := range r.faults() {
		t.Error(fault)
	}
}
