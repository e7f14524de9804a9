package clients_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/e2e/gate"
	"github.com/callgate/callgate/internal/install"
)

// The files that pin servers of tools, and the official suite that checks clients of them.
const (
	toolPackage = "testdata/toolservers/package.json"
	toolLock    = "testdata/toolservers/package-lock.json"
	toolPython  = "testdata/toolservers/requirements.txt"
	toolServer  = "testdata/toolservers/server.py"
)

// installToolServers installs what package.json of the tool servers pins, and gives Node and the
// directory.
func installToolServers(ctx context.Context) (nodeSDKs, error) {
	node, err := findNode(ctx)
	if err != nil {
		return nodeSDKs{}, err
	}
	pins := []string{toolPackage, toolLock}
	dir, err := installOnce("toolservers", "", pins, func(dir string) error { return node.install(ctx, dir, pins) })
	if err != nil {
		return nodeSDKs{}, install.MissingError{
			What:   fmt.Sprintf("the servers of tools for Node are not installed (%v)", err),
			Remedy: "cd internal/e2e && go test ./clients -run TestToolServers, where npm's registry is in reach",
		}
	}
	return nodeSDKs{node.program, dir}, nil
}

// eras are the versions of the protocol whose required scenarios are played, all of them: those with a handshake
// and sessions, and those without.
var eras = []string{"2025-11-25", "2026-07-28"}

// leftOut are scenarios that no version requires (extensions, or an older version's), with the reason why the
// gateway does not have what they want.
var leftOut = map[string]string{
	"auth/client-credentials-jwt":               "a key of the gateway's own instead of a client_secret: the SDK has no such grant",
	"auth/enterprise-managed-authorization":     "needs the token of a user who has signed in at the client, and the gateway's clients have keys",
	"auth/dpop":                                 "tokens that are bound to a key: the SDK has none",
	"auth/dpop-nonce":                           "the same",
	"auth/wif-jwt-bearer":                       "a workload's own token from its platform: the SDK has no such grant",
	"auth/2025-03-26-oauth-metadata-backcompat": "of a version without the metadata that says who may give a token, superseded by 2025-06-18",
	"auth/2025-03-26-oauth-endpoint-fallback":   "the same",
	"sep-2640-client-no-prefetch":               "files of skills: the gateway reads tools alone",
	"sep-2640-client-verify-digest":             "the same",
	"sep-2640-client-verify-size":               "the same",
	"sep-2640-client-verify-frontmatter":        "the same",
}

// TestToolServersConformance has the official suite check the gateway's way of speaking to
// servers, in both eras of the protocol: what the suite requires of a version passes, signing in by OAuth
// included. What it knows beside that is left out for a reason, or passes, too.
func TestToolServersConformance(t *testing.T) {
	t.Parallel()
	node, err := installToolServers(t.Context())
	need(t, err)
	program := filepath.Join(t.TempDir(), "mcpclient")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "../mcpclient").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(t *testing.T, args ...string) (string, error) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), node.program, append([]string{filepath.Join(node.dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")}, args...)...)
		cmd.Env, cmd.Dir = append(os.Environ(), "NO_COLOR=1"), t.TempDir()
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	played := map[string]bool{}
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			var out string
			var all []suiteLine
			// The suite plays all scenarios at once, against time limits of its own, which a busy machine
			// does not keep: what fails is to fail three times.
			for range 3 {
				out, _ = run(t, "client", "--command", program, "--requirements", version) // its status counts extensions, too
				all = readSuite(out, version)
				failed := slices.IndexFunc(all, func(s suiteLine) bool { return s.required && !s.passed })
				if failed < 0 {
					break
				}
				t.Logf("%s did not pass", all[failed].name)
			}
			if len(all) == 0 {
				t.Fatalf("got no summary:\n%s", out)
			}
			required := 0
			for _, s := range all {
				played[s.name] = true
				switch {
				case s.required:
					required++
					if !s.passed {
						t.Errorf("%s is required, and does not pass:\n%s", s.name, out)
					}
				case !s.passed && leftOut[s.name] == "":
					t.Errorf("%s is not required, does not pass, and has no reason", s.name)
				case s.passed && leftOut[s.name] != "":
					t.Errorf("%s passes, and need not be left out", s.name)
				}
			}
			if least := map[string]int{"2025-11-25": 18, "2026-07-28": 32}[version]; required != least {
				t.Errorf("got %d required scenarios, want the %d of the version", required, least)
			}
		})
	}
	all, err := run(t, "list", "--client")
	if err != nil {
		t.Fatalf("%v\n%s", err, all)
	}
	for _, m := range regexp.MustCompile(`(?m)^  - (\S+) \[`).FindAllStringSubmatch(all, -1) {
		if name := m[1]; !played[name] && leftOut[name] == "" {
			t.Errorf("the suite has the scenario %s, which is neither played nor left out for a reason", name)
		}
	}
}

// suiteLine is a scenario of the suite's summary.
type suiteLine struct {
	name             string
	required, passed bool
}

