package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/install"
	"github.com/callgate/callgate/providers/providertest/scripted"
)

// snippets is where the programs are that the documentation shows.
const snippets = "../../../conformance/clients"

// snippet is a program that plays the scripted loop with a client whose base URL is set, and
// nothing else.
type snippet struct {
	name  string
	base  string   // what the client wants behind the gateway's address
	modes []string // each is a run
	run   func(t *testing.T, args []string) []byte
}

// defaults are all snippets. What they need is installed at most once.
func defaults() []snippet {
	py := sync.OnceValues(installDefaults)
	js := sync.OnceValues(func() (nodeSDKs, error) { return installNode(context.Background()) })
	two := []string{"whole", "streamed"}
	kept := []string{"whole", "streamed", "conversation", "conversation streamed"}
	return []snippet{
		{"ai_sdk", "/v1", []string{"whole", "streamed", "anthropic whole", "anthropic streamed"}, nodeSnippet("ai_sdk", js)},
		{"agents_python", "/v1", two, pythonSnippet("agents_python", py)},
		{"agents_js", "/v1", two, nodeSnippet("agents_js", js)},
		{"openai_python", "/v1", kept, pythonSnippet("openai_python", py)},
		{"openai_node", "/v1", kept, nodeSnippet("openai_node", js)},
		{"anthropic_python", "", two, pythonSnippet("anthropic_python", py)},
		{"anthropic_typescript", "", two, nodeSnippet("anthropic_typescript", js)},
		{"pydantic_ai", "/v1", two, pythonSnippet("pydantic_ai", py)},
		{"openai_go", "/v1", kept, goSnippet("openai_go")},
		{"anthropic_go", "", two, goSnippet("anthropic_go")},
	}
}

// scripts are the upstreams behind the snippets: calls as two APIs have them, and as text.
func scripts() map[string]func(t *testing.T, c *config, model string) *scripted.Server {
	of := func(v vendor) func(t *testing.T, c *config, model string) *scripted.Server {
		return func(t *testing.T, c *config, model string) *scripted.Server {
			s := v.serve(t)
			c.route(model, v.add(c, model, s.URL))
			return s
		}
	}
	return map[string]func(t *testing.T, c *config, model string) *scripted.Server{
		"openai":    of(vendor{"openai", "gpt-4o", scripted.OpenAI}),
		"anthropic": of(vendor{"anthropic", "claude-sonnet-4-5", scripted.Anthropic}),
		"text": func(t *testing.T, c *config, model string) *scripted.Server {
			s := scripted.Text(t, "hermes")
			c.Providers[model] = map[string]any{"type": "openai", "base_url": s.URL, "api_key": scripted.Key}
			c.route(model, target{Provider: model, Model: "m", Parser: "hermes"})
			return s
		},
	}
}

// TestDefaults plays three turns with each snippet in each of its modes, with calls that the
// upstream gives as calls and such that it gives as text.
func TestDefaults(t *testing.T) {
	t.Parallel()
	c, all := newConfig(), defaults()
	servers, args := map[string]*scripted.Server{}, map[string][]string{}
	for _, sn := range all {
		for name, serve := range scripts() {
			for _, mode := range sn.modes {
				model := strings.ReplaceAll(sn.name+"-"+name+"-"+mode, " ", "-")
				servers[model] = serve(t, c, model)
				args[sn.name] = append(args[sn.name], mode, model)
			}
		}
	}
	g := serve(t, c)
	for _, sn := range all {
		t.Run(sn.name, func(t *testing.T) {
			t.Parallel()
			got := answersOf(t, sn.run(t, slices.Concat([]string{g.URL + sn.base}, args[sn.name])))
			requests := map[string]int{}
			for pair := range slices.Chunk(args[sn.name], 2) {
				mode, model := pair[0], pair[1]
				requests[model] = 3
				t.Run(model, func(t *testing.T) {
					checkAnswer(t, got[model])
					checkReceived(t, servers[model].Requests(), strings.HasSuffix(mode, "streamed"))
					if t.Failed() {
						t.Logf("the gateway's log:\n%s", g.Lines(t, fmt.Sprintf(`"model":%q`, model)))
					}
				})
			}
			if !t.Failed() { // else it may wait in vain
				awaitRequests(t, g, requests)
			}
		})
	}
}

// answer is what a client's own API returned.
type answer struct {
	Model string   `json:"model"`
	Turns [][]call `json:"turns"`
	Text  string   `json:"text"`
}

func answersOf(t *testing.T, output []byte) map[string]answer {
	t.Helper()
	all := map[string]answer{}
	for d := json.NewDecoder(bytes.NewReader(output)); d.More(); {
		var one answer
		if err := d.Decode(&one); err != nil {
			t.Fatalf("%v in %s", err, output)
		}
		all[one.Model] = one
	}
	return all
}

