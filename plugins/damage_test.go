package plugins_test

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/logtest"
	"github.com/callgate/callgate/plugins"
	. "github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

// keptCode is a host with a directory of its own, and the compiled code of a plugin in it.
type keptCode struct {
	t     *testing.T
	host  *plugins.Host
	log   *logtest.Buffer
	dir   string
	entry string // of the plugin
	file  string // the code
	whole []byte
}

func keepCode(t *testing.T) *keptCode {
	t.Helper()
	k := &keptCode{t: t, log: &logtest.Buffer{}, dir: filepath.Join(t.TempDir(), "cache")}
	k.host = newHost(t, plugins.Config{CacheDir: k.dir, Log: slog.New(slog.NewTextHandler(k.log, nil))})
	k.use(plugins.CodeProcess)
	k.file = cached(t, k.dir)
	k.entry = filepath.Dir(filepath.Dir(k.file))
	var err error
	if k.whole, err = os.ReadFile(k.file); err != nil {
		t.Fatal(err)
	}
	k.use(plugins.CodeKept)
	return k
}

// use loads the plugin, and says what is wrong unless its code comes from there and works.
func (k *keptCode) use(from string) bool {
	k.t.Helper()
	k.log.Take()
	load(k.t, k.host, "hand.wasm", Gives(abi.Event{Kind: abi.Content, Text: "works"}).Wasm())
	got, err := feed(k.t, k.host, "hand", "x")
	if err != nil || got != "works" {
		k.t.Errorf("got %q, %v, want that it works", got, err)
		return false
	}
	if got := k.host.Modules()[0].Code; got != from {
		k.t.Errorf("the code comes from %q, want %q", got, from)
		return false
	}
	return true
}

// heals loads the plugin, whose code is damaged.
func (k *keptCode) heals(what string) bool {
	k.t.Helper()
	if !k.use(plugins.CodeProcess) {
		k.t.Errorf("%s is not found", what)
		return false
	}
	if said := k.log.Take(); !strings.Contains(said, "level=WARN") || !strings.Contains(said, "damaged") || !strings.Contains(said, k.entry) {
		k.t.Errorf("%s: it is not said: %q", what, said)
	}
	if got, err := os.ReadFile(k.file); err != nil || !bytes.Equal(got, k.whole) {
		k.t.Errorf("%s: the entry is not as it was: %d bytes, %v", what, len(got), err)
	}
	return true
}

