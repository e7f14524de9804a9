package folder_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/logtest"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/folder"
	"github.com/callgate/callgate/plugins/pluginstest"
)

// watched is a folder that is watched, with a host of its own.
type watched struct {
	t       *testing.T
	dir     string
	host    *plugins.Host
	f       *folder.Folder
	patient bool // the folder, with what takes long to compile
}

func watch(t *testing.T, o folder.Options, files map[string][]byte) *watched {
	t.Helper()
	w := &watched{t: t, dir: filepath.Join(t.TempDir(), "plugins.d")}
	if files != nil {
		w.mkdir()
	}
	for name, data := range files {
		w.write(name, data)
	}
	if err := w.begin(o); err != nil {
		t.Fatal(err)
	}
	return w
}

// begin loads what is there, and watches it. The error is that of loading.
func (w *watched) begin(o folder.Options) error {
	w.t.Helper()
	var err error
	if w.host, err = plugins.New(w.t.Context(), plugins.Config{CacheDir: pluginstest.CacheDir(w.t)}); err != nil {
		w.t.Fatal(err)
	}
	o.Dir, o.Host = w.dir, w.host
	if w.f = folder.New(o); w.patient {
		w.f.Patient()
	}
	err = w.f.Load(w.t.Context())
	w.watch()
	return err
}

// watch watches until the test ends.
func (w *watched) watch() {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.f.Watch(ctx)
	}()
	w.t.Cleanup(func() {
		cancel()
		<-ended
		if err := w.host.Close(context.Background()); err != nil {
			w.t.Error(err)
		}
	})
}

func (w *watched) mkdir() {
	w.t.Helper()
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
}

// write replaces a file at once.
func (w *watched) write(name string, data []byte) {
	w.t.Helper()
	file := filepath.Join(w.dir, name)
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		w.t.Fatal(err)
	}
}

// file waits until a file is in a state, and returns what there is to say of it.
func (w *watched) file(name string, state folder.State) folder.File {
	w.t.Helper()
	var got folder.File
	w.await(name+" is "+string(state), func() bool {
		files := w.f.Files()
		i := slices.IndexFunc(files, func(f folder.File) bool { return filepath.Base(f.Name) == name })
		if i < 0 {
			return false
		}
		got = files[i]
		return got.State == state
	})
	return got
}

func (w *watched) await(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(5 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("waited in vain: %s; there are %+v", what, w.f.Files())
		}
	}
}

func (w *watched) parsers() string {
	var names []string
	for _, i := range w.host.Parsers() {
		names = append(names, i.Name)
	}
	return strings.Join(names, " ")
}

