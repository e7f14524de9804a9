package clients_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/callgate/callgate/internal/install"
)

// requireClients makes a client that is missing a failure.
const requireClients = "CALLGATE_REQUIRE_CLIENTS"

// minNode is the oldest major version of Node that the SDKs run on.
const minNode = 22

// need skips a test whose client is not there.
func need(t *testing.T, err error) {
	t.Helper()
	install.Need(t, err, requireClients)
}

// installPython returns a Python that has the SDKs, in a virtual environment.
func installPython(ctx context.Context) (interpreter string, err error) {
	interpreter, err = installVenv(ctx, "python", "testdata/requirements.txt")
	var missing install.MissingError
	if err == nil || errors.As(err, &missing) {
		return interpreter, err
	}
	return "", install.MissingError{
		What:   fmt.Sprintf("the SDKs for Python are not installed (%v)", err),
		Remedy: "cd internal/e2e && go test ./clients -run TestClients/python, where PyPI is in reach",
	}
}

// installVenv returns the Python of a virtual environment that has what a file pins. More flags of
// pip's may follow.
func installVenv(ctx context.Context, kind, pins string, flags ...string) (interpreter string, err error) {
	base, version, err := install.Python(ctx)
	if err != nil {
		return "", err
	}
	dir, err := installOnce(kind, version, []string{pins}, func(dir string) error {
		in, err := install.Venv(ctx, base, dir)
		if err != nil {
			return err
		}
		_, err = install.Command(ctx, "", in, append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"--require-hashes", "--only-binary", ":all:", "--no-compile", "--retries", "1", "--timeout", "20", "-r", pins}, flags...)...)
		return err
	})
	return install.Interpreter(base, dir), err
}

// installOnce installs what the text of some files and a version say.
func installOnce(kind, version string, files []string, fill func(dir string) error) (dir string, err error) {
	of := []string{version}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		of = append(of, string(text))
	}
	return install.Once(install.Root(), kind, of, fill)
}