func (k *keptCode) write(file string, b []byte) {
	k.t.Helper()
	if err := os.WriteFile(file, b, 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// TestCacheDamagedAnywhere flips a bit of every byte of an entry, one after the other: the
// header, the number of functions, their offsets, the code and the tables behind it. Each of
// them is found before wazero reads it, said, and made good.
func TestCacheDamagedAnywhere(t *testing.T) {
	t.Parallel()
	k := keepCode(t)
	step := 1 + len(k.whole)/4000
	for i := 0; i < len(k.whole); i += step {
		damaged := bytes.Clone(k.whole)
		damaged[i] ^= 1 << (i % 8)
		k.write(k.file, damaged)
		if !k.heals("a flipped bit") {
			t.Fatalf("byte %d of %d", i, len(k.whole))
		}
	}
	k.use(plugins.CodeKept)
}

// TestCacheDamagedCut has an entry end early, at every length, or go on.
func TestCacheDamagedCut(t *testing.T) {
	t.Parallel()
	k := keepCode(t)
	step := 1 + len(k.whole)/200
	for n := 0; n < len(k.whole); n += step {
		k.write(k.file, k.whole[:n])
		if !k.heals("a cut") {
			t.Fatalf("at byte %d of %d", n, len(k.whole))
		}
	}
	k.write(k.file, append(bytes.Clone(k.whole), 0))
	k.heals("one byte more")
}

// TestCacheDamagedSum has the hash be gone or wrong, and the files be none.
func TestCacheDamagedSum(t *testing.T) {
	t.Parallel()
	k := keepCode(t)
	sum := filepath.Join(k.entry, "sum")
	good, err := os.ReadFile(sum)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for what, damage := range map[string]func(){
		"no sum":                func() { must(os.Remove(sum)) },
		"an empty sum":          func() { k.write(sum, nil) },
		"garbage for a sum":     func() { k.write(sum, []byte("garbage\x00\xff")) },
		"a sum that goes on":    func() { k.write(sum, append(bytes.Clone(good), '\n')) },
		"a long sum":            func() { k.write(sum, bytes.Repeat(good, 1000)) },
		"a sum of another hash": func() { k.write(sum, append(bytes.Clone(good[:len(good)-5]), "0000\n"...)) },
		"a directory as sum":    func() { must(os.Remove(sum)); must(os.Mkdir(sum, 0o700)) },
		"no code":               func() { must(os.Remove(k.file)) },
		"a directory as code":   func() { must(os.Remove(k.file)); must(os.Mkdir(k.file, 0o700)) },
		"another file beside":   func() { k.write(k.file+".1234.tmp", k.whole) },
		"nothing in the entry":  func() { must(os.RemoveAll(k.entry)); must(os.Mkdir(k.entry, 0o700)) },
		"a file as entry":       func() { must(os.RemoveAll(k.entry)); k.write(k.entry, k.whole) },
		"a link to nothing":     func() { must(os.RemoveAll(k.entry)); must(os.Symlink("nothing", k.entry)) },
		"a link to itself":      func() { must(os.Remove(k.file)); must(os.Symlink(k.file, k.file)) },
	} {
		damage()
		k.heals(what)
	}
}

// TestCacheDamagedBySwap has one entry stand in the place of another, the hash with it, or the
// code alone: each is whole, and of another module.
func TestCacheDamagedBySwap(t *testing.T) {
	t.Parallel()
	k := keepCode(t)
	load(t, k.host, "other.wasm", Guest{Manifest: Manifest("other")}.Wasm())
	entries, err := filepath.Glob(filepath.Join(filepath.Dir(k.entry), "*"))
	if err != nil || len(entries) != 2 {
		t.Fatalf("got %v, %v, want 2 entries", entries, err)
	}
	other := entries[0]
	if other == k.entry {
		other = entries[1]
	}
	files, err := filepath.Glob(filepath.Join(other, "wazero-*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	code, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	k.write(k.file, code)
	k.heals("the code of another module")
	sum, err := os.ReadFile(filepath.Join(other, "sum"))
	if err != nil {
		t.Fatal(err)
	}
	k.write(k.file, code)
	k.write(filepath.Join(k.entry, "sum"), sum)
	k.heals("the code of another module under this one's name, with its sum")
	if err := os.RemoveAll(k.entry); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, k.entry); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(k.entry, filepath.Base(filepath.Dir(k.file)), filepath.Base(files[0])), k.file); err != nil {
		t.Fatal(err)
	}
	k.heals("another entry")
}

// TestCacheHalfWritten has a process be killed while it compiles: what it leaves is never
// taken for an entry, and is removed.
func TestCacheHalfWritten(t *testing.T) {
	t.Parallel()
	k := keepCode(t)
	k.dir = filepath.Join(t.TempDir(), "[of a host]") // its name is no pattern
	k.host = newHost(t, plugins.Config{CacheDir: k.dir})
	k.use(plugins.CodeProcess)
	left, fresh := filepath.Join(k.dir, "compiling-1"), filepath.Join(k.dir, "compiling-2")
	for _, dir := range []string{left, fresh} {
		if err := os.CopyFS(dir, os.DirFS(k.entry)); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	k.host = newHost(t, plugins.Config{CacheDir: k.dir})
	k.use(plugins.CodeKept)
	if _, err := os.Stat(left); err == nil {
		t.Error("what a process left two hours ago is still there")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("what another process may be compiling is gone: %v", err)
	}
	more, err := fs.Glob(os.DirFS(k.dir), "compiling-*")
	if err != nil || len(more) != 1 {
		t.Errorf("this process left %v, error %v", more, err)
	}
}

// TestCacheIsBounded holds that old code goes.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	k := keepCode(t)
	for i := range 1030 {
		dir := filepath.Join(filepath.Dir(k.entry), strings.Repeat("0", 60)+string([]byte{byte('a' + i/676), byte('a' + i/26%26), byte('a' + i%26)}))
		at := time.Now().Add(-time.Duration(i) * time.Hour)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
	}
	load(t, k.host, "other.wasm", Guest{Manifest: Manifest("other")}.Wasm())
	if entries, err := os.ReadDir(filepath.Dir(k.entry)); err != nil || len(entries) != 1024 {
		t.Errorf("got %d entries, %v, want 1024", len(entries), err)
	}
	k.use(plugins.CodeKept)
}

// TestCacheIsBoundedInBytes has old code of some that is very large: as much stays as there is
// room for, and the oldest goes.
func TestCacheIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	k := keepCode(t)
	var dirs []string
	for i := range 5 {
		dir := filepath.Join(filepath.Dir(k.entry), strings.Repeat("0", 63)+string(byte('a'+i)))
		at := time.Now().Add(-time.Duration(i+1) * time.Hour)
		if err := os.MkdirAll(filepath.Join(dir, "wazero"), 0o700); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "wazero", "code")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, 600<<20); err != nil { // takes no room
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	load(t, k.host, "other.wasm", Guest{Manifest: Manifest("other")}.Wasm())
	for i, dir := range dirs {
		if _, err := os.Stat(dir); (err == nil) != (i < 3) {
			t.Errorf("entry %d of 600 MiB each: %v; want that three stay", i, err)
		}
	}
	k.use(plugins.CodeKept)
}
