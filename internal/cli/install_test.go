package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installed is a program as go install builds it, without its parsers.
type installed struct {
	program string
	env     []string
}

// goInstall builds one. It keeps nothing yet, and Go has what it has built.
func goInstall(t *testing.T) *installed {
	t.Helper()
	dist, err := filepath.Abs("../../plugins/builtin/dist")
	if err != nil {
		t.Fatal(err)
	}
	gone := map[string]string{}
	for _, name := range []string{"builtin.wasm", "template.wasm"} {
		gone[filepath.Join(dist, name)] = ""
	}
	overlay, err := json.Marshal(map[string]any{"Replace": gone})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "callgate.exe") // a name that every system runs
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-overlay", file, "-o", program, "../../cmd/callgate").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	goCache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(dir, "cache")
	return &installed{program, append(os.Environ(), "XDG_CACHE_HOME="+cache, "LocalAppData="+cache, "HOME="+dir, "GOCACHE="+strings.TrimSpace(string(goCache)))}
}

// command is a command line of the program, which finds Go or does not.
func (b *installed) command(t *testing.T, hasGo bool, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), b.program, args...)
	c.Env = b.env
	if !hasGo {
		c.Env = append(c.Env, "PATH="+t.TempDir())
	}
	return c
}

// run runs it on a text with a tool call.
func (b *installed) run(t *testing.T, hasGo bool, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	c := b.command(t, hasGo, args...)
	var out, errs strings.Builder
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(hermesCall), &out, &errs
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// TestInstall runs a program as go install builds it. Without Go every command that needs the
// parsers says in one line what is missing; with Go the first compiles them, and they are kept.
func TestInstall(t *testing.T) {
	t.Parallel()
	b := goInstall(t)
	const missing = `callgate: this program came without its parsers, as "go install" builds it, and needs Go to compile them: ` +
		`there is no "go" in PATH; install it from https://go.dev/dl, or use a program that "make build" has made` + "\n"
	for _, args := range [][]string{
		{"parse"}, {"demo"}, {"plugin", "list"}, {"plugin", "inspect"}, {"plugin", "new", "nova"}, {"plugin", "bench", b.program},
	} {
		if _, stderr, status := b.run(t, false, args...); stderr != missing || status == exitOK {
			t.Errorf("%s without Go: got status %d and\n%swant\n%s", args, status, stderr, missing)
		}
	}
	b.servesNative(t)
	stdout, stderr, status := b.run(t, true, "parse", "--parser", "hermes")
	if status != exitOK || !strings.Contains(stdout, `"name": "get_weather"`) || stderr != "callgate: "+compilingParsers+"\n" {
		t.Fatalf("with Go: got status %d, %s and %s, want the call, and to be told what takes so long", status, stdout, stderr)
	}
	again, stderr, status := b.run(t, false, "parse", "--parser", "hermes")
	if status != exitOK || again != stdout || stderr != "" {
		t.Errorf("then without Go: got status %d, %s and %s, want the parsers that are kept", status, again, stderr)
	}
}

// servesNative holds that a gateway without parsers says so once, is not ready, and serves the
// models that need none.
func (b *installed) servesNative(t *testing.T) {
	t.Helper()
	file := configFile(t, "listen: 127.0.0.1:0\nadmin: {listen: off}\nproviders: {demo: {type: demo}}\nmodels:\n"+
		"  native: {targets: [{provider: demo, model: native, parser: none}]}\n  text: {targets: [{provider: demo, model: hermes, parser: hermes}]}\n")
	c := b.command(t, false, "serve", "-c", file)
	var log buffer
	c.Stderr = &log
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	first, _ := bufio.NewReader(stdout).ReadString('\n')
	_, rest, _ := strings.Cut(first, " listens on ")
	address, _, _ := strings.Cut(rest, " ")
	defer http.DefaultClient.CloseIdleConnections()
	get := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("content-type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	ask := func(model string) (int, string) {
		return get(http.MethodPost, "/v1/chat/completions", strings.Replace(tryBody, "demo/hermes", model, 1))
	}
	if status, body := ask("text"); status != http.StatusServiceUnavailable || !strings.Contains(body, "plugin_error") {
		t.Errorf("a model whose text is read: got %d, %s, want it refused", status, body)
	}
	if status, body := ask("native"); status != http.StatusOK || !strings.Contains(body, `"name":"get_weather"`) {
		t.Errorf("a model with native calls: got %d, %s, want its call", status, body)
	}
	if status, body := get(http.MethodGet, "/readyz", ""); status != http.StatusServiceUnavailable || !strings.Contains(body, "came without its parsers") {
		t.Errorf("/readyz: got %d, %s, want what is missing", status, body)
	}
	if got := log.String(); strings.Count(got, `"level":"ERROR"`) != 1 || !strings.Contains(got, `"msg":"no parsers: `) {
		t.Errorf("got the log\n%s\nwant one error, that there are no parsers", got)
	}
}
