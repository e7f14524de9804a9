package conformance_test

import (
	"bufio"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/conformance"
	"github.com/callgate/callgate/conformance/conformancetest"
	"github.com/callgate/callgate/plugins/builtin"
	"github.com/callgate/callgate/wasm-parsers/all"
)

//go:embed known-failing.txt
var knownFailing string

// TestGateway runs the suite on the gateway of this repository, as the program that
// operators run.
func TestGateway(t *testing.T) {
	t.Parallel()
	up := conformance.NewUpstream()
	url, err := up.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { up.Close() })
	readers := readers(t)
	target := conformance.Target{BaseURL: serve(t, url, readers), Model: func(reader string) string {
		if _, ok := readers[reader]; !ok {
			return ""
		}
		return reader
	}}
	if !*update {
		conformancetest.Run(t, target, up, conformance.Options{Known: conformance.ReadKnown(knownFailing), Parallel: 4})
		return
	}
	for _, c := range readSuite(t) {
		rewrite(t, &c, conformance.Check(t.Context(), target, up, c).Failing())
	}
}

// readers are the readers of the suite's cases whose parser is there, each with what
// a target's configuration says of it.
func readers(t *testing.T) map[string]string {
	t.Helper()
	known := map[string]bool{"auto": true, "none": true, "my_format": true}
	for _, s := range all.Specs() {
		for _, name := range append(s.Aliases, s.Name) {
			known[name] = true
		}
	}
	found := map[string]string{}
	for _, c := range readSuite(t) {
		settings := "parser: " + c.Parser
		if c.Open {
			settings += ", reasoning: open"
		}
		if known[c.Parser] {
			found[c.Reader()] = settings
		}
	}
	return found
}

func readSuite(t *testing.T) []conformance.Case {
	t.Helper()
	cases, err := conformance.Cases()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// config has one model for each reader, named as the reader is. The limits are
// wide: a busy machine must not fail a case about text, nor a case that fails the next one.
const config = `
providers:
  suite: {type: openai, base_url: %s, circuit_breaker: {failure_threshold: 1000}}
parsers:
  my_format: {start: "<<call ", end: ">>", body: name_json}
plugins: {dir: "", limits: {time: 10s, total: 60s}}
log: {level: debug}
admin: {listen: off}
models:
`

// serve starts the gateway with an upstream and returns its base URL.
func serve(t *testing.T, upstream string, readers map[string]string) string {
	t.Helper()
	text := fmt.Sprintf(config, upstream)
	for reader, settings := range readers {
		text += fmt.Sprintf("  %s: {targets: [{provider: suite, model: upstream-%s, %s}]}\n", reader, reader, settings)
	}
	file := filepath.Join(t.TempDir(), "callgate.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(build(t), "serve", "-c", file, "--listen", "127.0.0.1:0")
	var log bytes.Buffer
	cmd.Stderr = &log
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
	t.Cleanup(func() {
		interrupted := cmd.Process.Signal(os.Interrupt)
		if interrupted != nil { // it has ended by itself, or the system cannot interrupt
			_ = cmd.Process.Kill()
		}
		if err := cmd.Wait(); err != nil && interrupted == nil {
			t.Errorf("the gateway ended with %v", err)
		}
		if t.Failed() {
			t.Logf("the end of the gateway's log:\n%s", log.Bytes()[max(0, log.Len()-4000):])
		}
	})
	_, rest, found := strings.Cut(first, " listens on ")
	address, _, _ := strings.Cut(rest, " ")
	if !found {
		t.Fatalf("the gateway did not start; it said %q", first)
	}
	awaitReady(t, address)
	return address + "/v1"
}

// build builds the gateway. Its parsers must be there.
func build(t *testing.T) string {
	t.Helper()
	if _, err := builtin.Wasm(builtin.Name); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "callgate.exe") // a name that every system runs
	if out, err := exec.Command("go", "build", "-o", file, "../cmd/gateway").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return file
}

// awaitReady waits until the parsers are compiled.
func awaitReady(t *testing.T, address string) {
	t.Helper()
	said := ""
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
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
	t.Fatalf("the gateway is not ready: %s", said)
}
