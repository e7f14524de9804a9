package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"golang.org/x/tools/txtar"
)

// TestPagesPlayed does what the README and the pages of docs say, each in an empty folder: it writes the
// files that they show, serves each configuration and asks its models, runs the commands in a shell, and
// holds what these print against what is shown. What cannot be run is listed in pagetable_test.go, and a
// command that is neither run nor listed fails. With -v it says how many commands each page has.
func TestPagesPlayed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the pages' commands are for a shell that Windows does not have")
	}
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the pages are not played: there is no %s", tool)
		}
	}
	tally := &tally{ran: map[string]int{}, left: map[string]map[string]int{}, files: map[string]int{}}
	t.Cleanup(func() { tally.report(t) }) // when all pages are done
	for name, text := range readPages(t) {
		for _, e := range elsewhere {
			if e.page == name {
				text = e.without(t, text)
			}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts, problems := partsOf(text)
			for _, p := range problems {
				t.Error(p)
			}
			if !slices.ContainsFunc(parts, func(p part) bool { return p.command != "" || p.file != "" }) {
				return
			}
			newPlay(t, name, tally).all(parts)
		})
	}
}

// tally counts, by page.
type tally struct {
	mu    sync.Mutex
	ran   map[string]int            // commands
	files map[string]int            // that were served or written
	left  map[string]map[string]int // commands that were not run, by why
}

func (c *tally) add(page, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if why == "" {
		c.ran[page]++
		return
	}
	if c.left[page] == nil {
		c.left[page] = map[string]int{}
	}
	c.left[page][why]++
}

func (c *tally) file(page string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files[page]++
}

func (c *tally) report(t *testing.T) {
	for _, e := range notPlayed {
		if !e.used.Load() && playedWhole(t) {
			t.Errorf("no page has the command that notPlayed lists: %s on %s", e.command, cmp.Or(e.page, "any page"))
		}
	}
	var all strings.Builder
	ran, left := 0, 0
	whys := map[string]int{}
	for page := range readPages(t) {
		c.files[page] += 0
	}
	for _, page := range slices.Sorted(maps.Keys(c.files)) {
		n := 0
		for why, k := range c.left[page] {
			n, whys[why] = n+k, whys[why]+k
		}
		ran, left = ran+c.ran[page], left+n
		fmt.Fprintf(&all, "%-18s %3d run %3d not run %3d files\n", page, c.ran[page], n, c.files[page])
	}
	fmt.Fprintf(&all, "%-18s %3d run %3d not run:\n", "all", ran, left)
	for _, why := range slices.Sorted(maps.Keys(whys)) {
		fmt.Fprintf(&all, "  %3d  %s\n", whys[why], why)
	}
	for _, e := range elsewhere {
		fmt.Fprintf(&all, "%s\n", strings.Join(strings.Fields(e.page+" "+e.chapter+": "+e.why), " "))
	}
	t.Logf("commands of pages\n%s", &all)
}

// playedWhole reports whether no page was left out by -run.
func playedWhole(t *testing.T) bool {
	return !strings.Contains(strings.Join(os.Args, " "), t.Name()+"/")
}

// play is a page that is followed.
type play struct {
	t          *testing.T
	page       string
	dir        string
	env        []string
	swaps      []string          // what is shown and what it is here, one behind the other
	before     map[string]func() // what happens ahead of a command, by how it begins
	beforeFile func()            // … and ahead of a configuration
	status     map[string]int    // with which a command ends, if that is not 0
	up         *standIn
	gate       *exec.Cmd
	ended      chan error
	out        *buffer
	api        string // addresses of the gateway that runs, "" if none does
	admin      string
	key        string // of its client
	model      string // to ask for, if the gateway lists none
	words      map[string]string
	first      string // the page's first configuration
	config     string // the file that was served last, as it is here
	block      string // … as the page shows it, with parts put in
	printed    string
	tally      *tally
}