// readSuite gives the scenarios of what the suite prints about a version; none if it has no summary.
func readSuite(out, version string) (all []suiteLine) {
	_, summary, _ := strings.Cut(out, "SUITE SUMMARY")
	scored, others, ok := strings.Cut(summary, "Not scored for "+version)
	if !ok {
		return nil
	}
	for _, m := range regexp.MustCompile(`(?m)^([✓✗~]) (\S+): (\d+) passed`).FindAllStringSubmatch(scored, -1) {
		all = append(all, suiteLine{m[2], !strings.Contains(others, " "+m[2]+" ("), m[1] == "✓" && m[3] != "0"})
	}
	return all
}

// toolResult is what callgate tools call --json prints.
type toolResult struct {
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured"`
	Failed     bool            `json:"failed"`
	Dropped    []string        `json:"dropped"`
	Error      struct {
		Type string `json:"type"`
	} `json:"error"`
}

// TestToolServers calls the tools of real servers through the gateway's program: the reference
// server "everything" over both transports, and one of the SDK for Python.
func TestToolServers(t *testing.T) {
	t.Parallel()
	node, err := installToolServers(t.Context())
	need(t, err)
	interpreter, err := installVenv(t.Context(), "python-toolservers", toolPython)
	var missing install.MissingError
	if err != nil && !errors.As(err, &missing) {
		err = install.MissingError{What: fmt.Sprintf("the SDK for Python is not installed (%v)", err), Remedy: "cd internal/e2e && go test ./clients -run TestToolServers, where PyPI is in reach"}
	}
	need(t, err)
	server, err := filepath.Abs(toolServer)
	if err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(node.dir, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	port := serveEverything(t, node.program, index)
	dir := t.TempDir()
	file := func(server string) string { return filepath.Join(dir, server+".yaml") }
	for name, how := range map[string]string{
		"node": fmt.Sprintf("command: [%q, %q, stdio]", node.program, index), "web": fmt.Sprintf("url: %q", "http://127.0.0.1:"+port+"/mcp"),
		"python": fmt.Sprintf("command: [%q, %q]", interpreter, server),
	} {
		text := fmt.Sprintf("providers: {d: {type: demo}}\ntool_servers: {%s: {type: mcp, timeout: 1m, %s}}\n", name, how)
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		list, complaints, status := gate.Run(t, "tools", "list", "-c", file(name))
		if task := fmt.Sprintf("missing: %s/simulate-research-query: It is left out: it runs only as a task", name); name != "python" && strings.Count(list, task) != 1 {
			t.Errorf("%s: want the tool that runs only as a task left out, got\n%s", name, list)
		}
		if status != 0 || strings.Count(list, "missing: ") != strings.Count(list, "simulate-research-query") {
			t.Fatalf("%s: got status %d\n%s%s", name, status, list, complaints)
		}
	}
	for _, c := range []struct {
		name, arguments, text, structured, dropped, kind string
		failed                                           bool
	}{
		{name: "node__echo", arguments: `{"message":"hi"}`, text: "Echo: hi"},
		{name: "web__echo", arguments: `{"message":"hi"}`, text: "Echo: hi"},
		{name: "node__get-sum", arguments: `{"a":1,"b":2}`, text: "The sum of 1 and 2 is 3."},
		{name: "web__get-tiny-image", arguments: `{}`, text: "MCP logo", dropped: "image"},
		{name: "node__get-structured-content", arguments: `{"location":"Chicago"}`, structured: `"temperature":36`},
		{name: "web__get-structured-content", arguments: `{"location":"Chicago"}`, structured: `"temperature":36`},
		{name: "node__get-resource-links", arguments: `{"count":2}`, dropped: "resource_link"},
		{name: "node__echo", arguments: `{}`, text: "message", failed: true},
		{name: "node__nothing", arguments: `{}`, kind: "unknown_tool", failed: true},
		{name: "python__add", arguments: `{"a":1,"b":2}`, text: "3", structured: `"result": 3`},
		{name: "python__nested", arguments: `{"what":{"n":12345678901234567890}}`, structured: "12345678901234567890"},
		{name: "python__fail", arguments: `{}`, text: "fail", failed: true},
	} {
		out, complaints, status := gate.Run(t, "tools", "call", c.name, c.arguments, "-c", file(strings.Split(c.name, "__")[0]), "--json")
		var got toolResult
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Errorf("%s: %v\n%s%s", c.name, err, out, complaints)
			continue
		}
		if got.Failed != c.failed || (status != 0) != c.failed || got.Error.Type != c.kind || !strings.Contains(got.Text, c.text) ||
			!strings.Contains(strings.ReplaceAll(string(got.Structured), " ", ""), strings.ReplaceAll(c.structured, " ", "")) || !strings.Contains(strings.Join(got.Dropped, " "), c.dropped) {
			t.Errorf("%s %s: got %s (%s)", c.name, c.arguments, out, complaints)
		}
	}
	// The reference server tells its environment: it has nothing of the gateway's.
	for _, name := range []string{"node__get-env", "python__environment"} {
		out, _, _ := gate.Run(t, "tools", "call", name, "-c", file(strings.Split(name, "__")[0]))
		if !strings.Contains(out, "PATH") || strings.Contains(out, "CALLGATE_") || strings.Contains(out, "GOCACHE") {
			t.Errorf("%s: got %s", name, out)
		}
	}
}

// serveEverything starts the reference server over HTTP and gives its port.
func serveEverything(t *testing.T, node, index string) string {
	t.Helper()
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	cmd := exec.Command(node, index, "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	gate.Await(t, "the reference server", func() bool {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return port
}
