package install

import (
	"context"
	"fmt"
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