// newPlay makes the folder: bin/callgate, and what of the repository commands name.
func newPlay(t *testing.T, page string, tally *tally) *play {
	t.Helper()
	p := &play{t: t, page: page, dir: t.TempDir(), tally: tally, before: map[string]func(){}, status: map[string]int{}, key: pageKey, model: "some-model", words: maps.Clone(pageWords)}
	p.up = newStandIn(t)
	p.words["URL"] = p.up.base + "/v1"
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"examples", "gateway", "sdk"} { // nothing writes there
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(p.dir, "deploy"), os.DirFS(filepath.Join(root, "deploy"))); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable() // which is callgate if it is called so: see TestMain
	if err != nil {
		t.Fatal(err)
	}
	tools := filepath.Join(p.dir, "bin")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"callgate", "toolserver"} {
		if err := os.Symlink(self, filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal(err)
	}
	p.program("curl", "exec "+curl+` --fail-with-body "$@"`) // else an error is a success
	p.environment(tools)
	p.swaps = append(p.swaps, pageSwaps...)
	for _, address := range upstreamsShown {
		p.swap(address, p.up.base)
	}
	p.write("callgate.yaml", "providers: {demo: {type: demo}}\n") // where a page shows none of its own
	if text, err := os.ReadFile(filepath.Join("testdata", "played", strings.TrimSuffix(page, ".md")+".txtar")); err == nil {
		for _, f := range txtar.Parse(text).Files {
			p.write(f.Name, p.here(string(f.Data)))
			if f.Name == "callgate.yaml" {
				p.block, p.config = string(f.Data), p.here(string(f.Data))
			}
		}
	}
	if set := pageScenes[page]; set != nil {
		set(p)
	}
	t.Cleanup(p.stop)
	return p
}

// environment is that of somebody new, with the values that pages name, without a network.
func (p *play) environment(tools string) {
	p.t.Helper()
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasSuffix(name, "_API_KEY") && !strings.HasPrefix(name, "CALLGATE_") && name != "HOME" && name != "PATH" {
			p.env = append(p.env, v)
		}
	}
	cache, err := os.UserCacheDir() // the compiled parsers are there, and what Go has built
	if err != nil {
		p.t.Fatal(err)
	}
	caches, err := goCaches()
	if err != nil {
		p.t.Fatal(err)
	}
	p.env = append(p.env, caches...)
	const nowhere = "http://127.0.0.1:1"
	p.env = append(p.env, "HOME="+p.dir, "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"), "XDG_CACHE_HOME="+cache, "GOPROXY=off", "GOFLAGS=-mod=mod",
		"HTTP_PROXY="+nowhere, "HTTPS_PROXY="+nowhere, "http_proxy="+nowhere, "https_proxy="+nowhere, "NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost",
		"CALLGATE_LISTEN=127.0.0.1:0", "CALLGATE_ADMIN=127.0.0.1:0", "CALLGATE_ADMIN_KEY="+pageOperator)
	for name, value := range pageVariables {
		p.env = append(p.env, name+"="+value)
	}
	p.set("LOCAL_BASE_URL", p.up.base+"/v1")
	p.set("NEXT_BASE_URL", p.up.base+"/v1")
}

// goCaches is where the go command keeps what it has built, which HOME does not say there.
var goCaches = sync.OnceValues(func() (env []string, err error) {
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			return nil, err
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return env, nil
})

func (p *play) set(name, value string) { p.env = append(p.env, name+"="+value) }

// swap puts something in the place of what a page shows.
func (p *play) swap(shown, here string) { p.swaps = append(p.swaps, shown, here) }

// here is a text of the page as it is in this folder.
func (p *play) here(text string) string {
	for i := 0; i < len(p.swaps); i += 2 {
		text = strings.ReplaceAll(text, p.swaps[i], p.swaps[i+1])
	}
	return text
}

// shown is what a command printed here as the page shows it.
func (p *play) shown(text string) string {
	for i := 0; i < len(p.swaps); i += 2 {
		if strings.Contains(p.swaps[i], "://") || strings.Contains(p.swaps[i], "127.0.0.1:") {
			text = strings.ReplaceAll(text, p.swaps[i+1], p.swaps[i])
		}
	}
	return text
}

func (p *play) program(name, script string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, "bin", name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		p.t.Fatal(err)
	}
}

