package plugins_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/callgate/callgate/plugins"
)

// These have this program be a compiler of plugins, and one that never ends.
const (
	compilerArg = "callgate-compiler"
	endlessArg  = "callgate-compiler-endless"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == compilerArg {
		os.Exit(plugins.CompilerMain(os.Args[2:], os.Stdin, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == endlessArg {
		time.Sleep(24 * time.Hour)
	}
	os.Exit(m.Run())
}

// compilerCommand starts this program as a compiler.
func compilerCommand(ctx context.Context) *exec.Cmd {
	return exec.CommandContext(ctx, os.Args[0], compilerArg)
}
