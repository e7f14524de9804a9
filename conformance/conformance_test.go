package conformance_test

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/conformance"
	"github.com/callgate/callgate/plugins/builtin"
)

//go:embed known-failing.txt
var knownFailing string

// TestGateway runs the suite on the gateway of this repository, as operators run both:
// the program, and its command that starts the program.
func TestGateway(t *testing.T) {
	t.Parallel()
	program := build(t)
	if *update {
		updateCases(t, program)
		return
	}
	t.Run("command", func(t *testing.T) {
		t.Parallel()
		command(t, program)
	})
	t.Run("can fail", func(t *testing.T) {
		t.Parallel()
		canFail(t, program)
	})
}

// command runs "callgate conformance --self" once, and reads its reports.
func command(t *testing.T, program string) {
	t.Helper()
	known := filepath.Join(t.TempDir(), "known.txt")
	if err := os.WriteFile(known, []byte(knownFailing), 0o600); err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(t.TempDir(), "report")
	cmd := exec.Command(program, "conformance", "--self", "--quiet", "--known-failing", known,
		"--report", report+".json", "--report", report+".xml", "--report", report+".md")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	var r struct {
		OK     bool
		Totals conformance.Totals
		Notes  []string
		Cases  []struct{ Case, Rule, File, Verdict string }
	}
	text, err := os.ReadFile(report + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	all := len(readSuite(t))
	if !r.OK || r.Totals.Passed != all || len(r.Cases) != all {
		t.Errorf("got %+v of %d cases, want all %d passed and none skipped", r.Totals, len(r.Cases), all)
	}
	for _, n := range r.Notes {
		t.Errorf("the report notes: %s", n)
	}
	for _, c := range r.Cases {
		if c.Rule == "" || c.File != "conformance/testdata/"+c.Case+".txtar" {
			t.Errorf("got case %+v, want its rule and its file", c)
		}
	}
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
	}
	if text, err = os.ReadFile(report + ".xml"); err != nil || xml.Unmarshal(text, &suites) != nil || suites.Tests != all || suites.Failures != 0 {
		t.Errorf("got %+v in the form of JUnit (%v), want %d tests that pass", suites, err, all)
	}
	if text, err = os.ReadFile(report + ".md"); err != nil || !bytes.Contains(text, []byte("| http | ")) {
		t.Errorf("got Markdown %.300q (%v), want a table with the area http", text, err)
	}
}

// canFail changes what cases want, value by value, and wants each change to be noticed.
// Of the forms of parsers, which are alike, it takes some.
func canFail(t *testing.T, program string) {
	t.Helper()
	target, up := serve(t, program)
	n := 0
	for i, c := range readSuite(t) {
		if (c.Area() == "formats" || c.Area() == "symptoms" || c.Area() == "tools") && i%12 != 0 {
			continue
		}
		text, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(c.Name)+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		blind, err := conformance.Blind(t.Context(), target, up, c.Name, text)
		if err != nil {
			t.Error(err)
		}
		for _, what := range blind {
			t.Errorf("%s: nobody notices another %s", c.Name, what)
		}
		n++
	}
	if n < 400 {
		t.Errorf("got %d cases, want at least 400", n)
	}
}

// updateCases writes the files of want anew that the cases have.
func updateCases(t *testing.T, program string) {
	t.Helper()
	target, up := serve(t, program)
	for _, c := range readSuite(t) {
		rewrite(t, &c, conformance.Check(t.Context(), target, up, c).Failing())
	}
}

func readSuite(t *testing.T) []conformance.Case {
	t.Helper()
	cases, err := conformance.Cases()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// TestCases checks what every case of the suite has to have.
func TestCases(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	areas := map[string]int{}
	for _, c := range readSuite(t) {
		areas[c.Area()]++
		if c.Area() == c.Name {
			t.Errorf("%s: is in no area", c.Name)
		}
		if len(c.Asked) > 0 {
			t.Errorf("%s: %q are empty", c.Name, c.Asked)
		}
		if strings.TrimSuffix(c.About, ".") == c.About || len(c.Rule) < 10 || strings.HasSuffix(c.Rule, ".") {
			t.Errorf("%s: want a sentence, got %q, and a rule that says what must hold, got %q", c.Name, c.About, c.Rule)
		}
	}
	least := map[string]int{"formats": 300, "tools": 40, "symptoms": 40, "native": 40, "chat": 10, "reasoning": 10, "request": 30, "response": 20,
		"stream": 20, "sse": 20, "errors": 40, "retry": 20, "cancel": 15, "input": 40, "http": 60, "json": 50,
		"responses": 40, "messages": 30, "routes": 20, "structured": 20}
	for area, n := range areas {
		if least[area] == 0 {
			t.Errorf("the area %s is new: say here how many cases it has to have", area)
		}
		if n < least[area] {
			t.Errorf("the area %s: got %d cases, want at least %d", area, n, least[area])
		}
		if !bytes.Contains(readme, []byte("\n| `"+area+"` |")) {
			t.Errorf("README.md says nothing of the area %s", area)
		}
	}
	if len(areas) != len(least) {
		t.Errorf("got areas %v, want %v", areas, least)
	}
	beside := 0
	for area, n := range areas {
		if area != "formats" {
			beside += n
		}
	}
	if beside < 300 {
		t.Errorf("got %d cases beside those of formats, want at least 300", beside)
	}
}

const suiteKey = "conformance-key"

// serve starts the gateway with an upstream of its own, and its configuration for the
// suite.
func serve(t *testing.T, program string) (conformance.Target, *conformance.Upstream) {
	t.Helper()
	up := conformance.NewUpstream()
	url, err := up.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { up.Close() })
	listen := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/v1")
	config, err := exec.Command(program, "conformance", "config", "--upstream-listen", listen, "--key", suiteKey).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "callgate.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "serve", "-c", file, "--listen", "127.0.0.1:0")
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
	return conformance.Target{BaseURL: address + "/v1", Key: suiteKey}, up
}

// build builds the gateway. Its parsers must be there.
func build(t *testing.T) string {
	t.Helper()
	if _, err := builtin.Wasm(builtin.Name); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "callgate.exe") // a name that every system runs
	// The machine may be busy.
	const flags = "-s -w -X github.com/callgate/callgate/conformance.slack=60"
	if out, err := exec.Command("go", "build", "-ldflags", flags, "-o", file, "../cmd/gateway").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return file
}

// awaitReady waits until the parsers are compiled.
func awaitReady(t *testing.T, address string) {
	t.Helper()
	said := ""
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
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
