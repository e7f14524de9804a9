//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/callgate/callgate/plugins/pluginstest"
)

func putFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// badPlugins puts every sort of a bad plugin into a directory, and returns what is said.
func badPlugins(t *testing.T, dir string) map[string]string {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	bomb := pluginstest.CompileBombs()[0]
	good := pluginstest.Guest{Manifest: pluginstest.Manifest("beside")}.Wasm()
	putFiles(t, dir, map[string][]byte{"garbage.wasm": []byte("garbage"), "bomb.wasm": bomb.Wasm, "pipe-beside.wasm": good})
	for _, err := range []error{
		syscall.Mkfifo(at("pipe.wasm"), 0o600), syscall.Mkfifo(at("pipe-beside.wasm.minisig"), 0o600), syscall.Mkfifo(at("pipe"), 0o600),
		os.Symlink(at("self.wasm"), at("self.wasm")), os.Symlink(at("pipe"), at("link.wasm")), os.Symlink("/dev/zero", at("zero.wasm")),
		os.Mkdir(at("directory.wasm"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{
		"garbage.wasm": "not a valid WebAssembly module", "bomb.wasm": bomb.Want, "pipe.wasm": "is a named pipe", "link.wasm": "is a named pipe",
		"pipe-beside.wasm": "pipe-beside.wasm.minisig is a named pipe", "self.wasm": "too many levels of symbolic links",
		"zero.wasm": "is a device", "directory.wasm": "is a directory",
	}
}

// TestBadPluginAtStart has all sorts of bad files beside a good plugin when the gateway starts:
// it serves, as it does when they come while it runs, names each of them, and takes the next
// version of the good one.
func TestBadPluginAtStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	putFiles(t, dir, map[string][]byte{"good.wasm": pluginstest.Guest{Manifest: pluginstest.Manifest("good")}.Wasm()})
	said := badPlugins(t, dir)
	g := serve(t, fmt.Sprintf("plugins: {dir: %q}\nadmin: {listen: \"127.0.0.1:0\"}\nproviders: {demo: {type: demo, parser: [good, hermes]}}", dir))
	for file, reason := range said {
		g.names(file, "refused", reason)
	}
	if r := g.chat(prompt("demo/hermes", "What is the weather in Oslo?", false)); r.status != http.StatusOK {
		t.Errorf("got %d %s, want an answer", r.status, r.body)
	}
	swapped(t, filepath.Join(dir, "good.wasm"), pluginstest.Guest{Manifest: pluginstest.Manifest("good", "better")}.Wasm())
	await(t, "the next version", func() bool {
		return strings.Contains(g.adminDo(http.MethodGet, "/admin/plugins").body, `"name":"better"`)
	})
	if r := g.adminDo(http.MethodGet, "/ui"); strings.Count(r.body, ".wasm is refused") != len(said) {
		t.Errorf("/ui does not name the %d files: %s", len(said), r.body)
	}
}

// TestBadPluginInCommands has the same files beside a good plugin where commands load the
// directory: they do what the gateway does with it, and name each of them.
func TestBadPluginInCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	putFiles(t, dir, map[string][]byte{"good.wasm": pluginstest.Guest{Manifest: pluginstest.Manifest("good")}.Wasm()})
	said := badPlugins(t, dir)
	config := configFile(t, fmt.Sprintf("plugins: {dir: %q}\nproviders: {demo: {type: demo, parser: [good, hermes]}}", dir))
	for _, args := range [][]string{{"check", config}, {"plugin", "list", "-c", config}} {
		status, stdout, stderr := command(t, "", args...)
		if status != 0 || !strings.Contains(stdout, "good") {
			t.Errorf("%s: got status %d and %q, want that the good plugin is used", args[0], status, stdout)
		}
		for file, reason := range said {
			if !slices.ContainsFunc(strings.Split(stderr, "\n"), func(line string) bool {
				return strings.Contains(line, file+" is refused: ") && strings.Contains(line, reason)
			}) {
				t.Errorf("%s does not name %s (%s): %s", args[0], file, reason, stderr)
			}
		}
		if n := strings.Count(stderr, "\n"); n != len(said) {
			t.Errorf("%s: got %d lines, want one for each of %d files: %s", args[0], n, len(said), stderr)
		}
	}
	missing := configFile(t, fmt.Sprintf("plugins: {dir: %q}\nproviders: {demo: {type: demo, parser: garbage}}", dir))
	for _, args := range [][]string{{"check", missing}, {"plugin", "list", "-c", missing}} {
		status, stdout, stderr := command(t, "", args...)
		refused(t, status, stdout, stderr, `there is no parser "garbage"`, "garbage.wasm is refused: ")
	}
}

// TestBadPluginAtStartOfAModel has the plugin of a model be a bad one: the gateway says that it
// is not ready, and which model, parser and file that is about. Other models are served, and
// the model's requests are refused instead of being answered with its calls as text. With a
// good file all is well, without a start.
func TestBadPluginAtStartOfAModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := pluginstest.Guest{Manifest: pluginstest.Manifest("mine")}.Wasm()
	putFiles(t, dir, map[string][]byte{"mine.wasm": good[:len(good)/2]})
	config := fmt.Sprintf("plugins: {dir: %q}\nadmin: {listen: \"127.0.0.1:0\"}\nproviders: {demo: {type: demo, parser: [mine, hermes]}, other: {type: demo, parser: hermes}}", dir)
	g := launch(t, config)
	await(t, "/readyz that names the file", func() bool {
		if !g.listens() {
			return false
		}
		r := g.get("/readyz")
		return r.status == http.StatusServiceUnavailable && strings.Contains(r.body, "mine.wasm is refused: ") && strings.Contains(r.body, `there is no parser "mine"`)
	})
	ask := func(model string) result { return g.chat(prompt(model, "What is the weather in Oslo?", false)) }
	if r := ask("demo/hermes"); r.status != http.StatusServiceUnavailable || !strings.Contains(r.body, "plugin_error") || !strings.Contains(r.body, `\"mine\"`) {
		t.Errorf("got %d %s, want 503 and the parser's name", r.status, r.body)
	}
	if r := ask("other/hermes"); r.status != http.StatusOK {
		t.Errorf("another model: got %d %s", r.status, r.body)
	}
	if log := g.stderr.String(); !strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, "mine.wasm") {
		t.Errorf("the log does not say it: %s", log)
	}
	swapped(t, filepath.Join(dir, "more.wasm"), pluginstest.Guest{Manifest: pluginstest.Manifest("more")}.Wasm())
	await(t, "another plugin", func() bool {
		return strings.Contains(g.adminDo(http.MethodGet, "/admin/plugins").body, `"name":"more"`)
	})
	swapped(t, filepath.Join(dir, "mine.wasm"), good)
	g.await()
	if r := ask("demo/hermes"); r.status != http.StatusOK {
		t.Errorf("with a good file: got %d %s", r.status, r.body)
	}
	swapped(t, filepath.Join(dir, "mine.wasm"), pluginstest.Guest{Manifest: pluginstest.Manifest("other")}.Wasm())
	await(t, "a version that cannot take over", func() bool { return strings.Contains(g.get("/readyz").body, "mine.wasm is stale") })
}

