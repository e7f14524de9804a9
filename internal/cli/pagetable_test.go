package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	oras "oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/oci"

	"github.com/callgate/callgate/gateway/toolserver/toolservertest"
	"github.com/callgate/callgate/internal/redistest"
)

// elsewhere are pages, and chapters of pages, whose commands another test runs, or checks, all of them.
var elsewhere = []otherTest{
	{"clients.md", "One by one", "TestPages, TestAgents and TestApps of internal/e2e/clients play it"},
	{"glossary.md", "", "TestGlossaryPage compares it with what callgate explain --reference prints"},
	{"settings.md", "", "TestSettingsPage compares it with what callgate check --reference prints"},
}

// otherTest says what of a page is tested elsewhere: a chapter, or all.
type otherTest struct{ page, chapter, why string }

// without is a page without what is tested elsewhere.
func (e otherTest) without(t *testing.T, text string) string {
	t.Helper()
	if e.chapter == "" {
		return ""
	}
	before, rest, ok := strings.Cut(text, "\n## "+e.chapter+"\n")
	if !ok {
		t.Errorf("%s has no chapter %q", e.page, e.chapter)
	}
	_, after, _ := strings.Cut(rest, "\n## ")
	return before + "\n## " + after
}

// exception is a command of a page that TestPagesPlayed does not run.
type exception struct {
	page    string         // "" for all
	command string         // how it begins, as a regular expression
	why     string         // what it needs, and what tests it instead
	pattern *regexp.Regexp // of command
	used    *atomic.Bool   // a page has it
}

// notPlayed are all commands that are not run. An entry that no page needs any more fails.
var notPlayed = exceptions([][3]string{
	{"", `make [a-z]`, "builds or tests this repository, as CI does: TestPagesMake holds that the targets are there"},
	{"", `go (?:test|run \./cmd/bench|run \./internal/redistest/with) `, "a test or a measurement of this repository: TestCommands of docs holds that it is there"},
	{"conformance.md", `go run \./conformance/plainproxy`, "TestPlainProxy of conformance runs it"},
	{"", `callgate conformance (?:--target|--self)`, "takes a minute: TestConformance runs it with a part of its cases, and package conformance runs all"},
	{"conformance.md", `LITELLM_MASTER_KEY=`, "needs LiteLLM; TestConformanceConfig reads the file"},
	{"", `git clone |cd callgate$`, "needs the internet: TestQuickstart of internal/e2e/clients does it with a clone of this tree"},
	{"quickstart.md", `go install `, "needs the internet: TestInstall runs what that gives"},
	{"formats.md", `bin/callgate parse --check`, "takes half a minute: TestParseCheck runs it with some of the texts, and TestTexts of gateway/chain reads all"},
	{"plugins.md", `(?:apt-get|npm|pip|rustup) `, "installs a compiler: TestPluginLanguages uses those that are there"},
	{"tools.md", `callgate tools login `, "waits for a browser: TestToolsLogin is one"},
	{"tools.md", `ssh -L`, "needs another machine"},
	{"deploy.md", `docker `, "needs a container engine: TestDeployPage of deploy/tests has docker read the flags, and the compose file read as these lines do; TestDockerfile of deploy/image reads the Dockerfile"},
	{"deploy.md", `kubectl `, "needs a cluster: TestDeployPage of deploy/tests has kubectl make the secret, where there is one"},
	{"deploy.md", `helm `, "needs a cluster: TestDeployPage of deploy/tests renders the chart as the line says"},
	{"deploy.md", `systemctl `, "needs systemd as the machine's first process: TestSystemd of deploy/tests has systemd check the service"},
	{"deploy.md", `systemd-analyze `, "TestSystemd of deploy/tests runs it"},
})

func exceptions(rows [][3]string) (all []exception) {
	for _, r := range rows {
		all = append(all, exception{r[0], r[1], r[2], regexp.MustCompile(`^(?:` + r[1] + `)`), &atomic.Bool{}})
	}
	return all
}

const (
	// pageKey and pageOperator are the keys behind the hashes that pages name.
	pageKey, pageOperator = "cg-canary-of-a-client-of-pages", "cg-canary-of-the-operator-of-pages"
	// minisignKey is one of minisign's own documentation.
	minisignKey = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
)

// pageVariables are the variables that configurations on pages name.
var pageVariables = map[string]string{
	"CALLGATE_KEY_HASH": hashOf(pageKey), "CALLGATE_OLD_KEY_HASH": hashOf(pageKey + "-old"), "CALLGATE_ADMIN_KEY_HASH": hashOf(pageOperator),
	"CALLGATE_CACHE_SALT": "0123456789abcdef0123456789abcdef", "CALLGATE_OIDC_SECRET": "secret", "CALLGATE_SESSION_SECRET": "0123456789abcdef0123456789abcdef",
	"ANTHROPIC_API_KEY": "key", "GITHUB_TOKEN": "token", "FILES_TOKEN": "token", "WAREHOUSE_SECRET": "secret",
	"OPENAI_KEY_1": "key", "OPENAI_KEY_2": "key", "OPENAI_KEY_3": "key",
}

