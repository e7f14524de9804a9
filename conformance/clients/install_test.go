package clients_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/install"
)

// requireClients makes a client that is missing a failure.
const requireClients = "CALLGATE_REQUIRE_CLIENTS"

// minNode is the oldest major version of Node that the SDK runs on.
const minNode = 20

// need skips a test whose client is not there.
func need(t *testing.T, err error) {
	t.Helper()
	install.Need(t, err, requireClients)
}

// installPython returns a Python that has the SDK, in a virtual environment.
func installPython(ctx context.Context) (interpreter string, err error) {
	base, version, err := install.Python(ctx)
	if err != nil {
		return "", err
	}
	const pins = "testdata/requirements.txt"
	dir, err := installOnce("python", version, []string{pins}, func(dir string) error {
		in, err := install.Venv(ctx, base, dir)
		if err != nil {
			return err
		}
		_, err = install.Command(ctx, "", in, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"--only-binary", ":all:", "--no-compile", "--retries", "1", "--timeout", "20", "-r", pins)
		return err
	})
	if err != nil {
		return "", install.MissingError{
			What:   fmt.Sprintf("OpenAI's SDK for Python is not installed (%v)", err),
			Remedy: "go test ./conformance/clients -run TestClients/python, where PyPI is in reach",
		}
	}
	return install.Interpreter(base, dir), nil
}

// installNode returns the program node and a directory that has the SDK.
func installNode(ctx context.Context) (program, dir string, err error) {
	program, err = exec.LookPath("node")
	if err != nil {
		return "", "", install.MissingError{What: "node is not installed", Remedy: "apt-get install nodejs npm"}
	}
	version, err := install.Command(ctx, "", program, "--version")
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if n, _ := strconv.Atoi(major); err != nil || n < minNode { // what is no number is 0
		return "", "", install.MissingError{What: fmt.Sprintf("node %s is too old", version), Remedy: fmt.Sprintf("install Node.js %d or a newer one", minNode)}
	}
	pins := []string{"testdata/package.json", "testdata/package-lock.json"}
	dir, err = installOnce("node", "", pins, func(dir string) error {
		npm, err := exec.LookPath("npm")
		if err != nil {
			return err
		}
		for _, pin := range pins {
			text, err := os.ReadFile(pin)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(pin)), text, 0o600); err != nil {
				return err
			}
		}
		_, err = install.Command(ctx, dir, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1")
		return err
	})
	if err != nil {
		return "", "", install.MissingError{
			What:   fmt.Sprintf("OpenAI's SDK for Node is not installed (%v)", err),
			Remedy: "go test ./conformance/clients -run TestClients/node, where npm and its registry are in reach",
		}
	}
	return program, dir, nil
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