// program is the gateway as a process of its own.
type program struct {
	*gate
	cmd *exec.Cmd
}

// startProgram starts the gateway's program. The test stops it.
func startProgram(t *testing.T, config string) *program {
	t.Helper()
	cmd := exec.Command(os.Args[0], "serve", "--listen", "127.0.0.1:0", "-c", configFile(t, config))
	cmd.Args[0] = "callgate"
	p := &program{gate: &gate{t: t, stdout: &buffer{}, stderr: &buffer{}, client: &http.Client{Timeout: patience}, exited: make(chan int, 1)}, cmd: cmd}
	cmd.Stdout, cmd.Stderr = p.stdout, p.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
		p.exited <- cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		p.client.CloseIdleConnections()
		_ = cmd.Process.Kill() // if the test has failed
		<-ended
	})
	return p
}

// terminate sends SIGTERM and checks that the program ends well, and that nothing of it runs
// any more: its compilers have the directory's name among their arguments.
func (p *program) terminate(cache string) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if status := p.wait(); status != 0 {
		p.t.Errorf("got exit status %d after SIGTERM; stderr:\n%s", status, p.stderr)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), cache) {
			p.t.Errorf("still running: %q", line)
		}
	}
}

// TestFIFOAtStart has a named pipe stand beside a plugin, where its signature would be, and
// nothing else that is wrong. The program is ready, names it, and ends when it is told to.
func TestFIFOAtStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cache, err := cacheDir("")
	if err != nil {
		t.Fatal(err)
	}
	putFiles(t, dir, map[string][]byte{"mine.wasm": pluginstest.Guest{Manifest: pluginstest.Manifest("mine")}.Wasm()})
	if err := syscall.Mkfifo(filepath.Join(dir, "mine.wasm.minisig"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startProgram(t, fmt.Sprintf("plugins: {dir: %q, cache_dir: %q}\nadmin: {listen: \"127.0.0.1:0\"}\nproviders: {demo: {type: demo}}", dir, cache))
	p.await()
	p.names("mine.wasm", "refused", "mine.wasm.minisig is a named pipe and not a plain file")
	p.terminate(dir)
}

// TestFIFOAsTemplate has the file of a response template be a named pipe.
func TestFIFOAsTemplate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "template.json")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := command(t, "", "check", configFile(t, fmt.Sprintf("parsers: {mine: {response_template: %q}}\nproviders: {demo: {type: demo}}", file)))
	refused(t, status, "", stderr, "template.json is a named pipe and not a plain file")
}