// upstreamsShown are addresses of servers on pages. Here they are one, a standIn.
var upstreamsShown = []string{
	"http://127.0.0.1:8000", "http://127.0.0.1:30000", "http://127.0.0.1:3000", "http://127.0.0.1:11434", "http://10.0.0.1:8000", "http://10.0.0.2:8000",
	"https://api.openai.com", "https://api.example",
}

// pageSwaps are what pages show and what it is here, on all pages.
var pageSwaps = []string{
	"--upstream http://127.0.0.1:8080", "--upstream http://127.0.0.1:8000", // a server of its own at the gateway's address
	"10.0.0.0/8", "127.0.0.0/8", // where a client of ours is
	"expires: 2027-01-31", "expires: 2127-01-31", "until: 2026-12-31", "until: 2126-12-31", // the page's days pass
}

// pageWords are the words for what a reader puts in their place, in commands.
var pageWords = map[string]string{"FILE": "callgate.yaml", "COMMAND": "check", "MODE": "auto", "[--url URL]": "--url http://127.0.0.1:8080"}

// pageBodies are requests of which pages show a part as JSON, by a member that it has.
var pageBodies = []struct{ page, member, path, model string }{
	{"tools.md", "mcp_servers", "/v1/messages", "assistant"},
	{"tools.md", "tools", "/v1/chat/completions", "assistant"},
}

// pageScenes are what pages take for granted: files, servers, and what has happened before. Files alone
// are in testdata/played.
var pageScenes = map[string]func(p *play){
	"quickstart.md": func(p *play) { p.up.refuses = true },
	"upstreams.md":  func(p *play) { p.up.refuses = true },
	"caches.md": func(p *play) {
		p.set("REDIS_URL", redistest.Start(p.t).URL())
		p.before["callgate export-trace"] = func() { // the logs of a day, one of them packed
			p.configured("log: {prefix: true}\nproviders: {a: {type: openai, base_url: \"http://10.0.0.1:8000/v1\"}}\nmodels: {m: {routing: prefix, targets: [{provider: a}]}}\n")
			p.ask()
			p.stop()
			if said, status := p.inside("gzip -c gateway.log > gateway.log.1.gz"); status != 0 {
				p.t.Error(said)
			}
		}
	},
	"deploy.md": func(p *play) {
		p.swap(" /usr/", " root/usr/")
		p.swap(" /etc/", " root/etc/")
		p.write("root/usr/bin/.keep", "")
		p.write("root/etc/systemd/system/.keep", "")
		p.set("REDIS_URL", "redis://127.0.0.1:1")
		p.swap("127.0.0.1:6379", "127.0.0.1:1")
		p.status["callgate doctor"] = 1 // it finds what the page shows
	},
	"keys.md": func(p *play) { p.model = "fast" },
	"usage.md": func(p *play) {
		p.words["FILE"] = "prices.yaml"
		p.copied("gateway/accounts/testdata/import/genai.json", "data.json")
	},
	"guards.md": func(p *play) {
		p.words["FILE"] = "conversations.jsonl"
	},
	"plugins.md": func(p *play) {
		p.swap("RWQ…", minisignKey)
		p.beforeFile = func() {
			digest, said := p.pushed("plugins.d/my_model.wasm")
			p.swap(`"sha256:…"`, `"sha256:`+said+`"`)
			p.swap("ghcr.io/me/my_model@sha256:…", "oci:"+filepath.Join(p.dir, "registry")+"@"+digest)
		}
	},
	"reload.md": func(p *play) {
		p.set("CALLGATE_RELOAD", "signal") // else the gateway may be faster than the command
		p.before["curl -s -X POST"] = func() {
			p.serve("callgate serve -c callgate.yaml")
			p.write("callgate.yaml", p.here(`{keys: [{name: bob, hash: "${CALLGATE_KEY_HASH}"}], providers: {local: {type: openai, base_url: "http://10.0.0.2:8000/v2"}}, models: {m: {targets: [{provider: local}]}}}`))
		}
	},
	"rollouts.md": func(p *play) {
		p.before["curl -s -X POST 'http"] = func() { p.configured(p.first) } // "at any time" is before the end
	},
	"scale.md": func(p *play) { p.words["…"] = "gateway/prefix/testdata/mooncake_conversation.jsonl.gz" },
	"tools.md": func(p *play) {
		s := toolservertest.New(p.t)
		s.Tools = []string{toolservertest.Definition("search_code", "Searches."), toolservertest.Definition("create_issue", "Creates.")}
		p.swap("https://mcp.example/mcp", s.URL.String())
		p.write("tools.json", `[{"name":"read","description":"Reads.","inputSchema":{"type":"object"}}]`)
		p.program("my-file-server", "exec toolserver "+filepath.Join(p.dir, "tools.json"))
		p.before["callgate tools pin"] = func() { p.configured(p.first) } // the servers that nobody has signed in at are not there
	},
}

