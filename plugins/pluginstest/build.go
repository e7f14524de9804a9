// Package pluginstest makes WebAssembly modules for tests: guests built with the
// Go toolchain, and small ones assembled by hand, which can be wrong in ways that
// no compiler would let them be.
package pluginstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Build compiles the Go package in dir as a plugin. It is built once in a process,
// and else Go's build cache makes it quick.
func Build(tb testing.TB, dir string) []byte {
	tb.Helper()
	dir, err := filepath.Abs(dir)
	if err != nil {
		tb.Fatal(err)
	}
	b, _ := builds.LoadOrStore(dir, sync.OnceValues(func() ([]byte, error) { return build(dir) }))
	wasm, err := b.(func() ([]byte, error))()
	if err != nil {
		tb.Fatalf("build %s: %v", dir, err)
	}
	return wasm
}

var builds sync.Map // dir to func() ([]byte, error)

func build(dir string) ([]byte, error) {
	tmp, err := os.MkdirTemp("", "callgate-build-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	file := filepath.Join(tmp, "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w -buildid=", "-o", file, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, &buildError{out, err}
	}
	return os.ReadFile(file)
}

type buildError struct {
	out []byte
	err error
}

func (e *buildError) Error() string { return e.err.Error() + "\n" + string(e.out) }

func (e *buildError) Unwrap() error { return e.err }

// CacheDir is a directory for compiled code that tests of all packages share, so
// that each does not take seconds to compile the same module.
func CacheDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, "callgate-test")
}
