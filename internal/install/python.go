package install

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

const pythonRemedy = "apt-get install python3-venv"

// Python finds the machine's Python. version is a text that changes with it: an
// environment belongs to the Python that made it.
func Python(ctx context.Context) (program, version string, err error) {
	name := "python3"
	if runtime.GOOS == "windows" {
		name = "python"
	}
	if program, err = exec.LookPath(name); err != nil {
		return "", "", MissingError{name + " is not installed", pythonRemedy}
	}
	version, err = Command(ctx, "", program, "-c", "import platform, sys; print(sys.version, sys.base_prefix, platform.machine())")
	if err != nil {
		return "", "", MissingError{fmt.Sprintf("%s does not run (%v)", program, err), pythonRemedy}
	}
	return program, version, nil
}

// Venv makes a virtual environment in a directory and returns its Python, which has pip.
func Venv(ctx context.Context, program, dir string) (interpreter string, err error) {
	_, err = Command(ctx, "", program, "-m", "venv", dir)
	return Interpreter(program, dir), err
}

// Interpreter is the Python of a virtual environment that program has made.
func Interpreter(program, dir string) string {
	bin := "bin"
	if runtime.GOOS == "windows" {
		bin = "Scripts"
	}
	return filepath.Join(dir, bin, filepath.Base(program))
}

// Pinned has pip install or download what a list of requirements pins by hash. use is called with pip, which
// takes a command and its own options, and with a directory that is there until it returns.
func Pinned(ctx context.Context, python, requirements string, use func(pip func(command string, options ...string) error, dir string) error) error {
	dir, err := os.MkdirTemp("", "callgate-install-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if python, err = Venv(ctx, python, filepath.Join(dir, "venv")); err != nil {
		return err
	}
	list := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(list, []byte(requirements), 0o600); err != nil {
		return err
	}
	return use(func(command string, options ...string) error {
		args := append([]string{"-m", "pip", command, "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes", "--retries", "1", "-r", list}, options...)
		_, err := Command(ctx, "", python, args...)
		return err
	}, dir)
}