// write writes a file into the folder, and never into the repository, to which links lead from there.
func (p *play) write(name, text string) {
	p.t.Helper()
	dir, err := os.OpenRoot(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	defer dir.Close()
	name = strings.TrimPrefix(name, "~/")
	if err := errors.Join(dir.MkdirAll(path.Dir(name), 0o700), dir.WriteFile(name, []byte(text), 0o600)); err != nil {
		p.t.Fatal(err)
	}
}

// all follows the page.
func (p *play) all(parts []part) {
	for i, one := range parts {
		switch {
		case one.file == "callgate.yaml":
			p.configured(one.text)
		case one.file != "":
			p.write(one.file, p.here(one.text))
			p.tally.file(p.page)
		case one.output:
			if why := p.leftOut(parts[i-1].command); why == "" && !shows(one.text, p.printed) {
				p.t.Errorf("%s prints\n%s\nthe page shows\n%s", parts[i-1].command, p.printed, one.text)
			}
		case one.json:
			p.fragment(one.text)
		case one.command != "":
			p.command(one)
		}
	}
}

// leftOut is why a command is not run, "" if it is.
func (p *play) leftOut(command string) string {
	for _, e := range notPlayed {
		if (e.page == "" || e.page == p.page) && e.pattern.MatchString(command) {
			e.used.Store(true)
			return e.why
		}
	}
	return ""
}

// command runs one, unless it is one that cannot be run.
func (p *play) command(one part) {
	p.t.Helper()
	why := p.leftOut(one.command)
	p.tally.add(p.page, why)
	if why != "" {
		return
	}
	for begins, do := range p.before {
		if strings.HasPrefix(one.command, begins) {
			do()
		}
	}
	line := one.command
	for word, here := range p.words {
		line = regexp.MustCompile(`(^|[ ])`+regexp.QuoteMeta(word)+`($|[ ])`).ReplaceAllString(line, "${1}"+here+"${2}")
	}
	line = p.here(line)
	if serves.MatchString(line) {
		p.serve(line)
		return
	}
	if p.api == "" && asksGateway.MatchString(one.command) {
		p.serve("callgate serve" + map[bool]string{true: " -c callgate.yaml"}[p.config != ""])
	}
	for shown, here := range map[string]string{"127.0.0.1:8080": p.api, "127.0.0.1:8081": p.admin} {
		if here != "" {
			line = strings.ReplaceAll(line, shown, here)
		}
	}
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-ec", line)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, &out, &errs
	if p.admin != "" {
		cmd.Env = append(slices.Clip(cmd.Env), "CALLGATE_ADMIN_URL=http://"+p.admin)
	}
	began := time.Now()
	err := cmd.Run()
	want := 0
	for begins, status := range p.status {
		if strings.HasPrefix(one.command, begins) {
			want = status
		}
	}
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
		p.t.Errorf("%s\nends with %v, want status %d:\n%s%s", line, err, want, &out, &errs)
	}
	p.printed = p.shown(out.String())
	p.t.Logf("%v: %s", time.Since(began).Round(time.Millisecond), one.command)
}

var (
	serves = regexp.MustCompile(`^(?:bin/)?callgate serve\b`)
	// asksGateway are commands that need a gateway that runs.
	asksGateway = regexp.MustCompile(`127\.0\.0\.1:808[01]|callgate (?:usage|team|ready|key \w)`)
)

// configured takes a file that the page shows: it is checked, served, and each of its models is asked. A
// block that is indented stands in the place of the part that begins alike, as in a file that is edited,
// and the gateway that runs reads it again.
func (p *play) configured(block string) {
	p.t.Helper()
	edited := strings.HasPrefix(block, "    ")
	if edited {
		key, _, _ := strings.Cut(block, ":")
		head, _, _ := strings.Cut(p.block, "\n"+key+":")
		block = strings.TrimSuffix(head, "\n") + "\n" + block
	}
	if p.beforeFile != nil {
		p.beforeFile()
	}
	p.tally.file(p.page)
	if p.first == "" {
		p.first = block
	}
	p.block = block
	p.config = p.here(completed(block))
	p.write("callgate.yaml", p.config)
	if edited && p.api != "" {
		if status, answer := p.get("http://"+p.admin+"/admin/reload", "{}"); status != http.StatusOK {
			p.t.Errorf("reload answers %s with\n%s", answer, p.config)
		}
		p.ask()
		return
	}
	p.serve("callgate serve -c callgate.yaml")
	p.ask()
}

// completed is a block with what the page has named before, or leaves to its reader: providers, and a model.
func completed(block string) string {
	var has struct {
		Providers map[string]any
		Models    map[string]any
	}
	if yaml.Unmarshal([]byte(block), &has) != nil {
		return block // callgate says it better
	}
	if has.Providers == nil {
		block += pageProviders
	}
	if has.Models == nil {
		first := "local"
		if has.Providers != nil && has.Providers[first] == nil {
			first = slices.Sorted(maps.Keys(has.Providers))[0]
		}
		block += "models: {\"*\": {targets: [{provider: " + first + "}]}}\n"
	}
	return block
}

// inside runs a line of which nothing is said on the page.
func (p *play) inside(line string) (said string, status int) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "sh", "-ec", line)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

var playAdmin = regexp.MustCompile(`(?m)^metrics and circuit breakers: http://([^/]+)/`)

