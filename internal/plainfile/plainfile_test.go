//go:build unix

package plainfile_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/callgate/callgate/internal/plainfile"
)

// TestKinds has everything that is no file, and links to it. To open a pipe as one opens a
// file would never end.
func TestKinds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(at("file"), []byte("text"), 0o600))
	must(syscall.Mkfifo(at("pipe"), 0o600))
	must(os.Mkdir(at("directory"), 0o700))
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", at("socket"))
	must(err)
	defer l.Close()
	for link, to := range map[string]string{"to file": at("file"), "to pipe": at("pipe"), "to socket": at("socket"), "to device": "/dev/zero", "to directory": dir, "to itself": at("to itself"), "to nothing": at("nothing")} {
		must(os.Symlink(to, at(link)))
	}
	for name, want := range map[string]string{
		"file": "", "to file": "",
		"pipe": "a named pipe and not a plain file", "to pipe": "a named pipe and not a plain file",
		"socket": "a socket", "to socket": "a socket", "to device": "a device", "directory": "a directory", "to directory": "a directory",
		"to itself": "too many levels", "to nothing": "no such file", "nothing": "no such file",
	} {
		got, err := plainfile.Read(at(name), 4)
		if want == "" && (err != nil || string(got) != "text") {
			t.Errorf("%s: got %q, %v, want the text", name, got, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
		text, err := fs.ReadFile(plainfile.DirFS(dir), name)
		if plain := want == ""; plain != (err == nil) || plain && string(text) != "text" {
			t.Errorf("%s in a file system: got %q, %v", name, text, err)
		}
	}
	if _, err := plainfile.Read(at("file"), 3); err == nil || !strings.Contains(err.Error(), "has 4 bytes, the limit is 3") {
		t.Errorf("a file that is too long: got %v", err)
	}
	_, _, err = plainfile.Open(at("pipe"))
	if kind, ok := errors.AsType[*plainfile.KindError](err); !ok || kind.Mode&fs.ModeNamedPipe == 0 {
		t.Errorf("got %v, want a *KindError of a pipe", err)
	}
}

// TestKernelsFile reads a file that the kernel makes while it is read: it says that it has no bytes, and
// some of them can be read without an end.
func TestKernelsFile(t *testing.T) {
	t.Parallel()
	const name = "/proc/self/status"
	if _, err := os.Stat(name); err != nil {
		t.Skip("there is no /proc")
	}
	b, err := plainfile.Read(name, 1<<20)
	if len(b) > 0 || err != nil {
		t.Errorf("got %d bytes and the error %v, want nothing to be read", len(b), err)
	}
}
