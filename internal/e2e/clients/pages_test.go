package clients_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/internal/e2e/gate"
	"github.com/callgate/callgate/internal/install"
)

const (
	docs = "../../../docs"
	// shownURL is where pages say that the gateway is. The tests' own is elsewhere, since
	// somebody else may listen there.
	shownURL = "http://127.0.0.1:8080"
)

// block is a fenced block of a page.
type block struct {
	language, text string
	file           string // what the paragraph before it says that it is, "" if it says nothing
}

var (
	fence    = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	fileName = regexp.MustCompile("`([^`\\s]+\\.(?:json|toml|yml|yaml|py|mjs|go))`[^`]*(?:`[^`]*`[^`]*)*:\\s*$")
)

// sections are the parts of a chapter of a page, by their headings.
func sections(t *testing.T, page, chapter string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docs, page))
	if err != nil {
		t.Fatal(err)
	}
	_, of, _ := strings.Cut(string(text), "\n## "+chapter+"\n")
	of, _, _ = strings.Cut(of, "\n## ")
	all := map[string]string{}
	for i, part := range strings.Split(of, "\n### ") {
		name, body, _ := strings.Cut(part, "\n")
		if i > 0 {
			all[name] = body
		}
	}
	return all
}

// blocksOf are the blocks of a part of a page, in their order.
func blocksOf(text string) (all []block) {
	end := 0
	for _, m := range fence.FindAllStringSubmatchIndex(text, -1) {
		b := block{language: text[m[2]:m[3]], text: text[m[4]:m[5]]}
		before := strings.Split(strings.TrimSpace(text[end:m[0]]), "\n\n")
		if name := fileName.FindStringSubmatch(before[len(before)-1]); name != nil {
			b.file = name[1]
		}
		all, end = append(all, b), m[1]
	}
	return all
}

// shownFile is the file of a name that a part of a page shows.
func shownFile(t *testing.T, section, name string) string {
	t.Helper()
	for _, b := range blocksOf(sections(t, "clients.md", "One by one")[section]) {
		if b.file == name {
			return b.text
		}
	}
	t.Fatalf("docs/clients.md shows no %s under %s", name, section)
	return ""
}

// place is a folder in which a page is followed, and what it finds there.
type place struct {
	dir     string
	url     string            // of the gateway
	tools   string            // a folder in front of PATH
	pins    string            // what is installed, as the pins have it
	files   map[string]string // other than those of the page
	modules string            // of Node, "" if there are none
}

var (
	installs = regexp.MustCompile(`(?m)^(?:(?:pip|npm) install|go get|go mod init) (.*)\n`)
	wanted   = regexp.MustCompile(`'?(@?[\w./-]+)(?:\[\w+\])?'?`)
)

