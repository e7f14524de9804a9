// Package gate runs the gateway as operators do, as a program of its own, for the tests of
// this module.
package gate

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/plugins/builtin"
)

// Program names the environment variable with a gateway that is built already, parsers and
// all. "make test" sets it; without it the tests build one.
const Program = "CALLGATE_PROGRAM"

// patience is how long a test waits for what must come before it says what hangs.
const patience = 5 * time.Minute

// Gate is a running gateway.
type Gate struct {
	URL   string // of the clients' listener, without the /v1
	Admin string // of the admin listener, "" if it is off
	log   string // the file that it logs to
}

// built is the directory of what was built, "" if nothing was.
var built string

// build builds the gateway once for all tests of a package.
var build = sync.OnceValues(func() (program string, err error) {
	if program = os.Getenv(Program); program != "" {
		return program, nil
	}
	if _, err := builtin.Wasm(builtin.Name); err != nil {
		return "", err
	}
	if built, err = os.MkdirTemp("", "callgate-e2e"); err != nil {
		return "", err
	}
	program = filepath.Join(built, "callgate.exe")                     // a name that every system runs
	cmd := exec.Command("go", "build", "-o", program, "./cmd/gateway") //nolint:gosec // it is our own
	cmd.Dir = filepath.Join("..", "..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
})

// Clean removes what was built. A package that uses Serve calls it at the end of its tests.
func Clean() {
	if built != "" {
		os.RemoveAll(built)
	}
}

var (
	listensOn = regexp.MustCompile(` listens on (http://\S+) `)
	adminOn   = regexp.MustCompile(`: (http://\S+)/metrics,`) // on a line before the parsers are ready
)

// Path is the gateway's program, for tests of what starts it.
func Path(t *testing.T) string {
	t.Helper()
	program, err := build()
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Serve starts the gateway with a configuration and waits until its parsers are there. It
// is stopped, and must end well, when the test ends.
func Serve(t *testing.T, config []byte) *Gate {
	t.Helper()
	file := filepath.Join(t.TempDir(), "callgate.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	return Start(t, exec.Command(Path(t), "serve", "-c", file, "--listen", "127.0.0.1:0")) //nolint:gosec,noctx // it is the program under test, which the test ends itself
}

// Start starts a command that serves, and waits as Serve does. The command has its own folder
// and environment.
func Start(t *testing.T, cmd *exec.Cmd) *Gate {
	t.Helper()
	dir := t.TempDir()
	g := &Gate{log: filepath.Join(dir, "log")}
	stdout, log := create(t, filepath.Join(dir, "stdout")), create(t, g.log)
	cmd.Stdout, cmd.Stderr = stdout, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.stop(t, cmd) })
	g.await(t, stdout.Name())
	return g
}

// Run runs a command of the gateway's program to its end, and returns what it printed and its
// status.
func Run(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	cmd := exec.CommandContext(t.Context(), program, args...) //nolint:gosec // it is the program under test
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func create(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// await waits until the gateway is ready, and takes its addresses from what it prints.
func (g *Gate) await(t *testing.T, stdout string) {
	t.Helper()
	what := ""
	Await(t, "a gateway that is ready", func() bool {
		said, err := os.ReadFile(stdout)
		if err != nil {
			t.Fatal(err)
		}
		m := listensOn.FindSubmatch(said)
		if m == nil {
			what = fmt.Sprintf("it says %q and logs %q", said, g.Log(t))
			return false
		}
		g.URL = string(m[1])
		if m := adminOn.FindSubmatch(said); m != nil {
			g.Admin = string(m[1])
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		what = string(body)
		return resp.StatusCode == http.StatusOK
	}, &what)
}

func (g *Gate) stop(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	interrupted := cmd.Process.Signal(os.Interrupt)
	if interrupted != nil { // it has ended by itself, or the system cannot interrupt
		_ = cmd.Process.Kill()
	}
	if err := cmd.Wait(); err != nil && interrupted == nil {
		text := g.Log(t)
		t.Errorf("the gateway ended with %v; the end of its log:\n%s", err, text[max(0, len(text)-4000):])
	}
}

// Await waits until something has become true. If it never does, the test fails and says
// what was waited for, and the last of details.
func Await(t *testing.T, what string, ok func() bool, details ...*string) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			for _, d := range details {
				what += ": " + *d
			}
			t.Fatalf("waited %v in vain for %s", patience, what)
		}
	}
}

// Log is the log so far.
func (g *Gate) Log(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(g.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Lines are those of the log that have a text in them.
func (g *Gate) Lines(t *testing.T, with string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(g.Log(t)) {
		if strings.Contains(line, with) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Requests counts the requests in the log, by their models. A line is written when its
// request is over, which a client may notice first.
func (g *Gate) Requests(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for line := range strings.Lines(g.Log(t)) {
		var of struct{ Msg, Model string }
		if json.Unmarshal([]byte(line), &of) == nil && of.Msg == "request" { // the last line may be half there
			counts[of.Model]++
		}
	}
	return counts
}
