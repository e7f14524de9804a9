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
}

// Database makes an empty database and returns its URL. It ends with the test. The server
// is started by the first test that wants one, and Main ends it.
func Database(t testing.TB) string {
	t.Helper()
	base := os.Getenv(URL)
	if base == "" {
		running.Lock()
		defer running.Unlock()
		if running.process == nil {
			ctx, cancel := context.WithTimeout(context.Background(), installTime)
			defer cancel()
			p, err := start(ctx)
			install.Need(t, err, Require)
			running.process = p
		}
		base = running.process.url
	}
	name := "callgate_test_" + strings.ToLower(rand.Text())
	run(t, base, "CREATE DATABASE "+name)
	t.Cleanup(func() { run(t, base, "DROP DATABASE "+name+" WITH (FORCE)") })
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal("the environment variable " + URL + " is not a URL")
	}
	u.Path = "/" + name
	return u.String()
}

func run(t testing.TB, url, statement string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(context.Background(), statement); err != nil {
		t.Fatal(err)
	}
}

// Main runs a package's tests, ends the server, and returns the program's exit code.
func Main(m *testing.M) int {
	code := m.Run()
	running.Lock()
	defer running.Unlock()
	if running.process != nil {
		if err := running.process.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "postgrestest:", err)
			return max(code, 1)
		}
		running.process = nil
	}
	return code
}
