package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/callgate/callgate/plugins/pluginstest"
)

// sdkReadme tells an author what to do, and pluginPage repeats some of it.
const sdkReadme, pluginPage = "../../sdk/README.md", "../../docs/plugins.md"

// codeOf are the blocks of code of a text that begin behind a line with the words.
func codeOf(t *testing.T, file, words string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), words)
	if !ok {
		return nil
	}
	var blocks []string
	for i, part := range strings.Split(text, "```\n") {
		if i%2 == 1 {
			blocks = append(blocks, part)
		}
	}
	return blocks
}

// TestReadmePlugin does what the README tells the author of a plugin, in an empty folder,
// with empty caches and without a network: from nothing to a request that only the new
// plugin can read. It logs what each step takes.
func TestReadmePlugin(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"sh", "curl", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("there is no " + tool)
		}
	}
	blocks := codeOf(t, sdkReadme, "## A new plugin\n")
	if len(blocks) < 2 || !strings.Contains(blocks[0], "plugin new") || !strings.HasPrefix(blocks[1], "curl ") {
		t.Fatalf("got blocks %q, want the commands and a request", blocks)
	}
	w := newWorkshop(t)
	const text = `Hi <use tool="get_weather">{"city": "Oslo"}</use>`
	if out := w.sh(t, "echo '"+text+"' | bin/callgate parse"); !strings.Contains(out, `"tool_calls": []`) {
		t.Errorf("without the plugin: got %s, want no call", out)
	}
	want := map[string]string{
		"plugin new":   "wrote my_model",
		"plugin build": "parser my_model 0.1.0, priority 60",
		"plugin test":  "my_model keeps the contract",
		"parse":        `"arguments": "{\"city\": \"Oslo\"}"`,
	}
	for command := range strings.Lines(blocks[0]) {
		if strings.TrimSpace(command) == "bin/callgate serve" {
			continue // below
		}
		out := w.sh(t, command)
		for words, said := range want {
			if strings.Contains(command, "callgate "+words) && !strings.Contains(out, said) {
				t.Errorf("%s: got\n%s\nwant it to have %q", command, out, said)
			}
		}
	}
	address := w.serve(t)
	began := time.Now()
	got := whole(t, w.sh(t, strings.ReplaceAll(blocks[1], "127.0.0.1:8080", address)))
	got.same(t, said{content: "Hi", finish: "tool_calls", calls: []called{{"get_weather", `{"city":"Oslo"}`}}})
	t.Logf("request: %v", time.Since(began).Round(time.Millisecond))
}

// TestReadmesAgree checks that the README and docs/plugins.md repeat no other commands than
// those that are tested, and that the page repeats some.
func TestReadmesAgree(t *testing.T) {
	t.Parallel()
	tested := strings.Join(codeOf(t, sdkReadme, "## A new plugin\n")[:2], "")
	var text string
	for _, name := range []string{"../../README.md", pluginPage} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text += string(b) + "\n"
	}
	found := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "bin/callgate plugin new") || strings.HasPrefix(line, "bin/callgate plugin build") || strings.HasPrefix(line, "bin/callgate plugin test") {
			command, _, _ := strings.Cut(line, "#")
			found++
			if !strings.Contains(tested, strings.TrimSpace(command)+"\n") {
				t.Errorf("the documents say %q, which %s does not", strings.TrimSpace(line), sdkReadme)
			}
		}
	}
	if found < 3 {
		t.Errorf("got %d commands in %s, want new, build and test", found, pluginPage)
	}
}

// workshop is an empty folder with bin/callgate, and an environment without a module or a compiled
// parser, and without a network. What Go has built of itself is there.
type workshop struct {
	dir string
	env []string
}

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	self, err := os.Executable() // which is callgate if it is called so: see TestMain
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "bin", "callgate")); err != nil {
		t.Skip(err)
	}
	w := &workshop{dir: dir, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GOPROXY=off", "GOSUMDB=off", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local",
	}}
	caches, err := goCaches()
	if err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, caches...)
	for _, name := range []string{"GOPATH", "GOMODCACHE", "XDG_CACHE_HOME", "TMPDIR"} {
		own := filepath.Join(home, name)
		if err := os.Mkdir(own, 0o755); err != nil {
			t.Fatal(err)
		}
		w.env = append(w.env, name+"="+own)
	}
	return w
}

// sh runs a command line, which must succeed, and returns what it prints.
func (w *workshop) sh(t *testing.T, line string) string {
	t.Helper()
	began := time.Now()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", line)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, w.env, &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", line, err, &out, &errs)
	}
	t.Logf("%v: %.80s", time.Since(began).Round(time.Millisecond), strings.TrimSpace(line))
	return out.String()
}

// serve starts the gateway as its own process and returns its address.
func (w *workshop) serve(t *testing.T) string {
	t.Helper()
	var out, errs buffer
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(w.dir, "bin", "callgate"), "serve", "--listen", "127.0.0.1:0")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, w.env, &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve: %v\n%s", err, &errs)
		}
	})
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if m := listensOn.FindStringSubmatch(out.String()); m != nil {
			return m[1]
		}
	}
	t.Fatalf("got no gateway: %s%s", &out, &errs)
	return ""
}