func guest(parsers ...string) []byte {
	return pluginstest.Guest{Manifest: pluginstest.Manifest(parsers...)}.Wasm()
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func TestReplace(t *testing.T) {
	t.Parallel()
	old, next := guest("a"), guest("a", "b")
	w := watch(t, folder.Options{}, map[string][]byte{"x.wasm": old, "notes.txt": nil, ".hidden.wasm": nil})
	if got := w.file("x.wasm", folder.Loaded); got.SHA256 != sum(old) || got.Reason != "" {
		t.Errorf("got %+v", got)
	}
	w.write("x.wasm", next)
	w.await("the next version", func() bool { return w.parsers() == "a b" })
	if got := w.file("x.wasm", folder.Loaded); got.SHA256 != sum(next) {
		t.Errorf("got %+v, want the hash of the next version", got)
	}
	if n := len(w.f.Files()); n != 1 {
		t.Errorf("got %d files, want 1: %+v", n, w.f.Files())
	}
}

func TestRefusedFileLeavesTheOldOne(t *testing.T) {
	t.Parallel()
	good := guest("a")
	w := watch(t, folder.Options{}, map[string][]byte{"x.wasm": good})
	w.write("x.wasm", good[:len(good)/2])
	if got := w.file("x.wasm", folder.Stale); !strings.Contains(got.Reason, "it ends early") || got.SHA256 != sum(good) {
		t.Errorf("got %+v, want the reason and the old hash", got)
	}
	if got := w.parsers(); got != "a" {
		t.Errorf("there are %q, want a", got)
	}
	w.write("y.wasm", []byte("#!/bin/sh"))
	if got := w.file("y.wasm", folder.Refused); got.SHA256 != "" || strings.Contains(got.Reason, "\n") {
		t.Errorf("got %+v, want one line and no hash", got)
	}
	w.write("x.wasm", good) // back to what it was
	w.file("x.wasm", folder.Loaded)
	w.write("y.wasm", guest("a"))
	w.await("the collision", func() bool {
		return strings.Contains(w.file("y.wasm", folder.Refused).Reason, `parser name "a" is taken by plugin`)
	})
}

// TestRefusedOnce holds that a refusal is logged once, however often the file is tried, and again
// when the file has changed.
func TestRefusedOnce(t *testing.T) {
	t.Parallel()
	said := new(logtest.Buffer)
	w := watch(t, folder.Options{Log: slog.New(slog.NewTextHandler(said, nil))}, nil)
	w.mkdir()
	w.write("x.wasm", guest("a"))
	w.file("x.wasm", folder.Loaded)
	w.write("y.wasm", guest("a"))
	w.file("y.wasm", folder.Refused)
	for _, name := range []string{"b", "c", "d"} { // each of them has y.wasm tried again
		last := w.file("y.wasm", folder.Refused).Since
		w.write(name+".wasm", guest(name))
		w.file(name+".wasm", folder.Loaded)
		w.await("another try", func() bool { return w.file("y.wasm", folder.Refused).Since.After(last) })
	}
	if n := strings.Count(said.String(), "is taken by plugin"); n != 1 {
		t.Errorf("it is logged %d times, want once:\n%s", n, said)
	}
	w.write("y.wasm", append(guest("a"), 0, 1, 0)) // an empty section behind it
	w.await("the changed file's refusal", func() bool { return strings.Count(said.String(), "is taken by plugin") == 2 })
}

func TestComeAndGo(t *testing.T) {
	t.Parallel()
	w := watch(t, folder.Options{}, nil) // and no directory
	w.mkdir()
	w.write("x.wasm", guest("a"))
	w.await("the new plugin", func() bool { return w.parsers() == "a" })
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	w.await("the plugin is gone", func() bool { return w.parsers() == "" && len(w.f.Files()) == 0 })
}

// What models need is neither replaced by something without it nor taken out.
func TestNeeded(t *testing.T) {
	t.Parallel()
	accept := func(infos []plugins.Info) error {
		if !slices.ContainsFunc(infos, func(i plugins.Info) bool { return i.Name == "a" }) {
			return errors.New("a model needs the parser a")
		}
		return nil
	}
	good := guest("a")
	w := watch(t, folder.Options{Accept: accept}, map[string][]byte{"x.wasm": good})
	w.write("x.wasm", guest("b"))
	if got := w.file("x.wasm", folder.Stale); !strings.HasSuffix(got.Reason, "it cannot take over: a model needs the parser a") {
		t.Errorf("got %q", got.Reason)
	}
	if err := os.Remove(filepath.Join(w.dir, "x.wasm")); err != nil {
		t.Fatal(err)
	}
	if got := w.file("x.wasm", folder.Kept); got.Reason != "the file is gone: a model needs the parser a" {
		t.Errorf("got %q", got.Reason)
	}
	w.write("x.wasm", good)
	w.file("x.wasm", folder.Loaded)
	if got := w.parsers(); got != "a" {
		t.Errorf("there are %q, want a", got)
	}
}

// A file is not read while it is being written, and a signature that comes later counts.
func TestTrust(t *testing.T) {
	t.Parallel()
	trust := func(_ string, _, signature []byte) error {
		if string(signature) != "good" {
			return errors.New("it has no signature")
		}
		return nil
	}
	w := watch(t, folder.Options{Trust: trust}, map[string][]byte{"x.wasm.minisig": []byte("good"), "x.wasm": guest("a")})
	w.write("y.wasm", guest("b"))
	if got := w.file("y.wasm", folder.Refused); !strings.HasSuffix(got.Reason, "y.wasm: it is not trusted: it has no signature") {
		t.Errorf("got %q", got.Reason)
	}
	w.write("y.wasm.minisig", []byte("good"))
	w.file("y.wasm", folder.Loaded)
	w.write("x.wasm.minisig", []byte("bad"))
	w.file("x.wasm", folder.Stale)
	if got := w.parsers(); got != "a b" {
		t.Errorf("there are %q, want a b", got)
	}
}

// At the start all files that are refused are named at once.
// TestEmptySignature has a file of signatures with nothing in it, as a disk that is full leaves one: it is one, and
// not the same as none.
func TestEmptySignature(t *testing.T) {
	t.Parallel()
	trust := func(_ string, _, signature []byte) error {
		if signature == nil {
			return nil
		}
		return errors.New("the signature is not good")
	}
	w := &watched{t: t, dir: t.TempDir()}
	w.write("x.wasm.minisig", nil)
	w.write("x.wasm", guest("a"))
	if err := w.begin(folder.Options{Trust: trust}); err == nil || !strings.Contains(err.Error(), "it is not trusted: the signature is not good") {
		t.Errorf("got %v, want that the signature is not good", err)
	}
}

func TestLoadNamesAll(t *testing.T) {
	t.Parallel()
	host, err := plugins.New(t.Context(), plugins.Config{CacheDir: pluginstest.CacheDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close(context.Background())
	dir := t.TempDir()
	for _, name := range []string{"x.wasm", "y.wasm"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err = folder.New(folder.Options{Dir: dir, Host: host}).Load(t.Context())
	if err == nil || !strings.Contains(err.Error(), "x.wasm") || !strings.Contains(err.Error(), "y.wasm") {
		t.Errorf("got %v, want both files", err)
	}
}

// TestManyPlugins has more plugins than are loaded at once.
func TestManyPlugins(t *testing.T) {
	t.Parallel()
	files, want := map[string][]byte{}, []string{}
	for c := 'a'; c <= 'z'; c++ {
		files[string(c)+".wasm"] = guest("p" + string(c))
		want = append(want, "p"+string(c))
	}
	files["0.wasm"], files["m.wasm"] = []byte("no plugin"), append(guest("pm"), 0)
	w := &watched{t: t, dir: t.TempDir()}
	for name, data := range files {
		w.write(name, data)
	}
	w.begin(folder.Options{})
	want = slices.DeleteFunc(want, func(s string) bool { return s == "pm" })
	if got := w.parsers(); got != strings.Join(want, " ") {
		t.Errorf("there are %s, want %s", got, want)
	}
}
