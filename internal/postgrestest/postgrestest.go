// Package postgrestest gives tests a real Postgres server, one that is their own and ends
// with them.
//
// It is the postgres of the PATH, or of /usr/lib/postgresql. Without one it is installed by
// Python's pip, at the version that requirements.txt pins by hash, into the user's cache
// directory, once and without root, on Linux on amd64. Since Postgres refuses to run as
// root, root's tests run it as another user. Where CALLGATE_POSTGRES_URL is set, tests use
// the server there, in databases of their own. Without any a test is skipped and says what
// is missing; the environment variable CALLGATE_REQUIRE_POSTGRES=1 makes that a failure.
package postgrestest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/callgate/callgate/internal/install"
)

// Environment variables.
const (
	// URL is that of a server that tests may use, as a user that may create databases.
	URL = "CALLGATE_POSTGRES_URL"
	// Require makes a server that cannot be had a failure.
	Require = "CALLGATE_REQUIRE_POSTGRES"
)

// installTime bounds the wait for an installation, also by another package's tests.
const installTime = 9 * time.Minute

// running is the server of this test program; its databases are the tests'.
var running struct {
	sync.Mutex
	process *process
	free    []string // databases that are empty again
}

// Database returns the URL of an empty database, which is the test's until it ends. The server
// is started by the first test that wants one, and Main ends it.
func Database(t testing.TB) string {
	t.Helper()
	running.Lock()
	defer running.Unlock()
	base := os.Getenv(URL)
	if base == "" {
		if running.process == nil {
			ctx, cancel := context.WithTimeout(context.Background(), installTime)
			defer cancel()
			p, err := start(ctx)
			install.Need(t, err, Require)
			running.process = p
		}
		base = running.process.url
	}
	name := take()
	if name == "" {
		name = "callgate_test_" + strings.ToLower(rand.Text())
		run(t, base, "CREATE DATABASE "+name)
	}
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal("the environment variable " + URL + " is not a URL")
	}
	u.Path = "/" + name
	t.Cleanup(func() { empty(t, u.String(), name) })
	return u.String()
}

// take takes a database that is empty again, if there is one.
func take() (name string) {
	if last := len(running.free) - 1; last >= 0 {
		name, running.free = running.free[last], running.free[:last]
	}
	return name
}

// empty ends whoever still uses a test's database and all that is in it, for the next test:
// to make a database takes ten times as long.
func empty(t testing.TB, url, name string) {
	t.Helper()
	run(t, url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();"+
		"DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	running.Lock()
	defer running.Unlock()
	running.free = append(running.free, name)
}

func run(t testing.TB, url, statement string) {
	t.Helper()
	if err := execute(url, statement); err != nil {
		t.Fatal(err)
	}
}

func execute(url, statement string) error {
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		return err
	}
	_, err = c.Exec(context.Background(), statement)
	return errors.Join(err, c.Close(context.Background()))
}

// Main runs a package's tests, ends the server, or removes the databases from one that goes
// on, and returns the program's exit code.
func Main(m *testing.M) int {
	code := m.Run()
	running.Lock()
	defer running.Unlock()
	if err := end(); err != nil {
		fmt.Fprintln(os.Stderr, "postgrestest:", err)
		return max(code, 1)
	}
	return code
}

// end ends what the tests had.
func end() error {
	defer func() { running.process, running.free = nil, nil }()
	if running.process != nil {
		return running.process.stop()
	}
	for _, name := range running.free {
		if err := execute(os.Getenv(URL), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			return err
		}
	}
	return nil
}
