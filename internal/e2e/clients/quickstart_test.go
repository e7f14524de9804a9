//go:build unix

package clients_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/e2e/gate"
	"github.com/callgate/callgate/internal/install"
)

const repository = "https://github.com/callgate/callgate"

var (
	shownCurl = regexp.MustCompile(`(?s)^\$ (curl .*?')\n\n(.*)`)
	inline    = regexp.MustCompile("`(bin/callgate (?:demo|doctor)[^`]*)`")
	listening = regexp.MustCompile(`callgate listens on (http://\S+) `)
)

// TestQuickstart follows docs/quickstart.md in an empty directory: it clones, builds and serves
// as the page says, sends the call that is shown and compares the answer, runs the commands that
// the text names, and ends with the same call through the gateway in front of a server. Only the
// addresses are others, and what is cloned is this repository.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"git", "make", "curl"} {
		if _, err := exec.LookPath(name); err != nil {
			need(t, install.MissingError{What: name + " is not installed", Remedy: "install it: the quickstart uses it"})
		}
	}
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		need(t, install.MissingError{What: "this is no clone of the repository", Remedy: "git clone " + repository})
	}
	page, err := os.ReadFile(filepath.Join(docs, "quickstart.md"))
	if err != nil {
		t.Fatal(err)
	}
	var starts []string
	curl, answer := "", ""
	for _, b := range blocksOf(string(page)) {
		if m := shownCurl.FindStringSubmatch(b.text); m != nil {
			curl, answer = m[1], m[2]
		} else {
			starts = append(starts, b.text)
		}
	}
	if len(starts) != 2 || curl == "" {
		t.Fatalf("docs/quickstart.md has the commands %q and the call %q, want two commands that serve, and a call", starts, curl)
	}
	dir := t.TempDir()
	env := append(bareEnv(), "HOME="+dir, "XDG_CACHE_HOME="+cacheDir(t), "GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"), "CALLGATE_LISTEN=127.0.0.1:0", "CALLGATE_ADMIN=off",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=url."+root+".insteadOf", "GIT_CONFIG_VALUE_0="+repository,
		"GIT_CONFIG_KEY_1=safe.directory", "GIT_CONFIG_VALUE_1=*")
	url := starting(t, dir, env, starts[0])
	dir = filepath.Join(dir, "callgate")
	ask := func(url string) string {
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", strings.Replace(curl, shownURL, url, 1))
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	want := strings.ReplaceAll(regexp.QuoteMeta(strings.ReplaceAll(strings.TrimSpace(answer), "\n", "")), "…", `.*`)
	if got := ask(url); !regexp.MustCompile("^" + want + "$").MatchString(strings.TrimSpace(got)) {
		t.Errorf("got %s\nwant what the page shows:\n%s", got, answer)
	}
	up := httptest.NewServer(http.HandlerFunc(writeCall))
	t.Cleanup(up.Close)
	commands := 0
	for _, m := range inline.FindAllStringSubmatch(string(page), -1) {
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", strings.Replace(m[1], "URL", up.URL+"/v1", 1))
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil || len(out) == 0 {
			t.Errorf("%s: %v\n%s", m[1], err, out)
		}
		commands++
	}
	if commands < 3 {
		t.Errorf("got %d commands in the text, want 3 or more: are they found?", commands)
	}
	front := strings.Replace(starts[1], "http://127.0.0.1:8000", up.URL, 1)
	if front == starts[1] {
		t.Errorf("got %q, want a server's address in it", front)
	}
	if got, call := ask(starting(t, dir, env, front)), `"tool_calls":[{`; !strings.Contains(got, call) || !strings.Contains(got, `Oslo`) {
		t.Errorf("got %s from in front of a server, want a call of it", got)
	}
}

// writeCall answers as a server whose model writes a call as text.
func writeCall(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/models") {
		io.WriteString(w, `{"object":"list","data":[{"id":"m","object":"model","created":1,"owned_by":"vllm"}]}`)
		return
	}
	io.WriteString(w, show(map[string]any{"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": []any{map[string]any{
		"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant",
			"content": "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"}}}}))
}

// starting runs commands of which the last one serves, until it says where, and stops them with
// what they have started when the test ends.
func starting(t *testing.T, dir string, env []string, commands string) (url string) {
	t.Helper()
	said := create(t, "stdout")
	cmd := exec.Command("sh", "-e", "-c", commands)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		select {
		case <-ended:
		case <-time.After(patience):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			t.Errorf("%q did not end when it was interrupted", commands)
		}
	})
	var text []byte
	what := ""
	gate.Await(t, "a gateway that serves after "+commands, func() bool {
		select {
		case err := <-ended:
			ended <- err
			text, _ = os.ReadFile(said.Name())
			t.Fatalf("%q ended: %v\n%s", commands, err, text)
		default:
		}
		text, _ = os.ReadFile(said.Name())
		what = string(text)
		return listening.Match(text) && bytes.Contains(text, []byte(`"ready"`))
	}, &what)
	return string(listening.FindSubmatch(text)[1])
}

func create(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
