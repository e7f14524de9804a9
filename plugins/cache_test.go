package plugins_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins"
	. "github.com/callgate/callgate/plugins/pluginstest"
)

// cached returns the only file of compiled code in dir.
func cached(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "code-*", "*", "wazero-*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got files %v, %v, want one", files, err)
	}
	return files[0]
}

func TestDamagedCacheHeals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		damage func(b []byte) []byte
	}{
		{"empty", func([]byte) []byte { return nil }},
		{"truncated", func(b []byte) []byte { return b[:len(b)/2] }},
		{"flipped", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }},
		{"text", func([]byte) []byte { return []byte(strings.Repeat("text ", 100)) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "cache")
			use := func() {
				t.Helper()
				h := newHost(t, plugins.Config{CacheDir: dir})
				load(t, h, "hand.wasm", Guest{}.Wasm())
				if _, err := feed(t, h, "hand", "x"); err != nil {
					t.Error(err)
				}
			}
			use()
			keep := filepath.Join(dir, "precious")
			if err := os.WriteFile(keep, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			file := cached(t, dir)
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, tt.damage(append([]byte{}, b...)), 0o600); err != nil {
				t.Fatal(err)
			}
			use()
			got, err := os.ReadFile(cached(t, dir))
			if err != nil || string(got) != string(b) {
				t.Errorf("got %d bytes, %v, want the same %d as before", len(got), err, len(b))
			}
			if _, err := os.Stat(keep); err != nil {
				t.Errorf("another file in the directory: %v", err)
			}
		})
	}
}

func TestCacheDirectoryIsPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing here")
	}
	dir := filepath.Join(t.TempDir(), "cache")
	newHost(t, plugins.Config{CacheDir: dir})
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v, want mode 0700", info.Mode(), err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := plugins.New(t.Context(), plugins.Config{CacheDir: dir}); err == nil {
		t.Error("a directory that everybody can write to: got no error")
	}
}

// TestCacheDirectoryCannotBeMade holds that plugins are loaded without a cache where its directory
// cannot be made, and that the log says so.
func TestCacheDirectoryCannotBeMade(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	h := newHost(t, plugins.Config{CacheDir: filepath.Join(file, "cache"), Log: slog.New(slog.NewTextHandler(&said, nil))})
	load(t, h, "hand.wasm", Guest{}.Wasm())
	if !strings.Contains(said.String(), "compiled code cannot be cached") {
		t.Errorf("got log %q, want it to say that nothing is cached", &said)
	}
}

// kept is the name of the directory that holds the entries.
func kept(t *testing.T) string {
	t.Helper()
	other := filepath.Join(t.TempDir(), "cache")
	load(t, newHost(t, plugins.Config{CacheDir: other}), "hand.wasm", Guest{}.Wasm())
	return filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(cached(t, other)))))
}

// A cache that cannot be written is no reason not to start.
func TestReadOnlyCache(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	for what, spoil := range map[string]func() error{
		"no directory":         func() error { return os.RemoveAll(dir) },
		"a file in its place":  func() error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) },
		"no room for the code": func() error { return os.WriteFile(filepath.Join(dir, kept(t)), nil, 0o600) },
	} {
		for _, compiler := range []func(context.Context) *exec.Cmd{nil, compilerCommand} {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			h := newHost(t, plugins.Config{CacheDir: dir, Compiler: compiler})
			if err := spoil(); err != nil { // and not by modes: root may write to all that is there
				t.Fatal(what, err)
			}
			load(t, h, "hand.wasm", Guest{}.Wasm())
			if _, err := feed(t, h, "hand", "x"); err != nil {
				t.Error(what, err)
			}
		}
	}
}