// TestPluginJSON checks that what programs read is there.
func TestPluginJSON(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nova")
	file := filepath.Join(t.TempDir(), "nova.wasm")
	for _, args := range [][]string{{"plugin", "new", "nova", "--dir", dir}, {"plugin", "build", dir, "-o", file}} {
		if status, stdout, stderr := command(t, "", args...); status != 0 {
			t.Fatalf("%v: got exit status %d: %s%s", args, status, stdout, stderr)
		}
	}
	for _, tt := range []struct {
		args []string
		want []string // members of the first object, at its top
	}{
		{[]string{"inspect", file}, []string{"plugin", "sha256", "size", "abi", "exports", "imports", "min_pages", "max_pages", "metered", "loads", "manifest", "pages"}},
		{[]string{"test", file, "--cases", filepath.Join(dir, "testdata"), "--fuzz", "100ms", "--seed", "5"}, []string{"plugin", "parsers", "checks", "failures", "seed", "costs"}},
		{[]string{"bench", file, "--against", "hermes"}, []string{"parser", "short_us_per_kb", "long_us_per_kb", "response_us", "load_ms", "pages", "size"}},
	} {
		status, stdout, stderr := command(t, "", append(append([]string{"plugin"}, tt.args...), "--json")...)
		if status != 0 || stderr != "" {
			t.Errorf("%v: got exit status %d, %s", tt.args, status, stderr)
		}
		if list := []json.RawMessage{}; json.Unmarshal([]byte(stdout), &list) == nil && len(list) > 0 {
			stdout = string(list[0])
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Errorf("%v: %v in %s", tt.args, err, stdout)
		}
		for _, name := range tt.want {
			if got[name] == nil {
				t.Errorf("%v: got no %s in %s", tt.args, name, stdout)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "testdata", "more.case"), fmt.Appendf(nil, "Why.\n-- input --\n%q\n-- events --\n", `<use tool="f">{}</use>`), 0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, _ := command(t, "", "plugin", "test", dir, "--fuzz", "0s")
	if want := "FAIL cases of nova, more: event 0 is call_start 0 \"f\", want missing\n"; status != exitFailed || strings.Count(stdout, "FAIL") != 1 || !strings.Contains(stdout, want) {
		t.Errorf("got exit status %d and\n%s\nwant 1 and %s", status, stdout, want)
	}
	if status, stdout, stderr := command(t, "", "plugin", "test", dir, "--update", "--fuzz", "0s"); status != 0 {
		t.Errorf("--update: got exit status %d\n%s%s", status, stdout, stderr)
	}
}

// TestPluginTestHostile puts some of the modules that do harm through the command: each
// gives one line that says what is wrong, and the exit status. Package trial's tests go
// through all of them.
func TestPluginTestHostile(t *testing.T) {
	t.Parallel()
	bad := map[string][]string{} // module to what may be said of it
	for i, m := range RefusedModules() {
		if i%8 == 0 {
			bad[string(m.Wasm)] = []string{strings.TrimPrefix(m.Want, "plugin bad: ")}
		}
	}
	for i, g := range HostileGuests() {
		if i%8 == 0 {
			bad[string(g.Guest.Wasm())] = strings.Fields(g.Want)
		}
	}
	for wasm, want := range bad {
		file := filepath.Join(t.TempDir(), "bad.wasm")
		if err := os.WriteFile(file, []byte(wasm), 0o600); err != nil {
			t.Fatal(err)
		}
		status, stdout, stderr := command(t, "", "plugin", "test", file)
		lines := 0
		for line := range strings.Lines(stdout) {
			if strings.HasPrefix(line, "FAIL ") {
				lines++
				if !slices.ContainsFunc(want, func(words string) bool { return strings.Contains(line, words) }) {
					t.Errorf("got %q, want one of %q", line, want)
				}
			}
		}
		if status != exitFailed || lines != 1 || stderr != "" {
			t.Errorf("%s: got exit status %d, %d lines of failure: %s%s", want, status, lines, stdout, stderr)
		}
	}
}

// TestPluginInTheWrongPlace: who names a folder that is none, or one in the place of the module, is told what to do.
func TestPluginInTheWrongPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "nova")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"build", dir}, dir + ` is not a project of a plugin: it has no Go module, Cargo.toml, asconfig.json or flags; "callgate plugin new" makes one`},
		{[]string{"build", missing}, "there is no folder " + missing + `: "callgate plugin new" makes one`},
		{[]string{"test", missing}, "there is no folder " + missing + `: "callgate plugin new" makes one`},
		{[]string{"test", missing + ".wasm"}, "open " + missing + ".wasm: no such file or directory"},
		{[]string{"inspect", dir}, dir + ` is a folder: make the module with "callgate plugin build", and name its .wasm file`},
	} {
		status, _, stderr := command(t, "", append([]string{"plugin"}, tt.args...)...)
		if status != exitUsage || stderr != "callgate: "+tt.want+"\n" {
			t.Errorf("%v: got status %d and %q, want %d and %q", tt.args, status, stderr, exitUsage, tt.want)
		}
	}
}