// follow does what a part of a page says: it writes the files that are shown, runs the
// commands that are shown and compares what they print with what is shown. Only what is
// installed is there already, at the versions that are pinned. It returns what was printed last.
func (p place) follow(t *testing.T, section string) (printed string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the pages' commands are for a shell that Windows does not have")
	}
	if p.modules != "" {
		if err := os.Symlink(p.modules, filepath.Join(p.dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range p.files {
		p.write(t, name, text)
	}
	ran := 0
	for _, b := range blocksOf(section) {
		text := strings.ReplaceAll(b.text, shownURL, p.url)
		switch {
		case b.file != "":
			p.write(t, b.file, text)
		case b.language == "sh":
			if commands := p.installed(t, text); commands != "" {
				ran++
				printed = p.shell(t, commands)
			}
		case b.language == "text":
			if printed != text {
				t.Errorf("got\n%s\nwant what the page shows\n%s", printed, text)
			}
		default:
			t.Errorf("the page does not say what this is:\n%s", b.text)
		}
	}
	if ran == 0 {
		t.Error("the page shows no command, want one")
	}
	return printed
}

// write writes a file that a page names: one of the home directory or of the folder.
func (p place) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(p.dir, strings.TrimPrefix(name, "~/"))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// installed checks that what a page has installed is there, and returns the other commands.
func (p place) installed(t *testing.T, commands string) (others string) {
	t.Helper()
	for _, m := range installs.FindAllStringSubmatch(commands, -1) {
		if strings.HasPrefix(m[0], "go mod") { // the module is there, with the pins
			continue
		}
		for _, name := range wanted.FindAllStringSubmatch(m[1], -1) {
			if !strings.Contains(p.pins, "\n"+name[1]+"==") && !strings.Contains(p.pins, "\n"+name[1]+"[") && !strings.Contains(p.pins, `"`+name[1]+`": "`) &&
				!strings.Contains(p.pins, "\n\t"+name[1]+" v") {
				t.Errorf("the page installs %s, which is not among the pins", name[1])
			}
		}
	}
	return installs.ReplaceAllString(commands, "")
}

// shell runs commands, which must end well.
func (p place) shell(t *testing.T, commands string) (printed string) {
	t.Helper()
	env := []string{"HOME=" + p.dir, "PATH=" + p.tools + string(os.PathListSeparator) + os.Getenv("PATH"), "PYTHONUTF8=1",
		"LANGSMITH_TRACING=false", "LANGCHAIN_TRACING_V2=false", "NO_COLOR=1"}
	output, _ := program(t, p.dir, env, "sh", "-e", "-c", commands)
	return string(output)
}

// link puts programs into a folder, under the names that pages use.
func link(t *testing.T, programs map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, program := range programs {
		script := "#!/bin/sh\nexec '" + program + "' \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// goModule is the go command, with the tests' own caches, and the files that pin the SDKs for Go.
func goModule(t *testing.T) (command string, files map[string]string) {
	t.Helper()
	command = goTool(t)
	caches, _ := program(t, snippets, nil, command, "env", "GOCACHE", "GOMODCACHE", "GOPATH")
	of := strings.Fields(string(caches))
	files = map[string]string{}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(snippets, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	// A page's HOME is empty, and so would the caches below it be.
	return "env' 'GOCACHE=" + of[0] + "' 'GOMODCACHE=" + of[1] + "' 'GOPATH=" + of[2] + "' '" + command, files
}

func readPins(t *testing.T, files ...string) (all string) {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		all += "\n" + string(text)
	}
	return all
}

// serveDemo starts the gateway as the quickstart does, in an empty directory.
func serveDemo(t *testing.T) *gate.Gate {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(gate.Path(t), "serve")
	cmd.Dir, cmd.Env = dir, append(bareEnv(), "HOME="+dir, "XDG_CACHE_HOME="+cacheDir(t), "CALLGATE_LISTEN=127.0.0.1:0", "CALLGATE_ADMIN=off")
	return gate.Start(t, cmd)
}

// others are variables that a new user's shell does not have: keys of vendors, which would make
// providers, and what a make or a git that runs the tests tells those below it.
var others = regexp.MustCompile(`_API_KEY$|_BASE_URL$|^CALLGATE_|^GIT_|^MAKE|^MFLAGS$`)

// bareEnv is the environment without others.
func bareEnv() (env []string) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !others.MatchString(name) {
			env = append(env, v)
		}
	}
	return env
}

func cacheDir(t *testing.T) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		return t.TempDir()
	}
	return dir
}

// TestPages follows each client's part of docs/clients.md literally, in an empty directory,
// with the demo's models behind the gateway: each program ends with a tool call. Those parts that
// are followed elsewhere, or cannot be, are named here.
func TestPages(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the pages' commands are for a shell that Windows does not have")
	}
	agents, app, unplayed := "TestAgents", "TestApps", "It is not run by a test: "
	elsewhere := map[string]string{"Claude Code": agents, "Codex": agents, "aider": app, "Continue": app, "LibreChat": app,
		"Open WebUI": app, "Cursor": unplayed}
	py := sync.OnceValues(installDefaults)
	langchain := sync.OnceValues(func() (string, error) { return installPython(t.Context()) })
	js := sync.OnceValues(func() (nodeSDKs, error) { return installNode(t.Context()) })
	g := serveDemo(t)
	parts := sections(t, "clients.md", "One by one")
	for name, text := range parts {
		if where := elsewhere[name]; where != "" {
			if where == unplayed && !strings.Contains(strings.ReplaceAll(text, "\n", " "), unplayed) {
				t.Errorf("docs/clients.md does not say of %s that it is not run by a test", name)
			}
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			programs, p := map[string]string{}, place{dir: t.TempDir(), url: g.URL}
			if strings.Contains(text, "```python") {
				find := py
				if name == "LangChain" {
					find = langchain
				}
				interpreter, err := find()
				need(t, err)
				programs["python"], err = filepath.Abs(interpreter)
				if err != nil {
					t.Fatal(err)
				}
			}
			if strings.Contains(text, "```js") {
				sdks, err := js()
				need(t, err)
				programs["node"], p.modules = sdks.program, filepath.Join(sdks.dir, "node_modules")
			}
			if strings.Contains(text, "```go") {
				programs["go"], p.files = goModule(t)
			}
			p.tools, p.pins = link(t, programs), readPins(t, "defaults.in", "requirements.in", "package.json")+p.files["go.mod"]
			printed := p.follow(t, text)
			if !strings.Contains(printed, "Oslo") {
				t.Errorf("got %q at the end, want a call with Oslo or its result", printed)
			}
		})
	}
	if len(parts) < 13 {
		t.Errorf("got %d parts of docs/clients.md, want 13 or more: are they found?", len(parts))
	}
}

