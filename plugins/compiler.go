package plugins

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
)

// Plugins that are not trusted are compiled by a process of their own, which is this program
// once more: it has limits on time and memory, and can be ended. wazero's compiler has none,
// and cannot be stopped.

// compiler runs such processes.
type compiler struct {
	command func(context.Context) *exec.Cmd // nil: there is none
	time    time.Duration
	memory  int
	slots   chan struct{} // holds one for each that runs
}

// maxCompilers is how many run at once. One that takes long does not keep the others waiting.
const maxCompilers = 4

func newCompiler(cfg *Config) compiler {
	return compiler{command: cfg.Compiler, time: cfg.Limits.CompileTime, memory: cfg.Limits.CompileMemory, slots: make(chan struct{}, maxCompilers)}
}

// compileError is why a module was not compiled, in one line.
type compileError struct{ text string }

// Error implements error.
func (e *compileError) Error() string { return e.text }

var errTooLong = errors.New("compiling takes too long")

// run has a module compiled into a directory. When it returns, the process has ended.
func (c *compiler) run(ctx context.Context, wasm []byte, dir string) error {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.slots }()
	limited, cancel := context.WithTimeoutCause(ctx, c.time, errTooLong)
	defer cancel()
	cmd := c.command(limited)
	cmd.Args = append(cmd.Args, dir, strconv.Itoa(c.memory), strconv.Itoa(int(c.time/time.Second)))
	cmd.Env = []string{"GOTRACEBACK=none"} // nothing of this process's, which may be secret
	cmd.WaitDelay = time.Second
	var said head
	cmd.Stderr = &said
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("the process that compiles plugins cannot be started: %w", err)
	}
	sent := make(chan struct{})
	go func() { // ends with the process
		defer close(sent)
		// stdin stays open, for by its end the process sees that this one is gone.
		_, _ = stdin.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(wasm))), wasm...))
	}()
	err = cmd.Wait()
	<-sent
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case context.Cause(limited) == errTooLong:
		return &compileError{fmt.Sprintf("it took longer than %v, the limit on the time of compiling", c.time)}
	case outOfMemory(said.text):
		return &compileError{fmt.Sprintf("it took more than %d bytes, the limit on the memory of compiling", c.memory)}
	}
	first, _, _ := strings.Cut(said.text, "\n")
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && failed.ExitCode() == exitNotCompiled {
		return &compileError{shown(first)}
	}
	return &compileError{fmt.Sprintf("the process that compiles it ended with %v: %s", err, shown(first))}
}

// outOfMemory says by the words of a process that has ended whether it was refused memory. Go's
// runtime says so at times; at others a pointer of its own is nil, or a thread cannot be made.
// A compiler that fails otherwise panics, or says why.
func outOfMemory(said string) bool {
	for _, begins := range []string{"fatal error: ", "runtime: ", "runtime/cgo: ", "SIGSEGV: ", "SIGABRT: "} {
		if strings.HasPrefix(said, begins) {
			return true
		}
	}
	return strings.Contains(said, "out of memory") || strings.Contains(said, "cannot allocate memory")
}

// head keeps the beginning of what is written to it.
type head struct{ text string }

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	h.text += string(p[:min(len(p), 4096-len(h.text))])
	return len(p), nil
}

// The exit statuses of a compiler, which Go's own, 1 and 2, are none of.
const (
	exitNotCompiled = 3
	exitAlone       = 4 // nobody waits for it any more
)

// CompilerMain is all that a process does which Config.Compiler starts: it compiles the module
// that is on its standard input. args are what the host has put behind the command's own
// arguments. It returns the process's exit status.
func CompilerMain(args []string, stdin io.Reader, stderr io.Writer) int {
	if err := compilerMain(args, stdin); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintln(stderr, first)
		return exitNotCompiled
	}
	return 0
}

func compilerMain(args []string, stdin io.Reader) error {
	if len(args) != 3 {
		return errors.New("this command is for the program itself: it compiles a plugin that comes on standard input")
	}
	memory, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	seconds, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(int64(memory) / 4 * 3) // before the hard limit it collects more often
	if err := limitProcess(memory, seconds); err != nil {
		return fmt.Errorf("the limits of the process cannot be set: %w", err)
	}
	var size [8]byte
	if _, err := io.ReadFull(stdin, size[:]); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n > 2*MaxModule { // metering has made it larger
		return fmt.Errorf("%d bytes are too many", n)
	}
	wasm := make([]byte, n)
	if _, err := io.ReadFull(stdin, wasm); err != nil {
		return err
	}
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, stdin)
		os.Exit(exitAlone)
	}()
	return compileInto(args[0], wasm)
}

// compileInto compiles a module as a module's own build does, or wazero would not find it.
func compileInto(dir string, wasm []byte) error {
	cache, err := openLibrary(dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	// By itself wazero would take its interpreter where memory for code is refused.
	rt := wazero.NewRuntimeWithConfig(ctx, configured(wazero.NewRuntimeConfigCompiler(), cache))
	_, err = rt.CompileModule(ctx, wasm)
	return errors.Join(err, rt.Close(ctx), cache.Close(ctx))
}

// runtimeConfig is that of every runtime that serves.
func runtimeConfig(cache wazero.CompilationCache) wazero.RuntimeConfig {
	return configured(wazero.NewRuntimeConfig(), cache)
}

func configured(cfg wazero.RuntimeConfig, cache wazero.CompilationCache) wazero.RuntimeConfig {
	return cfg.WithCompilationCache(cache).WithDebugInfoEnabled(false)
}
