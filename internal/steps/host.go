//go:build !wasip1

package steps

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/callgate/callgate/internal/install"
	"github.com/callgate/callgate/plugins/meter"
)

func count() uint64 { panic("steps are counted within steps.Run only") }

const (
	// fuel is how many steps the sandbox gives at a time.
	fuel = 1 << 26
	// most is how many steps a test may take: minutes. What takes more hangs.
	most = 1 << 37
	// pages of 64 KiB are the memory that a test may take.
	pages = 3 << 14
)

// Run runs a test where steps are counted.
func Run(t *testing.T, _ func(t *testing.T)) {
	t.Helper()
	pc, _, _, _ := runtime.Caller(1)
	build := within
	if strings.Contains(filepath.Base(runtime.FuncForPC(pc).Name()), "_test.") {
		build = beside
	}
	b, err := build()
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.run(t.Context(), t.Name())
	switch {
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	case !strings.Contains(out, "--- PASS: "+t.Name()+" "):
		t.Errorf("got no test %s where steps are counted, only\n%s", t.Name(), out)
	case testing.Verbose():
		t.Log(out)
	}
}

// binary is a test binary in the sandbox.
type binary struct {
	runtime wazero.Runtime
	module  *meter.Module
	code    wazero.CompiledModule
}

// The binaries of a package are compiled once a process.
var within, beside = sync.OnceValues(func() (*binary, error) { return newBinary(true) }), sync.OnceValues(func() (*binary, error) { return newBinary(false) })

// newBinary compiles tests of the current directory: those of the package itself, or those
// beside it.
func newBinary(within bool) (*binary, error) {
	ctx := context.Background() // it serves all tests of the process
	files, err := needed(within)
	if err != nil {
		return nil, err
	}
	wasm, err := goBuild(ctx, files)
	if err != nil {
		return nil, err
	}
	b := &binary{}
	if b.module, err = meter.RewriteOwn(wasm, fuel); err != nil {
		return nil, err
	}
	dir, unlock, err := cacheOf(within, b.module.Wasm)
	if err != nil {
		return nil, err
	}
	defer unlock()
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, err
	}
	b.runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(cache).WithMemoryLimitPages(pages))
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, b.runtime); err != nil {
		return nil, err
	}
	if err := countSteps(ctx, b.runtime); err != nil {
		return nil, err
	}
	b.code, err = b.runtime.CompileModule(ctx, b.module.Wasm)
	return b, err
}

// goBuild compiles test files of the current directory.
func goBuild(ctx context.Context, files []string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "steps")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "test.wasm")
	args := []string{"test", "-c", "-vet=off", "-trimpath", "-ldflags=-s -w", "-o", out}
	cmd := exec.CommandContext(ctx, "go", append(args, files...)...) //nolint:gosec // files of the tests' own
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go %s for wasip1: %w\n%s", strings.Join(cmd.Args[1:], " "), err, said)
	}
	return os.ReadFile(out)
}

// cacheOf is a directory for the compiled code of a package's tests. The last one is kept,
// and nobody else uses the directory until unlock is called.
func cacheOf(within bool, wasm []byte) (dir string, unlock func(), err error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", nil, err
	}
	root := filepath.Join(install.Root(), "steps")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", nil, err
	}
	dir = filepath.Join(root, packageName(wd))
	if within {
		dir += "-within"
	}
	unlock, err = lockedfile.MutexAt(dir + ".lock").Lock()
	if err != nil {
		return "", nil, err
	}
	sum, note := fmt.Sprintf("%x", sha256.Sum256(wasm)), filepath.Join(dir, "of")
	if of, err := os.ReadFile(note); err == nil && string(of) == sum {
		return dir, unlock, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		unlock()
		return "", nil, err
	}
	err = errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700), os.WriteFile(note, []byte(sum), 0o600))
	if err != nil {
		unlock()
	}
	return dir, unlock, err
}

// packageName is a directory's path within its module, in one word.
func packageName(dir string) string {
	var names []string
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || dir == filepath.Dir(dir) {
			slices.Reverse(names)
			return strings.Join(names, "-")
		}
		names = append(names, filepath.Base(dir))
	}
}

// spent is how many steps a run was given, by the context of the run.
type spent struct{ steps uint64 }

type spentKey struct{}

func usedBy(ctx context.Context) *spent { return ctx.Value(spentKey{}).(*spent) }

// countSteps gives guests fuel, and tells them how much they have used.
func countSteps(ctx context.Context, rt wazero.Runtime) error {
	_, err := rt.NewHostModuleBuilder(meter.HostModule).NewFunctionBuilder().WithFunc(func(ctx context.Context) int32 {
		used := usedBy(ctx)
		if used.steps += fuel; used.steps > most {
			panic(fmt.Sprintf("it took more than %d steps: it hangs", uint64(most)))
		}
		return fuel
	}).Export(meter.HostYield).Instantiate(ctx)
	if err != nil {
		return err
	}
	_, err = rt.NewHostModuleBuilder("callgate_steps").NewFunctionBuilder().WithFunc(func(ctx context.Context, m api.Module) uint64 {
		left := api.DecodeI32(m.ExportedGlobal(meter.FuelGlobal).Get())
		return usedBy(ctx).steps + uint64(fuel-left)
	}).Export("count").Instantiate(ctx)
	return err
}

// run runs a test and returns what it printed. It sees the package's directory and nothing
// else of the machine: the clock and what is drawn at random are the same in each run.
func (b *binary) run(ctx context.Context, test string) (output string, err error) {
	var out bytes.Buffer
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithStdout(&out).WithStderr(&out).
		WithArgs("steps", "-test.v", "-test.timeout=0", "-test.run=^"+test+"$").WithFSConfig(wazero.NewFSConfig().WithReadOnlyDirMount(".", "/"))
	ctx = context.WithValue(ctx, spentKey{}, &spent{})
	m, err := b.runtime.InstantiateModule(ctx, b.code, config)
	if err != nil {
		return "", err
	}
	defer m.Close(ctx)
	for _, s := range b.module.Segments { // the meter has taken them out
		if !m.Memory().Write(s.Offset, s.Data) {
			return "", errors.New("a data segment lies outside the memory")
		}
	}
	for _, name := range []string{b.module.Start, "_start"} {
		if name == "" {
			continue
		}
		if _, err = m.ExportedFunction(name).Call(ctx); err != nil {
			break
		}
	}
	var exit *sys.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 0 {
		err = nil
	}
	return out.String(), err
}