// TestApps follows what docs/clients.md says of apps: Continue's command line reads a file by a
// call that the demo's model writes as text; Open WebUI runs a tool that it calls so; aider's edit
// passes as the text that it is; and LibreChat's own schema reads its settings. It installs more than
// a gigabyte.
func TestApps(t *testing.T) {
	t.Parallel()
	need(t, agentsAsked("aider, Continue, LibreChat and Open WebUI", "TestApps"))
	parts := sections(t, "clients.md", "One by one")
	t.Run("Continue", func(t *testing.T) {
		t.Parallel()
		sdks := installApps(t)
		p := place{dir: t.TempDir(), url: serveDemo(t).URL, files: map[string]string{"Note": "the note says 42\n"}}
		cli := filepath.Join(sdks.dir, "node_modules", "@continuedev", "cli", "dist", "cn.js")
		p.tools = link(t, map[string]string{"cn": sdks.program + "' '" + cli})
		if printed := p.follow(t, parts["Continue"]); !strings.Contains(printed, "the note says 42") {
			t.Errorf("got %q, want what the file has that was read", printed)
		}
	})
	t.Run("LibreChat", func(t *testing.T) {
		t.Parallel()
		sdks := installApps(t)
		p := place{dir: t.TempDir(), url: serveDemo(t).URL, modules: filepath.Join(sdks.dir, "node_modules")}
		p.tools = link(t, map[string]string{"node": sdks.program})
		check, err := os.ReadFile("testdata/apps/librechat.mjs")
		if err != nil {
			t.Fatal(err)
		}
		p.files = map[string]string{"librechat.mjs": string(check)}
		printed := p.follow(t, parts["LibreChat"]+"\n```sh\nnode librechat.mjs librechat.yaml\n```\n")
		if want := "Callgate get_weather {\"city\": \"Oslo\"}\n"; printed != want {
			t.Errorf("got %q, want %q", printed, want)
		}
	})
	t.Run("Open WebUI", func(t *testing.T) {
		t.Parallel()
		openWebUI(t, parts["Open WebUI"])
	})
	t.Run("aider", func(t *testing.T) {
		t.Parallel()
		interpreter, err := installVenv(t.Context(), "python-aider", "testdata/aider.txt")
		if err != nil {
			need(t, install.MissingError{What: "aider is not installed (" + err.Error() + ")", Remedy: agentsToo + "=1 where PyPI is in reach"})
		}
		up := httptest.NewServer(http.HandlerFunc(writeNote))
		t.Cleanup(up.Close)
		c := newConfig()
		c.Providers["up"] = map[string]any{"type": "openai", "base_url": up.URL + "/v1", "api_key": "none"}
		c.route("demo-hermes", target{Provider: "up", Model: "m", Parser: "auto"})
		p := place{dir: t.TempDir(), url: serve(t, c).URL, tools: link(t, map[string]string{"aider": interpreter + "' '-m' 'aider"})}
		for _, name := range []string{"GIT", "YES_ALWAYS", "CHECK_UPDATE", "ANALYTICS", "SHOW_MODEL_WARNINGS"} {
			// What it asks at its first start, and what it asks of the internet.
			p.files = map[string]string{".env": p.files[".env"] + "AIDER_" + name + "=" + map[bool]string{true: "true", false: "false"}[name == "YES_ALWAYS"] + "\n"}
		}
		p.follow(t, parts["aider"])
		got, err := os.ReadFile(filepath.Join(p.dir, "note.txt"))
		if want := "the note says 42\n"; err != nil || string(got) != want {
			t.Errorf("got %q (%v), want the edit %q", got, err, want)
		}
	})
}

// writeNote answers as a model that aider asks for a whole file.
func writeNote(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	text := "Here it is.\n\nnote.txt\n```\nthe note says 42\n```\n"
	w.Header().Set("Content-Type", "text/event-stream")
	for piece := range strings.SplitAfterSeq(text, " ") {
		io.WriteString(w, "data: "+show(map[string]any{"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
			"choices": []any{map[string]any{"index": 0, "delta": map[string]string{"content": piece}}}})+"\n\n")
	}
	io.WriteString(w, `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// installApps installs Continue's command line and what reads LibreChat's settings.
func installApps(t *testing.T) nodeSDKs {
	t.Helper()
	node, err := findNode(t.Context())
	need(t, err)
	pins := []string{"testdata/apps/package.json", "testdata/apps/package-lock.json"}
	dir, err := installOnce("apps", "", pins, func(dir string) error { return node.install(t.Context(), dir, pins) })
	if err != nil {
		need(t, install.MissingError{What: "Continue and LibreChat's schema are not installed (" + err.Error() + ")",
			Remedy: agentsToo + "=1 where npm's registry is in reach"})
	}
	return nodeSDKs{node.program, dir}
}

// agentsAsked is an error if what is large to install is not to be.
func agentsAsked(what, test string) error {
	if os.Getenv(agentsToo) == "1" {
		return nil
	}
	return install.MissingError{What: what + " are not played: " + errNotAsked.Error(),
		Remedy: "cd internal/e2e && " + agentsToo + "=1 go test ./clients -run " + test}
}
