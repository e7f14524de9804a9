package clients_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/plugins/builtin"
)

// config is a configuration of the gateway. As JSON it is YAML too.
type config struct {
	Providers map[string]any            `json:"providers"`
	Models    map[string]map[string]any `json:"models"`
	Admin     any                       `json:"admin"`
}

func newConfig() *config {
	return &config{Providers: map[string]any{}, Models: map[string]map[string]any{}, Admin: map[string]string{"listen": "off"}}
}

// target is one of a model's.
type target struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Parser   string `json:"parser,omitempty"`
	Tools    string `json:"tools,omitempty"`
}

// route adds a model with its targets.
func (c *config) route(model string, targets ...target) {
	c.Models[model] = map[string]any{"targets": targets}
}

// gate is a running gateway.
type gate struct {
	url string // with its /v1
	log string // the file that it logs to
}

// serve builds and starts the gateway. It is stopped, and must end well, when the
// test ends.
func serve(t *testing.T, c *config) gate {
	t.Helper()
	if _, err := builtin.Wasm(builtin.Name); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "callgate.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "callgate.exe") // a name that every system runs
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/gateway").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	g := gate{log: filepath.Join(dir, "log")}
	log, err := os.Create(g.log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	cmd := exec.Command(program, "serve", "-c", file, "--listen", "127.0.0.1:0")
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	first, _ := lines.ReadString('\n')
	go io.Copy(io.Discard, lines)
	t.Cleanup(func() { stop(t, cmd, g) })
	_, rest, found := strings.Cut(first, " listens on ")
	address, _, _ := strings.Cut(rest, " ")
	if !found {
		t.Fatalf("got %q, want a gateway that starts", first)
	}
	awaitReady(t, address)
	g.url = address + "/v1"
	return g
}

func stop(t *testing.T, cmd *exec.Cmd, g gate) {
	t.Helper()
	interrupted := cmd.Process.Signal(os.Interrupt)
	if interrupted != nil { // it has ended by itself, or the system cannot interrupt
		_ = cmd.Process.Kill()
	}
	if err := cmd.Wait(); err != nil && interrupted == nil {
		text := g.logged(t)
		t.Errorf("the gateway ended with %v; the end of its log:\n%s", err, text[max(0, len(text)-4000):])
	}
}

// logged is the log so far.
func (g gate) logged(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(g.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lines are those of the log that have a text in them.
func (g gate) lines(t *testing.T, with string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(g.logged(t)) {
		if strings.Contains(line, with) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// awaitLog waits until the log has each of some request ids. A line is written
// when its request is over, which a client may notice first.
func (g gate) awaitLog(t *testing.T, ids []string) {
	t.Helper()
	var lacks string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		text := g.logged(t)
		lacks = ""
		for _, id := range ids {
			if !strings.Contains(text, fmt.Sprintf(`"id":%q`, id)) {
				lacks = id
			}
		}
		if lacks == "" {
			return
		}
	}
	t.Errorf("got the request id %q from the SDK, want it in the gateway's log", lacks)
}

// awaitRequests waits until the log has as many requests for each model as it should,
// and checks that it has no more. Whoever sends them must have ended.
func (g gate) awaitRequests(t *testing.T, want map[string]int) {
	t.Helper()
	var got map[string]int
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		got = g.requests(t)
		lacks := false
		for model, n := range want {
			lacks = lacks || got[model] < n
		}
		if !lacks {
			break
		}
	}
	for model, n := range want {
		if got[model] != n {
			t.Errorf("got %d requests for the model %s, want %d", got[model], model, n)
		}
	}
}

// requests counts the requests in the log, by their models.
func (g gate) requests(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for line := range strings.Lines(g.logged(t)) {
		var of struct{ Msg, Model string }
		if json.Unmarshal([]byte(line), &of) == nil && of.Msg == "request" { // the last line may be half there
			counts[of.Model]++
		}
	}
	return counts
}

// awaitReady waits until the parsers are compiled.
func awaitReady(t *testing.T, address string) {
	t.Helper()
	said := ""
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(address + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if said = string(body); resp.StatusCode == http.StatusOK {
			return
		}
	}
	t.Fatalf("got a gateway that is not ready: %s", said)
}
