package guests

import (
	"context"
	_ "embed" // the pins
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/callgate/callgate/internal/install"
)

//go:embed requirements.txt
var zigPins string

// findClang finds a C compiler.
func findClang(ctx context.Context, dir string) (toolchain, error) {
	command, err := clang(ctx)
	if err != nil {
		return toolchain{}, err
	}
	version, err := install.Command(ctx, dir, command[0], append(command[1:], "--version")...)
	if err != nil {
		return toolchain{}, err
	}
	return toolchain{version, func(ctx context.Context, out string) error {
		_, err := install.Command(ctx, dir, command[0], append(command[1:], "@flags", "-o", out, "parser.c")...)
		return err
	}}, nil
}

// clang is the command of a C compiler with a linker for WebAssembly: the machine's clang, else
// the one in Zig, which takes the same flags.
func clang(ctx context.Context) ([]string, error) {
	clang, err := exec.LookPath("clang")
	if err == nil {
		_, err = exec.LookPath("wasm-ld")
	}
	if err == nil {
		return []string{clang}, nil
	}
	python, err := installZig(ctx)
	if err != nil {
		return nil, install.MissingError{
			What:   fmt.Sprintf("clang and wasm-ld are not installed, nor is Zig (%v)", err),
			Remedy: "apt-get install clang lld",
		}
	}
	return []string{python, "-m", "ziglang", "cc"}, nil
}

// installZig installs Zig from the registry of Python's packages and returns the Python
// that runs it.
func installZig(ctx context.Context) (interpreter string, err error) {
	base, version, err := install.Python(ctx)
	if err != nil {
		return "", err
	}
	dir, err := install.Once(install.Root(), "zig", []string{version, zigPins}, func(dir string) error {
		in, err := install.Venv(ctx, base, dir)
		if err != nil {
			return err
		}
		pins := filepath.Join(dir, "requirements.txt")
		if err := os.WriteFile(pins, []byte(zigPins), 0o600); err != nil {
			return err
		}
		_, err = install.Command(ctx, "", in, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
			"--only-binary", ":all:", "--require-hashes", "--no-compile", "--retries", "1", "--timeout", "20", "-r", pins)
		return err
	})
	return install.Interpreter(base, dir), err
}
