package tests

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/postgrestest"
	"github.com/callgate/callgate/plugins/builtin"
)

// patience is how long a test waits for what must come before it says what hangs.
const patience = 5 * time.Minute

// built is the folder of what was built, "" if nothing was.
var built string

func TestMain(m *testing.M) {
	code := postgrestest.Main(m)
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// program is the gateway: what "make test" has built, or one that is built here.
var program = sync.OnceValues(func() (file string, err error) {
	if file = os.Getenv("CALLGATE_PROGRAM"); file != "" {
		return file, nil
	}
	if _, err := builtin.Wasm(builtin.Name); err != nil {
		return "", err
	}
	if built, err = os.MkdirTemp("", "callgate-deploy"); err != nil {
		return "", err
	}
	file = filepath.Join(built, "callgate.exe") // a name that every system runs
	cmd := exec.Command("go", "build", "-o", file, "./cmd/gateway")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return file, nil
})

func path(t *testing.T) string {
	t.Helper()
	file, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// hashOf is how a configuration writes a key.
func hashOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// check is "callgate check", in the test's environment.
func check(t *testing.T, file string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), path(t), "check", file).CombinedOutput()
	return string(out), err
}

// gateway is one that runs as a process.
type gateway struct {
	t          *testing.T
	cmd        *exec.Cmd
	url, admin string
	log        string // the file with what it says
	exited     chan error
}

var (
	listensOn = regexp.MustCompile(` listens on (http://\S+) `)
	adminOn   = regexp.MustCompile(`: (http://\S+)/metrics,`)
)

// serve starts a gateway with a configuration file and some environment beside the test's, on free
// ports, and waits until it is ready. It ends with the test, and must end well.
func serve(t *testing.T, file string, environment ...string) *gateway {
	t.Helper()
	g := &gateway{t: t, log: filepath.Join(t.TempDir(), "log"), exited: make(chan error, 1)}
	log, err := os.Create(g.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	g.cmd = exec.Command(path(t), "serve", "-c", file, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	g.cmd.Env = append(os.Environ(), environment...)
	g.cmd.Stdout, g.cmd.Stderr = log, log
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { g.exited <- g.cmd.Wait() }()
	t.Cleanup(func() {
		if err := g.stop(); err != nil {
			t.Errorf("the gateway ended with %v\n%s", err, g.said())
		}
	})
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		text := g.said()
		if m := listensOn.FindStringSubmatch(text); m != nil {
			g.url = m[1]
		}
		if m := adminOn.FindStringSubmatch(text); m != nil {
			g.admin = m[1]
		}
		if g.url != "" && g.admin != "" {
			if status, _, _ := g.ask(http.MethodGet, g.url+"/readyz", "", nil); status == http.StatusOK {
				return g
			}
		}
		select {
		case err := <-g.exited:
			g.exited <- nil
			t.Fatalf("the gateway ended: %v\n%s", err, text)
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("the gateway is not ready after %v\n%s", patience, text)
		}
	}
}

func (g *gateway) said() string {
	text, _ := os.ReadFile(g.log)
	return string(text)
}

// stop ends the gateway as Ctrl-C does. It may be called again.
func (g *gateway) stop() error {
	if err := g.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	err := <-g.exited
	g.exited <- err
	return err
}

// kill ends it as a machine that fails does.
func (g *gateway) kill() {
	_ = g.cmd.Process.Kill()
	<-g.exited
	g.exited <- nil
}

// ask sends a request and reads the answer to its end. key may be empty.
func (g *gateway) ask(method, url, body string, header http.Header) (status int, answer http.Header, text string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("content-type", "application/json")
	}
	for name, values := range header {
		r.Header[name] = values
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, http.Header{}, err.Error()
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, resp.Header, err.Error()
	}
	return resp.StatusCode, resp.Header, string(said)
}

// post asks the clients' listener with a key.
func (g *gateway) post(path, key, body string) (status int, answer http.Header, text string) {
	g.t.Helper()
	return g.ask(http.MethodPost, g.url+path, body, http.Header{"Authorization": {"Bearer " + key}})
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// answering is the URL of a server that answers everything with the same.
func answering(t *testing.T, text string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
	t.Cleanup(s.Close)
	return s.URL
}
