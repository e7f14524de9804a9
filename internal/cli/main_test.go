package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/internal/postgrestest"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/builtin"
)

// TestMain lets the test scripts call this program, and runs the tests in an
// environment that names no upstream. At the end no goroutine may be left.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == compilerCommand || os.Args[1] == guardCommand) {
		Main()
	}
	if len(os.Args) > 2 && os.Args[1] == "toolserver" {
		os.Args = os.Args[1:]
		toolServerMain()
		return
	}
	compiler, toolGuard = ownCompiler, ownGuard // as Main does
	testscript.Main(checked{m}, map[string]func(){"callgate": Main, "toolserver": toolServerMain})
}

// checked are the tests, and what must be true before and after them.
type checked struct{ *testing.M }

// Run implements testscript.TestingM.
func (c checked) Run() int {
	debug.SetGCPercent(400) // hundreds of gateways begin and end in this process, mostly waste for its collector
	if _, err := builtin.Wasm(builtin.Name); err != nil {
		fmt.Fprintln(os.Stderr, "internal/cli cannot be tested:", err)
		return 1
	}
	for _, name := range []string{
		"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "HTTP_PROXY", "http_proxy",
		"AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "DASHSCOPE_API_KEY", "MOONSHOT_API_KEY", "ANTHROPIC_API_KEY",
	} {
		os.Unsetenv(name)
	}
	kept, err := keepParsers()
	if err != nil {
		fmt.Fprintln(os.Stderr, "internal/cli cannot be tested:", err)
		return 1
	}
	status := postgrestest.Main(c.M)
	if err := kept.Close(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// keepParsers loads the built-in parsers into a host that lasts as long as the tests. Gateways of
// the same limits share with it what is made of them, see plugins.CodeShared.
func keepParsers() (*plugins.Host, error) {
	ctx := context.Background()
	p, err := newParsers(ctx, config.FromEnv(func(string) (string, bool) { return "", false }), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{builtin.Name, builtin.Template} {
		if err := p.loadModule(ctx, name); err != nil {
			return nil, errors.Join(err, p.host.Close(ctx))
		}
	}
	return p.host, nil
}

func TestScripts(t *testing.T) {
	t.Parallel()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", cache) // the compiled parsers are there, and what Go has built
			return nil
		},
	})
}

// command runs a command line in this process. A server that should not have
// started is stopped.
func command(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs buffer
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	status = run(ctx, args, readerOf(stdin), &out, &errs)
	return status, out.String(), errs.String()
}