// TestFIFOAsPrices has the file of prices, and one to import, be a named pipe that nobody writes to: neither the
// start of the gateway nor a command waits for it.
func TestFIFOAsPrices(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "prices.yaml")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"serve", "--config", configFile(t, fmt.Sprintf("listen: \"127.0.0.1:0\"\nprices: %q\nproviders: {demo: {type: demo}}", file))},
		{"prices", "check", file}, {"prices", "import", file, "--provider", "openai"},
	} {
		status, _, stderr := command(t, "", args...)
		refused(t, status, "", stderr, "prices.yaml is a named pipe and not a plain file")
	}
}

// TestCompileBombAtStart has a plugin that takes long to compile, though its figures are within
// the limits. The program shows it as being compiled, by a process of its own, loads what
// comes meanwhile, and ends when it is told to: before the plugin is compiled, and with that
// process.
func TestCompileBombAtStart(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked for in /proc")
	}
	dir, cache := t.TempDir(), t.TempDir()
	putFiles(t, dir, map[string][]byte{"a-slow.wasm": pluginstest.SlowToCompile(11)})
	p := startProgram(t, fmt.Sprintf("plugins: {dir: %q, cache_dir: %q}\nadmin: {listen: \"127.0.0.1:0\"}\nproviders: {demo: {type: demo}}", dir, cache))
	slow := func(state string) bool {
		return p.listens() && strings.Contains(p.adminDo(http.MethodGet, "/admin/plugins").body, `a-slow.wasm","state":"`+state+`"`)
	}
	await(t, "the plugin that is compiled", func() bool { return slow("compiling") })
	if r := p.adminDo(http.MethodGet, "/ui/plugins"); !strings.Contains(r.body, "compiling") {
		t.Error("/ui/plugins does not say it")
	}
	p.terminate(cache)
	if made, _ := filepath.Glob(filepath.Join(cache, "code-*", "*")); len(made) != 1 {
		t.Errorf("got %v, want the built-in parsers alone: nobody has waited for the plugin", made)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "compiling-*")); len(left) > 0 {
		t.Errorf("there is left: %v", left)
	}
}

