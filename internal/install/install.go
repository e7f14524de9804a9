// Package install is for tests that need programs which Go's modules do not have: it
// installs them once, at versions that are pinned, into the user's cache directory.
package install

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
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// timeLimit bounds one command.
const timeLimit = 7 * time.Minute

// MissingError is a program that is not there, and what to do about it.
type MissingError struct{ What, Remedy string }

// Error implements error.
func (m MissingError) Error() string { return m.What + "; to have it: " + m.Remedy }

// Need skips a test whose program is missing, unless the environment variable is 1. Any
// other error fails it.
func Need(tb testing.TB, err error, variable string) {
	tb.Helper()
	var m MissingError
	switch {
	case err == nil:
	case errors.As(err, &m) && os.Getenv(variable) != "1":
		tb.Skip(m)
	default:
		tb.Fatal(err)
	}
}

// Root is where installations are. Without a home directory they do not outlive the
// machine's next start.
func Root() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "callgate-test")
}

// Once returns a directory below root that belongs to some texts: the version of what
// installs, and the pins. The first time fill makes it, and who comes meanwhile waits,
// other processes too. A directory that is there is complete.
func Once(root, kind string, of []string, fill func(dir string) error) (dir string, err error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s %q", runtime.GOOS, runtime.GOARCH, of)
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

// Command runs a program in a directory and returns what it prints. Its error is one
// line.
func Command(ctx context.Context, dir, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // the tests name the programs
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
