package clients_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// requireClients makes a client that is missing a failure.
const requireClients = "CALLGATE_REQUIRE_CLIENTS"

// installTime bounds one installation.
const installTime = 4 * time.Minute

// minNode is the oldest major version of Node that the SDK runs on.
const minNode = 20

// missing is what a client lacks, and what to do about it.
type missing struct{ what, remedy string }

func (m missing) Error() string { return m.what + "; to have it: " + m.remedy }

// need skips a test whose client is not there.
func need(t *testing.T, err error) {
	t.Helper()
	var m missing
	switch {
	case err == nil:
	case errors.As(err, &m) && os.Getenv(requireClients) != "1":
		t.Skip(m)
	default:
		t.Fatal(err)
	}
}

// installPython returns a Python that has the SDK, in a virtual environment.
func installPython(ctx context.Context) (interpreter string, err error) {
	name, bin := "python3", "bin"
	if runtime.GOOS == "windows" {
		name, bin = "python", "Scripts"
	}
	base, err := exec.LookPath(name)
	if err != nil {
		return "", missing{name + " is not installed", "apt-get install python3-venv"}
	}
	// An environment belongs to the Python that made it.
	version, err := command(ctx, "", base, "-c", "import platform, sys; print(sys.version, sys.base_prefix, platform.machine())")
	if err != nil {
		return "", missing{fmt.Sprintf("%s does not run (%v)", base, err), "apt-get install python3-venv"}
	}
	const pins = "testdata/requirements.txt"
	in := func(dir string) string { return filepath.Join(dir, bin, filepath.Base(base)) }
	dir, err := install(cacheRoot(), "python", version, []string{pins}, func(dir string) error {
		if _, err := command(ctx, "", base, "-m", "venv", dir); err != nil {
			return err
		}
		_, err := command(ctx, "", in(dir), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"--only-binary", ":all:", "--no-compile", "--retries", "1", "--timeout", "20", "-r", pins)
		return err
	})
	if err != nil {
		return "", missing{
			fmt.Sprintf("OpenAI's SDK for Python is not installed (%v)", err),
			"go test ./conformance/clients -run TestClients/python, where PyPI is in reach",
		}
	}
	return in(dir), nil
}

// installNode returns the program node and a directory that has the SDK.
func installNode(ctx context.Context) (program, dir string, err error) {
	program, err = exec.LookPath("node")
	if err != nil {
		return "", "", missing{"node is not installed", "apt-get install nodejs npm"}
	}
	version, err := command(ctx, "", program, "--version")
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if n, _ := strconv.Atoi(major); err != nil || n < minNode { // what is no number is 0
		return "", "", missing{fmt.Sprintf("node %s is too old", version), fmt.Sprintf("install Node.js %d or a newer one", minNode)}
	}
	pins := []string{"testdata/package.json", "testdata/package-lock.json"}
	dir, err = install(cacheRoot(), "node", "", pins, func(dir string) error {
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
		_, err = command(ctx, dir, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1")
		return err
	})
	if err != nil {
		return "", "", missing{
			fmt.Sprintf("OpenAI's SDK for Node is not installed (%v)", err),
			"go test ./conformance/clients -run TestClients/node, where npm and its registry are in reach",
		}
	}
	return program, dir, nil
}

// cacheRoot is where installations are. Without a home directory they do not outlive
// the machine's next start.
func cacheRoot() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "callgate-test")
}

// install returns a directory below root that belongs to the text of some files and to
// a version. The first time fill makes it, and who comes meanwhile waits. A directory
// that is there is complete.
func install(root, kind, version string, files []string, fill func(dir string) error) (dir string, err error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s %q", runtime.GOOS, runtime.GOARCH, version)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		sum.Write(text)
	}
	dir = filepath.Join(root, kind+"-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	if err := os.MkdirAll(root, 0o750); err != nil {
		return dir, err
	}
	unlock, err := lockedfile.MutexAt(dir + ".lock").Lock()
	if err != nil {
		return dir, err
	}
	defer unlock()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	tmp, err := os.MkdirTemp(root, kind+"-new-")
	if err != nil {
		return dir, err
	}
	defer os.RemoveAll(tmp) // nothing, once it has its name
	if err := fill(tmp); err != nil {
		return dir, err
	}
	return dir, os.Rename(tmp, dir)
}

// command runs a program and returns what it prints. Its error is one line.
func command(ctx context.Context, dir, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = dir, &stderr, time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(program), err, complaint(stderr.String()+string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}

// complaint is the first line of an output that speaks of an error, else its first
// line, without the end of a long one.
func complaint(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	i := max(0, slices.IndexFunc(lines, func(line string) bool { return strings.Contains(strings.ToLower(line), "error") }))
	return lines[i][:min(len(lines[i]), 160)]
}
