package plugins_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/plugins"
	. "github.com/callgate/callgate/plugins/pluginstest"
)

// TestCompileBombIsRefused has modules of some KB that a compiler takes seconds to hours for.
func TestCompileBombIsRefused(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	for _, tt := range CompileBombs() {
		t.Run(tt.Name, func(t *testing.T) {
			err := h.Load(t.Context(), plugins.Source{Name: "bomb", Wasm: tt.Wasm})
			if err == nil || !strings.Contains(err.Error(), tt.Want) || !strings.HasPrefix(err.Error(), "plugin bomb: it is too much to compile: ") {
				t.Errorf("got %v, want %q", err, tt.Want)
			}
			if got := plugins.Look(tt.Wasm).Refused; !strings.Contains(got, tt.Want) {
				t.Errorf("Look: got %q, want %q", got, tt.Want)
			}
		})
	}
	err := h.Load(t.Context(), plugins.Source{Name: "bomb", Wasm: make([]byte, plugins.MaxModule+1)})
	if want := "plugin bomb: it has 33554433 bytes, the limit is 33554432"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// ownCache is a directory that has no compiled code yet.
func ownCache(t *testing.T) string { return filepath.Join(t.TempDir(), "cache") }

// TestCompilerProcess has a process of its own compile what is not trusted. What it made is
// kept, and what is trusted does without.
func TestCompilerProcess(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{ownCache(t), "off"} {
		cfg := plugins.Config{CacheDir: dir, Compiler: compilerCommand}
		again := plugins.CodeKept
		if dir == "off" {
			cfg.CacheDir, again = "", plugins.CodeChild
		}
		h, err := plugins.New(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{plugins.CodeChild, again} {
			load(t, h, "g.wasm", goGuest(t))
			works(t, h)
			if got := h.Modules()[0].Code; got != want {
				t.Errorf("load %d with cache %s: the code comes from %q, want %q", i, dir, got, want)
			}
		}
		if err := h.Load(t.Context(), plugins.Source{Name: "own", Wasm: Guest{}.Wasm(), Trusted: true}); err != nil {
			t.Error(err)
		}
		if got := h.Modules()[1].Code; got != plugins.CodeProcess {
			t.Errorf("a trusted module comes from %q, want this process", got)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestCompileBombInProcess has modules that the figures let through, and that take long all
// the same or more memory than there is: the process that compiles them is ended, and what
// was left of it is gone.
func TestCompileBombInProcess(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limits plugins.Limits
		want   string
	}{
		"time":   {plugins.Limits{CompileTime: 50 * time.Millisecond}, "plugin slow: it cannot be compiled: it took longer than 50ms, the limit on the time of compiling"},
		"memory": {plugins.Limits{CompileMemory: 96 << 20}, "plugin slow: it cannot be compiled: it took more than 100663296 bytes, the limit on the memory of compiling"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "memory" && runtime.GOOS != "linux" {
				t.Skip("there is no hard limit here")
			}
			if name == "memory" && underRace {
				t.Skip("the race detector alone takes more memory than the limit")
			}
			dir := ownCache(t)
			h := newHost(t, plugins.Config{CacheDir: dir, Compiler: compilerCommand, Limits: tt.limits})
			err := h.Load(t.Context(), plugins.Source{Name: "slow", Wasm: SlowToCompile(8)})
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "compiling-*")); len(left) > 0 {
				t.Errorf("there is left: %v", left)
			}
		})
	}
}

// TestCompileBombStops has a load be given up: the process that compiles, which would go on
// without end, ends with it. Meanwhile others are loaded.
func TestCompileBombStops(t *testing.T) {
	t.Parallel()
	started := make(chan *exec.Cmd, 1)
	h := newHost(t, plugins.Config{CacheDir: ownCache(t), Compiler: func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0], endlessArg)
		started <- cmd
		return cmd
	}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	loaded := make(chan error, 1)
	go func() { loaded <- h.Load(ctx, plugins.Source{Name: "slow", Wasm: SlowToCompile(1)}) }()
	cmd := <-started
	if err := h.Load(t.Context(), plugins.Source{Name: "hand", Wasm: Guest{}.Wasm(), Trusted: true}); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-loaded; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was given up", err)
	}
	if cmd.Process != nil && cmd.ProcessState == nil { // it may have been too early to begin
		t.Error("nobody has waited for the end of the process")
	}
}

// TestNoCompiler has a compiler that cannot be started, or is another program.
func TestNoCompiler(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"/nowhere/callgate": "the process that compiles plugins cannot be started",
		"true":              "it cannot be compiled: the process that compiles it has left no code",
		"false":             "the process that compiles it ended with exit status 1",
	} {
		h := newHost(t, plugins.Config{CacheDir: ownCache(t), Compiler: func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, name) }})
		if err := h.Load(t.Context(), plugins.Source{Name: "x", Wasm: Guest{}.Wasm()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}
