package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

// TestBrokenPlugin has a file in the plugins' directory that is no good plugin: the gateway
// starts without it and says so everywhere, and check names it as well. Where a model needs its parser
// check, which is for mistakes, refuses that.
func TestBrokenPlugin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wasm []byte
		says string
	}{
		"garbage":          {[]byte("garbage"), ""},
		"empty":            {nil, ""},
		"cut":              {pluginstest.Guest{}.Wasm()[:100], ""},
		"no memory":        {pluginstest.Guest{Without: abi.ExportMemory}.Wasm(), "memory"},
		"no feed":          {pluginstest.Guest{Without: abi.ExportFeed}.Wasm(), "feed"},
		"bad manifest":     {pluginstest.Guest{Manifest: "{"}.Wasm(), "manifest"},
		"another ABI":      {pluginstest.Guest{Manifest: `{"abi":99,"name":"a","version":"1","parsers":[]}`}.Wasm(), "abi"},
		"forbidden import": {pluginstest.Guest{Imports: []pluginstest.Import{{Module: "env", Name: "system", Params: "i", Results: "i"}}}.Wasm(), "system"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "mine.wasm"), c.wasm, 0o600); err != nil {
				t.Fatal(err)
			}
			config := configFile(t, "plugins: {dir: "+dir+"}\nproviders: {demo: {type: demo}}")
			g := serve(t, "plugins: {dir: "+dir+"}\nadmin: {listen: \"127.0.0.1:0\"}\nproviders: {demo: {type: demo}}")
			g.names("mine.wasm", "refused", c.says)
			status, _, stderr := command(t, "", "check", config)
			if status != 0 || !strings.Contains(stderr, "mine.wasm is refused: ") || !strings.Contains(stderr, c.says) {
				t.Errorf("check: got status %d and %q, want 0 and the reason with %q", status, stderr, c.says)
			}
			needs := configFile(t, "plugins: {dir: "+dir+"}\nproviders: {demo: {type: demo, parser: hand}}")
			status, stdout, stderr := command(t, "", "check", needs)
			refused(t, status, stdout, stderr, `there is no parser "hand"`, "mine.wasm", c.says)
			status, stdout, _ = command(t, "", "plugin", "inspect", filepath.Join(dir, "mine.wasm"))
			if status != 1 || !strings.Contains(stdout, "no: ") || !strings.Contains(stdout, c.says) {
				t.Errorf("inspect: got status %d and %q, want 1 and the reason with %q", status, stdout, c.says)
			}
		})
	}
}

// TestGoodPlugin loads a plugin of one's own beside the built-in ones.
func TestGoodPlugin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.wasm"), pluginstest.Guest{}.Wasm(), 0o600); err != nil {
		t.Fatal(err)
	}
	g := serve(t, "plugins: {dir: "+dir+"}\nproviders: {demo: {type: demo, parser: [hand, hermes]}}")
	want := said{content: "Let me check.", finish: "tool_calls", calls: []called{{"get_weather", `{"city":"Oslo"}`}}}
	whole(t, g.chat(prompt("demo/hermes", "What is the weather in Oslo?", false)).body).same(t, want)
}

// TestUnknownParser names a parser in the configuration that there is not.
func TestUnknownParser(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"provider": "providers: {demo: {type: demo, parser: hermess}}",
		"list":     "providers: {demo: {type: demo, parser: [qwen3_coder, hermess]}}",
		"model":    "providers: {demo: {type: demo}}\nmodels: {m: {targets: [{provider: demo, parser: hermess}]}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := configFile(t, config)
			status, _, stderr := command(t, "", "serve", "--listen", "127.0.0.1:0", "-c", file)
			refused(t, status, "", stderr, "hermess", `did you mean "hermes"?`, file)
			status, stdout, stderr := command(t, "", "check", file)
			refused(t, status, stdout, stderr, "hermess", `did you mean "hermes"?`, file)
		})
	}
}

// names checks that a plugin that is not loaded is named, with its state, by /readyz, and
// with the reason by the log, the admin API and the operator's page.
func (g *gate) names(file, state, reason string) {
	g.t.Helper()
	if r := g.get("/readyz"); r.status != http.StatusOK || !strings.Contains(r.body, "plugin "+file+" is "+state) {
		g.t.Errorf("/readyz: got %d %q, want 200 and %s", r.status, r.body, file)
	}
	var list struct {
		Files []struct{ Name, State, Reason string }
	}
	r := g.adminDo(http.MethodGet, "/admin/plugins")
	if err := json.Unmarshal([]byte(r.body), &list); err != nil {
		g.t.Fatal(r.body, err)
	}
	i := slices.IndexFunc(list.Files, func(f struct{ Name, State, Reason string }) bool { return filepath.Base(f.Name) == file })
	if i < 0 || list.Files[i].State != state || !strings.Contains(list.Files[i].Reason, reason) {
		g.t.Errorf("/admin/plugins: got %+v, want %s %s: %q", list.Files, file, state, reason)
	}
	if r := g.adminDo(http.MethodGet, "/ui/plugins"); !strings.Contains(r.body, file) {
		g.t.Errorf("/ui/plugins does not name %s", file)
	}
	if state != "compiling" && !strings.Contains(g.stderr.String(), file) {
		g.t.Errorf("the log does not name %s", file)
	}
}