// serve starts a gateway in the background, in the place of the one that runs, and waits until it is ready.
// Its log goes to gateway.log.
func (p *play) serve(line string) {
	p.t.Helper()
	p.stop()
	log, err := os.OpenFile(filepath.Join(p.dir, "gateway.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	line = listenShown.ReplaceAllString(line, "--listen 127.0.0.1:0")
	p.gate = exec.Command("sh", "-ec", "exec "+line)
	p.out = &buffer{}
	p.gate.Dir, p.gate.Env, p.gate.Stdout, p.gate.Stderr = p.dir, p.env, p.out, log
	if err := p.gate.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.ended = make(chan error, 1)
	go func(cmd *exec.Cmd, ended chan error) { ended <- cmd.Wait() }(p.gate, p.ended)
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if m := listensOn.FindStringSubmatch(p.out.String()); m != nil {
			p.api = m[1]
			break
		}
		select {
		case err := <-p.ended:
			p.gate = nil
			p.t.Fatalf("%s ended with %v:\n%s\n%s", line, err, p.log(), p.config)
		default:
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s does not serve within %v:\n%s", line, patience, p.log())
		}
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if status, _ := p.get("http://"+p.api+"/readyz", ""); status == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s is not ready within %v:\n%s", line, patience, p.log())
		}
	}
	if m := playAdmin.FindStringSubmatch(p.out.String()); m != nil {
		p.admin = m[1]
	}
}

var listenShown = regexp.MustCompile(`--listen \S+`)

func (p *play) log() string {
	text, _ := os.ReadFile(filepath.Join(p.dir, "gateway.log"))
	return string(text)
}

// stop ends the gateway that runs, if one does. It must end well.
func (p *play) stop() {
	if p.gate == nil {
		return
	}
	_ = p.gate.Process.Signal(os.Interrupt)
	if err := <-p.ended; err != nil {
		p.t.Errorf("serve ended with %v:\n%s", err, p.log())
	}
	p.gate, p.api, p.admin = nil, "", ""
}

// get asks for an address, with the client's key, or posts a body there.
func (p *play) get(url, body string) (status int, answer string) {
	p.t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := pageClient.Do(req)
	if err != nil {
		p.t.Fatal(errors.Join(err, errors.New(p.log())))
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// pageClient keeps no connection, since gateways come and go at addresses.
var pageClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}

// ask asks each model of the gateway for a call of a tool, and must get an answer.
func (p *play) ask() {
	p.t.Helper()
	status, answer := p.get("http://"+p.api+"/v1/models", "")
	if status == http.StatusUnauthorized { // keys are made at run time
		said, _ := p.inside("CALLGATE_ADMIN_URL=http://" + p.admin + " callgate key create somebody")
		p.key = keyMade.FindString(said)
		_, answer = p.get("http://"+p.api+"/v1/models", "")
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(answer), &list); err != nil {
		p.t.Fatalf("%v in %s", err, answer)
	}
	names := []string{}
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	if len(names) == 0 {
		names = append(names, p.model)
	}
	if slices.Contains(names, "hermes") { // the demo's: most of the others are faults
		names = []string{"hermes"}
	}
	for _, name := range names {
		body := fmt.Sprintf(`{"model":%q,"user":"u","messages":[{"role":"user","content":"What is the weather in Oslo?"}],%s}`, name, weatherTool)
		if status, answer := p.get("http://"+p.api+"/v1/chat/completions", body); status != http.StatusOK {
			p.t.Errorf("the model %s answers %d: %s, with\n%s", name, status, answer, p.config)
		}
	}
}

var keyMade = regexp.MustCompile(`cg-\S+`)

const weatherTool = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`

// fragment takes a part of a request or of a file that a page shows as JSON: it must be JSON, and where
// pageBodies says what it is a part of, the request must be answered.
func (p *play) fragment(text string) {
	p.t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		p.t.Errorf("%v in\n%s", err, text)
		return
	}
	p.tally.file(p.page)
	for _, b := range pageBodies {
		if b.page != p.page || members[b.member] == nil {
			continue
		}
		maps.Copy(members, map[string]any{"model": b.model, "max_tokens": 100, "messages": []any{map[string]any{"role": "user", "content": "What is the weather in Oslo?"}}})
		body, err := json.Marshal(members)
		if err != nil {
			p.t.Fatal(err)
		}
		if status, answer := p.get("http://"+p.api+b.path, string(body)); status != http.StatusOK {
			p.t.Errorf("a request with\n%s\nis answered %d: %s", text, status, answer)
		}
		return
	}
}

// copied has a file of the repository in the folder.
func (p *play) copied(from, to string) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(from)))
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(to, string(text))
}
