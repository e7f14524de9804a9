package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/conformance"
	"github.com/callgate/callgate/internal/testserver"
)

// TestConformance runs a part of the suite on a gateway. Package conformance runs all.
func TestConformance(t *testing.T) {
	t.Parallel()
	upstream := testserver.Refusing(t) // until the suite listens there
	const key = "sk-suite"
	g := serve(t, callgateConfig([]string{"none", "hermes", "auto"}, "http://"+upstream+"/v1", key, ""))
	elsewhere := serve(t, "providers: {demo: {type: demo}}\nmodels: {none: {targets: [{provider: demo, model: hermes}]}}\n")
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	target := []string{"--target", "http://" + g.addr + "/v1", "--key", key, "--upstream-listen", upstream}
	report := filepath.Join(dir, "report.md")
	for _, tt := range []struct { // one after the other: they listen on the same address
		name           string
		args           []string
		status         int
		stdout, stderr string
	}{
		{"a part", append(target, "--run", "^(chat|json)/", "--report", report), exitOK, "core: ", "its upstream is http://" + upstream},
		{"quietly", append(target, "-q", "--run", "^chat/plain"), exitOK, "core: 1 of 1 cases passed, 0 failed", ""},
		{"some features", append(target, "-q", "--run", "^tools/hermes_one", "--features", "chat,tools"), exitOK, "1 exchanges in", ""},
		{"without a feature", append(target, "-q", "--run", "^json/", "--without", "strict"), exitOK, "skipped: the target does not claim strict", ""},
		{"some models", append(target, "-q", "--run", "^(chat|tools)/", "--models", "none=none"), exitOK, "skipped: the target has no model with the parser hermes", ""},
		{"models that are not there", append(target, "-q", "--run", "^chat/", "--models", "none=nope"), exitFailed, "", "model_not_found"},
		{"a prefix that is not there", append(target, "-q", "--wait", "0s", "--run", "^chat/", "--model-prefix", "x-"), exitFailed, "", "does not lead to the suite's upstream"},
		{"another upstream", []string{"-q", "--target", "http://" + elsewhere.addr + "/v1", "--upstream-listen", upstream, "--run", "parser_none"}, exitFailed, "", "answered, but by another upstream"},
		{"a known failure that passes", append(target, "-q", "--run", "^chat/", "--known-failing", file("known", "chat/plain_text # mended\n")), exitFailed, "KNOWN_PASSING: chat/plain_text", ""},
		{"a known failure that is none", append(target, "-q", "--known-failing", file("unknown", "chat/nope\n")), exitFailed, "", "chat/nope"},
		{"without its key", []string{"-q", "--target", "http://" + g.addr + "/v1", "--upstream-listen", upstream}, exitFailed, "", "status 401"},
		{"a warning", append(target, "--run", "^chat/plain"), exitOK, "", "circuit breakers"},
		{"a level", append(target, "-q", "--run", "^errors/unknown_model$", "--level", "callgate"), exitOK, "callgate: 1 of 1 cases passed", ""},
		{"an unknown level", append(target, "--level", "best"), exitUsage, "", "--level"},
		{"a header", append(target, "-q", "--run", "^chat/plain", "--header", "X-A: b", "--header", "X-C: d, e"), exitOK, "core: 1 of 1 cases passed", ""},
		{"a header that is none", append(target, "-q", "--header", "X-A"), exitUsage, "", "a name, a colon and a value"},
		{"no target", nil, exitUsage, "", "--target"},
		{"a target that is no URL", []string{"--target", "localhost:4000"}, exitUsage, "", `--target: "localhost:4000" is not a URL such as http://127.0.0.1:4000/v1`},
		{"two targets", append(target, "--self"), exitUsage, "", "--self"},
		{"unknown feature", append(target, "--features", "magic"), exitUsage, "", `no feature "magic"`},
		{"both lists of features", append(target, "--features", "chat", "--without", "tools"), exitUsage, "", "exclude each other"},
		{"unknown report", append(target, "--report", "x.pdf"), exitUsage, "", ".json, .xml or .md"},
		{"bad expression", append(target, "--run", "("), exitUsage, "", "--run"},
		{"nothing to run", append(target, "-q", "--run", "^nothing$"), exitFailed, "", "no case has a name that matches"},
		{"no cases at once", append(target, "--parallel", "0"), exitUsage, "", "--parallel must be above 0"},
		{"an address that is taken", []string{"--target", "http://" + g.addr + "/v1", "--upstream-listen", g.addr}, exitUsage, "", "--upstream-listen"},
	} {
		var stdout, stderr bytes.Buffer
		conform := func() int {
			stdout.Reset()
			stderr.Reset()
			return run(t.Context(), append([]string{"conformance"}, tt.args...), readerOf(""), &stdout, &stderr)
		}
		status := conform()
		// A child of another test has the address for a moment more, between its fork and its exec.
		for try := 0; try < 20 && status == exitUsage && tt.status != exitUsage && strings.Contains(stderr.String(), "address already in use"); try++ {
			time.Sleep(100 * time.Millisecond)
			status = conform()
		}
		if status != tt.status || !strings.Contains(stdout.String(), tt.stdout) || !strings.Contains(stderr.String(), tt.stderr) {
			t.Errorf("%s: got status %d, %q and %q; want %d, %q and %q", tt.name, status, stdout.String(), stderr.String(), tt.status, tt.stdout, tt.stderr)
		}
	}
	if text, err := os.ReadFile(report); err != nil || !strings.Contains(string(text), "| json | ") {
		t.Errorf("got report %.200q (%v), want a table with json", text, err)
	}
}

