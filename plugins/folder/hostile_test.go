//go:build unix

package folder_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/folder"
	"github.com/callgate/callgate/plugins/pluginstest"
)

// endlessArg has this program be a compiler that never ends.
const endlessArg = "callgate-compiler-endless"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == endlessArg {
		time.Sleep(24 * time.Hour)
	}
	os.Exit(m.Run())
}

// strange puts what is no plain file in a directory, by name, and returns what is said of each.
func strange(t *testing.T, dir, suffix string) map[string]string {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name+suffix) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(syscall.Mkfifo(at("fifo"), 0o600))
	must(os.Mkdir(at("directory"), 0o700))
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", at("socket"))
	must(err)
	t.Cleanup(func() { l.Close() })
	must(os.Symlink(at("fifo"), at("link")))
	must(os.Symlink("/dev/zero", at("device")))
	must(os.Symlink(at("self"), at("self")))
	must(os.Symlink("nothing", at("dangling")))
	return map[string]string{
		"fifo": "is a named pipe and not a plain file", "directory": "is a directory and not a plain file", "socket": "is a socket and not a plain file",
		"link": "is a named pipe and not a plain file", "device": "is a device and not a plain file",
		"self": "too many levels of symbolic links", "dangling": "",
	}
}

// TestFIFOAsPlugin has what is no file stand where plugins are, at the start and later. It is
// named, nothing waits for it, and the others are loaded and kept.
func TestFIFOAsPlugin(t *testing.T) {
	t.Parallel()
	for _, start := range []bool{true, false} {
		w := &watched{t: t, dir: t.TempDir()}
		var said map[string]string
		if start {
			w.write("good.wasm", guest("good"))
			said = strange(t, w.dir, ".wasm")
			w.begin(folder.Options{})
		} else {
			w.begin(folder.Options{})
			said = strange(t, w.dir, ".wasm")
			w.write("good.wasm", guest("good"))
		}
		for name, want := range said {
			got := w.file(name+".wasm", folder.Refused)
			if !strings.Contains(got.Reason, want) || !strings.Contains(got.Reason, name+".wasm") {
				t.Errorf("%s: got %q, want %q", name, got.Reason, want)
			}
		}
		w.file("good.wasm", folder.Loaded)
		// A file becomes one.
		w.write("good.wasm.new", nil)
		if err := syscall.Mkfifo(filepath.Join(w.dir, "pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(w.dir, "pipe"), filepath.Join(w.dir, "good.wasm")); err != nil {
			t.Fatal(err)
		}
		w.file("good.wasm", folder.Stale)
		if got := w.parsers(); got != "good" {
			t.Errorf("there are %q, want good", got)
		}
		w.write("good.wasm", guest("good", "better"))
		w.await("the next version", func() bool { return w.parsers() == "better good" })
	}
}

// TestFIFOAsSignature has what is no file stand where signatures are: the plugins beside it
// are refused, and no others.
func TestFIFOAsSignature(t *testing.T) {
	t.Parallel()
	w := &watched{t: t, dir: t.TempDir()}
	said := strange(t, w.dir, ".wasm.minisig")
	for name := range said {
		w.write(name+".wasm", guest(name))
	}
	w.write("good.wasm", guest("good"))
	w.begin(folder.Options{})
	for name, want := range said {
		if name == "dangling" {
			want = "dangling.wasm.minisig leads to nothing"
		}
		if got := w.file(name+".wasm", folder.Refused); !strings.Contains(got.Reason, want) {
			t.Errorf("%s: got %q, want %q", name, got.Reason, want)
		}
	}
	if got := w.parsers(); got != "good" {
		t.Errorf("there are %q, want good", got)
	}
}

// TestCompileBombWaitsAlone has a plugin that is being compiled without end, by a process of its
// own: it is shown, the others of its directory are loaded and replaced, a good version of it
// ends that, and so does the end of the program.
func TestCompileBombWaitsAlone(t *testing.T) {
	t.Parallel()
	started := make(chan *exec.Cmd, 9)
	host, err := plugins.New(t.Context(), plugins.Config{CacheDir: pluginstest.CacheDir(t), Compiler: func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0], endlessArg)
		started <- cmd
		return cmd
	}})
	if err != nil {
		t.Fatal(err)
	}
	// What is in the cache needs no process.
	for _, known := range [][]byte{guest("known"), guest("known", "better"), guest("bomb")} {
		if err := host.Load(t.Context(), plugins.Source{Name: "known", Wasm: known, Trusted: true}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := host.Unload("known", nil); err != nil {
		t.Fatal(err)
	}
	w := &watched{t: t, dir: t.TempDir(), host: host}
	bomb := pluginstest.Guest{Manifest: pluginstest.Manifest("bomb"), Raw: t.TempDir()}.Wasm() // never compiled before
	w.write("a.wasm", bomb)
	w.write("known.wasm", guest("known"))
	w.f = folder.New(folder.Options{Dir: w.dir, Host: host})
	if err := w.f.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.watch()
	w.file("known.wasm", folder.Loaded)
	w.file("a.wasm", folder.Compiling)
	w.write("known.wasm", guest("known", "better"))
	w.await("the next version", func() bool { return w.parsers() == "better known" })
	w.file("a.wasm", folder.Compiling)
	first := <-started
	w.write("a.wasm", guest("bomb"))
	w.file("a.wasm", folder.Loaded)
	if first.ProcessState == nil && first.Process != nil {
		t.Error("the first compiler was not ended")
	}
	w.write("b.wasm", bomb) // the program ends while it is compiled
	<-started
	w.file("b.wasm", folder.Compiling)
}

// TestSameWinnerAtEveryStart has two plugins with one parser's name: the first by name has it,
// whichever is ready first.
func TestSameWinnerAtEveryStart(t *testing.T) {
	t.Parallel()
	for range 5 {
		w := &watched{t: t, dir: t.TempDir()}
		w.write("b.wasm", guest("same"))
		w.write("a.wasm", pluginstest.Build(t, "../testdata/goguest")) // takes longer
		w.write("c.wasm", guest("go"))
		w.patient = true
		w.begin(folder.Options{})
		w.file("a.wasm", folder.Loaded)
		w.file("b.wasm", folder.Loaded)
		if got := w.file("c.wasm", folder.Refused); !strings.Contains(got.Reason, "a.wasm") {
			t.Errorf("got %q, want that a.wasm has the name", got.Reason)
		}
	}
}