// checkAnswer checks what the client returned of the three turns.
func checkAnswer(t *testing.T, got answer) {
	t.Helper()
	want, ids := scriptedTurns(), map[string]bool{}
	if len(got.Turns) != len(want)-1 || got.Text != want[len(want)-1].Content {
		t.Errorf("got %s, want %s", show(got), show(want))
		return
	}
	for i, calls := range got.Turns {
		uniqueIDs(t, ids, calls)
		for n := range calls {
			calls[n].ID = ""
		}
		if !reflect.DeepEqual(calls, want[i].Calls) {
			t.Errorf("turn %d: got %s, want %s", i+1, show(calls), show(want[i].Calls))
		}
	}
}

// checkReceived checks what the upstream got: three requests, streamed or not, each with
// all of the conversation before it, and nothing twice.
func checkReceived(t *testing.T, got []scripted.Request, streamed bool) {
	t.Helper()
	if len(got) != 3 {
		t.Errorf("got %d requests at the upstream, want 3", len(got))
	}
	results := []string{"get_weather", "get_time", "book"}
	for i, r := range got {
		var body struct {
			Stream bool
			Tools  []json.RawMessage
		}
		if err := json.Unmarshal(r.Body, &body); err != nil || r.Status != 200 || body.Stream != streamed || len(body.Tools) != len(results) {
			t.Errorf("request %d: got status %d, stream %v and %d tools, want 200, %v and 3: %s", i+1, r.Status, body.Stream, len(body.Tools), streamed, r.Body)
		}
		for n, name := range results {
			want := 0
			if n < 2*i || n == 2 && i == 2 {
				want = 1
			}
			if got := resultsLike(t, r.Body, scripted.Result(name)); got != want {
				t.Errorf("request %d: got the result of %s %d times, want %d: %s", i+1, name, got, want, r.Body)
			}
		}
	}
}

// resultsLike counts the strings of a JSON text that are a text.
func resultsLike(t *testing.T, body []byte, text string) (n int) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewReader(body)); ; {
		token, err := d.Token()
		if err != nil {
			return n
		}
		if token == text {
			n++
		}
	}
}

// installDefaults returns a Python that has the SDKs of the snippets.
func installDefaults() (interpreter string, err error) {
	interpreter, err = installVenv(context.Background(), "python-defaults", "testdata/defaults.txt")
	if err != nil {
		return "", install.MissingError{
			What:   fmt.Sprintf("the SDKs for Python are not installed (%v)", err),
			Remedy: "cd internal/e2e && go test ./clients -run TestDefaults/openai_python, where PyPI is in reach",
		}
	}
	return interpreter, nil
}

func pythonSnippet(name string, installed func() (string, error)) func(t *testing.T, args []string) []byte {
	return func(t *testing.T, args []string) []byte {
		t.Helper()
		interpreter, err := installed()
		need(t, err)
		file := filepath.Join(snippets, name, "loop.py")
		return sdk(t, "", interpreter, slices.Concat([]string{"-I", "-X", "utf8", file}, args)...)
	}
}

// nodeSnippet plays a snippet beside what it imports: there Node looks for it.
func nodeSnippet(name string, installed func() (nodeSDKs, error)) func(t *testing.T, args []string) []byte {
	return func(t *testing.T, args []string) []byte {
		t.Helper()
		sdks, err := installed()
		need(t, err)
		text, err := os.ReadFile(filepath.Join(snippets, name, "loop.mjs"))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "loop.mjs"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(sdks.dir, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
			t.Skipf("the system makes no symbolic links, so Node does not find the SDKs: %v", err)
		}
		return sdk(t, dir, sdks.program, slices.Concat([]string{"loop.mjs"}, args)...)
	}
}

// goSnippet plays a snippet of the module that conformance/clients is, which pins the SDKs for Go.
func goSnippet(name string) func(t *testing.T, args []string) []byte {
	return func(t *testing.T, args []string) []byte {
		t.Helper()
		file := filepath.Join(t.TempDir(), name+".exe")
		output, warnings := program(t, snippets, nil, goTool(t), "build", "-ldflags=-s -w", "-o", file, "./"+name)
		if len(output) > 0 {
			t.Logf("go build: %s%s", output, warnings)
		}
		return sdk(t, "", file, args...)
	}
}

// goTool is the go command that runs the tests.
func goTool(t *testing.T) string {
	t.Helper()
	file, err := exec.LookPath("go")
	if err != nil {
		need(t, install.MissingError{What: "the go command is not there (" + err.Error() + ")", Remedy: "PATH with Go's bin directory"})
	}
	return file
}

// sdk runs a program of an SDK's. What it writes to standard error is a warning.
func sdk(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	output, warnings := program(t, dir, nil, name, args...)
	if warnings != "" {
		t.Errorf("got the warnings %s, want none", warnings)
	}
	return output
}

// program runs a program, which must end well, and returns what it prints.
func program(t *testing.T, dir string, env []string, name string, args ...string) (output []byte, warnings string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = dir, &stderr, time.Second
	cmd.Env = slices.Concat(os.Environ(), []string{"NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1"}, env)
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v (context: %v)\n%s\n%s", name, err, ctx.Err(), stderr.Bytes(), output)
	}
	return output, stderr.String()
}