// pushed puts a module into the OCI layout "registry", and returns the digests of its manifest and of itself.
func (p *play) pushed(module string) (manifest, sum string) {
	p.t.Helper()
	wasm, err := os.ReadFile(filepath.Join(p.dir, module))
	if err != nil {
		p.t.Fatal(err)
	}
	layout, err := oci.New(filepath.Join(p.dir, "registry"))
	if err != nil {
		p.t.Fatal(err)
	}
	d, err := oras.PushBytes(p.t.Context(), layout, "application/wasm", wasm)
	if err != nil {
		p.t.Fatal(err)
	}
	d.Annotations = map[string]string{"org.opencontainers.image.title": filepath.Base(module)}
	sum = d.Digest.Encoded()
	d, err = oras.PackManifest(p.t.Context(), layout, oras.PackManifestVersion1_1, "application/vnd.callgate.plugin", oras.PackManifestOptions{Layers: []ocispec.Descriptor{d}})
	if err == nil {
		err = layout.Tag(p.t.Context(), d, "latest")
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return d.Digest.String(), sum
}

// standIn is a server as pages have it: vLLM with one model, and an API for tools.
type standIn struct {
	base    string
	refuses bool // tools, as vLLM without --enable-auto-tool-choice
}

func newStandIn(t *testing.T) *standIn {
	t.Helper()
	s := &standIn{}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.base = server.URL
	return s
}

func (s *standIn) serve(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Model      string
		Messages   []struct{ Role, Content any }
		ToolChoice any `json:"tool_choice"`
		Tools      []struct{ Function struct{ Name string } }
	}
	text, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(text, &body)
	w.Header().Set("Content-Type", "application/json")
	answer := func(message map[string]any, reason string) {
		message["role"] = "assistant"
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "c", "object": "chat.completion", "created": 1, "model": body.Model,
			"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": reason}}, "usage": map[string]int{"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}})
	}
	const asText = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"
	switch {
	case r.URL.Path == "/version":
		io.WriteString(w, `{"version":"0.11.0"}`)
	case r.URL.Path == "/v1/models":
		io.WriteString(w, `{"object":"list","data":[{"id":"Qwen/Qwen3-32B","object":"model","owned_by":"vllm","max_model_len":32768}]}`)
	case strings.HasPrefix(r.URL.Path, "/v1/Oslo"):
		io.WriteString(w, `{"daily":["rain"]}`)
	case r.URL.Path != "/v1/chat/completions":
		http.NotFound(w, r)
	case s.refuses && len(body.Tools) > 0 && body.ToolChoice != "none":
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}}`)
	case body.Messages[len(body.Messages)-1].Role == "tool":
		answer(map[string]any{"content": "It rains in Oslo."}, "stop")
	case body.ToolChoice == "none", len(body.Tools) == 0 && strings.Contains(string(text), "<tools>"):
		answer(map[string]any{"content": asText}, "stop")
	case len(body.Tools) > 0:
		call := map[string]any{"id": "call_1", "type": "function", "function": map[string]string{"name": body.Tools[0].Function.Name, "arguments": `{"city": "Oslo"}`}}
		answer(map[string]any{"content": nil, "tool_calls": []any{call}}, "tool_calls")
	default:
		answer(map[string]any{"content": fmt.Sprintf("You asked %s.", body.Model)}, "stop")
	}
}

// TestPagesMake holds that the targets of make which pages name are there.
func TestPagesMake(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for page, doc := range readPages(t) {
		parts, _ := partsOf(doc)
		for _, one := range parts {
			target, ok := strings.CutPrefix(one.command, "make ")
			if !ok {
				continue
			}
			target, _, _ = strings.Cut(target, " ")
			if found++; !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).Match(text) {
				t.Errorf("%s says make %s, which is not there", page, target)
			}
		}
	}
	if found < 20 {
		t.Errorf("got %d commands of make, want more: are they found?", found)
	}
}

// TestNotPlayedElsewhere holds that the tests are there which stand in for what is not played.
func TestNotPlayedElsewhere(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(os.DirFS("../.."), name)
		for _, m := range testDeclared.FindAllSubmatch(text, -1) {
			declared[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var whys []string
	for _, e := range notPlayed {
		whys = append(whys, e.why)
	}
	for _, e := range elsewhere {
		whys = append(whys, e.why)
	}
	for _, why := range whys {
		for _, name := range regexp.MustCompile(`\bTest\w+`).FindAllString(why, -1) {
			if !declared[name] {
				t.Errorf("there is no %s: %s", name, why)
			}
		}
	}
}

var testDeclared = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
