package plugins_test

import (
	"os"
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
	files, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
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

// A cache that cannot be written is no reason not to start.
func TestReadOnlyCache(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	newHost(t, plugins.Config{CacheDir: dir})
	sub, err := filepath.Glob(filepath.Join(dir, "wazero-*"))
	if err != nil || len(sub) != 1 {
		t.Fatal(sub, err)
	}
	h := newHost(t, plugins.Config{CacheDir: dir})
	if err := os.Remove(sub[0]); err != nil { // root may write to all that is there
		t.Fatal(err)
	}
	load(t, h, "hand.wasm", Guest{}.Wasm())
	if _, err := feed(t, h, "hand", "x"); err != nil {
		t.Error(err)
	}
}
