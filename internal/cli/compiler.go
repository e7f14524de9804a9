package cli

import (
	"context"
	"os"
	"os/exec"
	"runtime"
)

// compilerCommand has this program compile a plugin, for another process of it. It is no
// command for people, and so none that --help lists.
const compilerCommand = "compile-plugin"

// compiler starts this program as a compiler of plugins. It is nil where another program uses
// this package, which would not know the command: plugins are compiled in its process then.
var compiler func(ctx context.Context) *exec.Cmd //nolint:gochecknoglobals // Main sets it once, before anything runs

// ownCompiler starts the program that runs, also if another file has taken its place since.
func ownCompiler(ctx context.Context) *exec.Cmd {
	program := "/proc/self/exe"
	if _, err := os.Stat(program); runtime.GOOS != "linux" || err != nil {
		program, _ = os.Executable() // an empty name cannot be started, and that is said
	}
	cmd := exec.CommandContext(ctx, program, compilerCommand)
	cmd.Args[0] = os.Args[0]
	return cmd
}
