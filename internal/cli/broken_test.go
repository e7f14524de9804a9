package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

// TestBrokenPlugin has a file in the plugins' directory that is no good plugin: the gateway
// starts without it and says so everywhere, and check, which is for mistakes, refuses it.
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
			status, stdout, stderr := command(t, "", "check", config)
			refused(t, status, stdout, stderr, "mine.wasm", c.says)
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