// TestConformanceFails runs cases that the gateway, told otherwise, must fail, and looks
// at what is said of them.
func TestConformanceFails(t *testing.T) {
	t.Parallel()
	upstream := testserver.Refusing(t) // until the suite listens there
	g := serve(t, callgateConfig([]string{"none"}, "http://"+upstream+"/v1", "", ""))
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), []string{"conformance", "--target", "http://" + g.addr + "/v1", "--upstream-listen", upstream,
		"--models", "hermes=none", "--run", "^tools/hermes_one_call$"}, readerOf(""), &stdout, &stderr)
	if status != exitFailed {
		t.Errorf("got status %d, want %d", status, exitFailed)
	}
	for _, want := range []string{"FAILED: tools/hermes_one_call\n", "  rule: ", "  file: conformance/testdata/tools/hermes_one_call.txtar\n",
		"got 0 tool calls, want 1", "stream, rune by rune:", "the answer, status 200:", "core: 0 of 1 cases passed, 1 failed", "NousResearch"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("got %q, want %q in it", stdout.String(), want)
		}
	}
	if !strings.Contains(stderr.String(), "FAILED tools/hermes_one_call\n") {
		t.Errorf("got progress %q, want the case that failed", stderr.String())
	}
}

// TestConformanceConfig checks the configurations that are printed for gateways.
func TestConformanceConfig(t *testing.T) {
	t.Parallel()
	cases, err := conformance.Cases()
	if err != nil {
		t.Fatal(err)
	}
	printed := func(args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), append([]string{"conformance", "config"}, args...), readerOf(""), &stdout, &stderr); status != exitOK {
			t.Fatalf("got status %d: %s", status, stderr.String())
		}
		return stdout.String()
	}
	var checked, stderr bytes.Buffer
	file := configFile(t, printed("--upstream-listen", "127.0.0.1:7", "--key", "sk-suite", "--model-prefix", "x-"))
	if status := run(t.Context(), []string{"check", file}, readerOf(""), &checked, &stderr); status != exitOK || !strings.Contains(checked.String(), "http://127.0.0.1:7/v1") {
		t.Errorf("got status %d and %s from check, want %d", status, stderr.String(), exitOK)
	}
	for _, want := range []string{"master_key: os.environ/LITELLM_MASTER_KEY", "disable_cooldowns: true", "anthropic/upstream-messages"} {
		if text := printed("litellm"); !strings.Contains(text, want) {
			t.Errorf("litellm: got no %q in %.600s", want, text)
		}
	}
	for _, form := range []string{"callgate", "litellm", "list"} {
		text := printed(form, "--model-prefix", "x-")
		for _, reader := range conformance.Readers(cases) {
			if !strings.Contains(text, "x-"+reader) || !strings.Contains(text, "upstream-"+reader) {
				t.Errorf("%s: got no model for %s", form, reader)
			}
		}
		if strings.Contains(text, "sk-suite") {
			t.Errorf("%s: got the key", form)
		}
	}
}

// TestConformanceUnread holds that the suite ends the gateway that it has started also where nobody reads what it
// prints, as behind | head.
func TestConformanceUnread(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	from.Close()
	c := exec.Command("callgate", "conformance", "--self", "--run", "^cancel/") // TestMain has put it into the path
	c.Env, c.Stdout = append(os.Environ(), "TMPDIR="+dir, "TMP="+dir), to
	_ = c.Run()
	if c.ProcessState.ExitCode() < 0 {
		t.Errorf("got %s, want an end by itself", c.ProcessState)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("got what is left of its gateway: %v, %v", left, err)
	}
}
