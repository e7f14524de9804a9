package builtin

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompile compiles what the binary may lack, and finds it again where there is no Go.
func TestCompile(t *testing.T) {
	dir, told := t.TempDir(), 0
	load := func(dir string) ([]byte, error) {
		return loadKept(t.Context(), Template, dir, func() { told++ })
	}
	first, err := load(dir)
	if err != nil || !bytes.HasPrefix(first, []byte("\x00asm")) || told != 1 {
		t.Fatalf("got %d bytes, %v, told %d times, want a module and to be told once", len(first), err, told)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(files) != 1 {
		t.Errorf("got %q, want the module and nothing else", files)
	}

	t.Setenv("PATH", t.TempDir())
	if again, err := load(dir); err != nil || !bytes.Equal(again, first) || told != 1 {
		t.Errorf("again: got %d bytes, %v, told %d times, want what was kept", len(again), err, told)
	}
	var missing *MissingError
	for _, dir := range []string{"", t.TempDir()} {
		if _, err := load(dir); !errors.As(err, &missing) || strings.Contains(err.Error(), "\n") || told != 1 {
			t.Errorf("without Go: got %v, told %d times, want a MissingError in one line", err, told)
		}
	}
}

// TestNotCompiled holds what is said of a compiler that fails, and of a start that is ended.
func TestNotCompiled(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no /bin/sh to play the toolchain")
	}
	bin := t.TempDir()
	script := "#!/bin/sh\necho 'go: go.mod requires go >= 9.9 (running go 1.0)'\necho more\nexit 1\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	dir := t.TempDir()
	_, err := loadKept(t.Context(), Name, dir, func() {})
	var missing *MissingError
	if want := "go build failed: go: go.mod requires go >= 9.9 (running go 1.0)"; !errors.As(err, &missing) || missing.Err.Error() != want {
		t.Errorf("got %v, want it to be missing because %s", err, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := loadKept(ended, Name, dir, func() {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's end", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("got %v, %v, want nothing kept", entries, err)
	}
}