// TestCacheDamagedAtStart damages the compiled code of the built-in parsers in places where
// wazero does not look, between two starts: the number of functions and the tables behind the
// code. The second start is as the first, and says what it found.
func TestCacheDamagedAtStart(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	config := fmt.Sprintf("plugins: {dir: \"\", cache_dir: %q}\nadmin: {listen: \"127.0.0.1:0\"}\nproviders: {demo: {type: demo}}", cache)
	start := func() string {
		p := startProgram(t, config)
		p.await()
		p.terminate(cache)
		return p.stderr.String()
	}
	start()
	if log := start(); strings.Contains(log, "damaged") {
		t.Errorf("without damage: %s", log)
	}
	for _, place := range []func(size int) int{
		func(int) int { return 6 + 1 + len("v1.12.0") + 3 }, // the highest byte of the number of functions
		func(size int) int { return size - 1 },              // that of the number of tables
		func(int) int { return 6 + 1 + len("v1.12.0") + 4 + 6 },
	} {
		var file string
		err := filepath.WalkDir(cache, func(name string, e os.DirEntry, err error) error {
			if info, _ := e.Info(); err == nil && !e.IsDir() && info.Size() > 1<<20 {
				file = name
			}
			return err
		})
		if err != nil || file == "" {
			t.Fatal(file, err)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b[place(len(b))] ^= 0x10
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if log := start(); !strings.Contains(log, "compiled code in the cache is damaged") {
			t.Errorf("it is not said: %s", log)
		}
	}
}

// TestResetQuarantine has a parser be left out, and the operator have it used again, by the
// admin API and on the page.
func TestResetQuarantine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	putFiles(t, dir, map[string][]byte{"bad.wasm": pluginstest.Guest{Manifest: pluginstest.Manifest("bad"),
		Funcs: []pluginstest.Func{pluginstest.Feed(pluginstest.Unreachable)}}.Wasm()})
	up := either(t, role+stream(hermesCall+" <bad>"), completion(hermesCall+" <bad>"))
	g := serve(t, fmt.Sprintf("plugins: {dir: %q, quarantine: {failures: 1, open: 24h}}\nadmin: {listen: \"127.0.0.1:0\"}\nproviders: {up: {type: openai, base_url: %q, parser: [bad, hermes]}}", dir, up.url))
	state := func() string {
		var list struct {
			Parsers []struct{ Name, State string }
		}
		if err := json.Unmarshal([]byte(g.adminDo(http.MethodGet, "/admin/plugins").body), &list); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list.Parsers, func(p struct{ Name, State string }) bool { return p.Name == "bad" })
		return list.Parsers[i].State
	}
	breakIt := func() {
		t.Helper()
		g.chat(prompt("up/m", "hi", false))
		if got := state(); got != "quarantined" {
			t.Fatalf("got %s, want that the parser is left out", got)
		}
	}
	breakIt()
	r := g.adminDo(http.MethodPost, "/admin/plugins/parsers/bad/reset")
	if r.status != http.StatusOK || !strings.Contains(r.body, `"name":"bad"`) || !strings.Contains(r.body, `"state":"ok"`) || state() != "ok" {
		t.Errorf("got %d %s, %s", r.status, r.body, state())
	}
	breakIt()
	r = g.adminDo(http.MethodPost, "/ui/parsers/reset?", "content-type", "application/x-www-form-urlencoded")
	if r.status != http.StatusNotFound || state() != "quarantined" {
		t.Errorf("a form without a name: got %d", r.status)
	}
	if page := g.adminDo(http.MethodGet, "/ui/plugins").body; !strings.Contains(page, `action="/ui/parsers/reset"`) || !strings.Contains(page, "Reset bad") {
		t.Error("the page has no button")
	}
	r = g.adminForm("/ui/parsers/reset", "name=bad")
	if r.status != http.StatusSeeOther || state() != "ok" {
		t.Errorf("the page: got %d %s", r.status, r.body)
	}
	r = g.adminDo(http.MethodPost, "/admin/plugins/parsers/baad/reset")
	if r.status != http.StatusNotFound || !strings.Contains(r.body, "parser_not_found") || !strings.Contains(r.body, `\"bad\"`) {
		t.Errorf("an unknown one: got %d %s", r.status, r.body)
	}
	if log := g.stderr.String(); strings.Count(log, "parser reset by the operator") != 2 {
		t.Errorf("the log does not say it: %s", log)
	}
}
