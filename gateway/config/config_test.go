package config_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

func env(settings ...string) func(string) (string, bool) {
	return environment([]byte("# env: " + strings.Join(settings, "\n# env: ")))
}

func mustParse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("callgate.yaml", []byte(text), env())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, large := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "large.yaml")
	for file, text := range map[string]string{good: "log: {level: warn}\n", large: strings.Repeat("#\n", 1<<20)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(good)
	if err != nil || c.Log.Level != "warn" {
		t.Errorf("got %+v, %v, want level warn", c, err)
	}
	if _, err := config.Load(large); err == nil || !strings.Contains(err.Error(), "the most is 1MiB") {
		t.Errorf("got error %v, want one for the size", err)
	}
	if _, err := config.Load(filepath.Join(dir, "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v, want %v", err, os.ErrNotExist)
	}
}

// TestTargets walks the defaults of a target: its own, its provider's, those of
// the provider's type.
func TestTargets(t *testing.T) {
	t.Parallel()
	const file = `
providers:
  raw: {type: openai, base_url: http://127.0.0.1/v1}
  set: {type: openai, base_url: http://127.0.0.1/v1, parser: hermes, reasoning: open, tool_calls: report}
  rules: {type: azure, base_url: "https://a.example.com", on_invalid_call: reject, empty_completion: pass, history: report, tool_in_reasoning: end}
  kimi: {type: moonshot}
  demo: {type: demo}
models:
  raw: {targets: [{provider: raw}]}
  raw-parser: {targets: [{provider: raw, model: m, parser: [hermes, pythonic]}]}
  raw-tools: {targets: [{provider: raw, tool_calls: report}]}
  set: {targets: [{provider: set}, {provider: demo}]}
  set-own: {targets: [{provider: set, parser: auto, reasoning: closed, tool_calls: repair}]}
  set-out: {targets: [{provider: set, parser: none}]}
  rules: {targets: [{provider: rules, weight: 7}, {provider: rules, on_invalid_call: reask, empty_completion: fail}, {provider: rules, tool_calls: off}]}
  native: {targets: [{provider: kimi}]}
  set-*: {targets: [{provider: set, model: prefix}]}
  s*: {targets: [{provider: set, model: short}]}
`
	c := mustParse(t, file)
	r := func(provider, model, reasoning, tools string, parsers ...string) config.Resolved {
		shown := map[string]string{"raw": "auto", "set": "auto"}[provider] // of type openai
		return config.Resolved{History: "off", Target: config.Target{
			Provider: provider, Model: model, Parser: parsers, Reasoning: reasoning, ToolCalls: tools,
			Tools: cmp.Or(shown, "native"), OnInvalidCall: "pass", EmptyCompletion: "fail", ToolInReasoning: "buffer",
		}}
	}
	rules := func(tools, onInvalid, onEmpty string) config.Resolved {
		return config.Resolved{History: "report", Target: config.Target{
			Provider: "rules", Model: "rules", Parser: config.Parsers{"none"}, Reasoning: "none", ToolCalls: tools,
			Tools: "native", OnInvalidCall: onInvalid, EmptyCompletion: onEmpty, ToolInReasoning: "end",
		}}
	}
	heavy := rules("repair", "reject", "pass")
	heavy.Weight = 7
	native := r("kimi", "native", "none", "repair", "none")
	native.History = "repair"
	tests := map[string][]config.Resolved{
		"raw":        {r("raw", "raw", "none", "repair", "none")},
		"raw-parser": {r("raw", "m", "auto", "repair", "hermes", "pythonic")},
		"raw-tools":  {r("raw", "raw-tools", "none", "report", "none")},
		"set":        {r("set", "set", "open", "report", "hermes"), r("demo", "set", "auto", "repair", "auto")},
		"set-own":    {r("set", "set-own", "closed", "repair", "auto")},
		"set-out":    {r("set", "set-out", "none", "report", "none")},
		"rules":      {heavy, rules("repair", "reask", "fail"), rules("off", "pass", "pass")},
		"native":     {native},
		"set-":       {r("set", "prefix", "open", "report", "hermes")},
		"set-*":      {r("set", "prefix", "open", "report", "hermes")},
		"st":         {r("set", "short", "open", "report", "hermes")},
		"other":      nil,
	}
	for model, want := range tests {
		if got := c.Targets(model); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", model, got, want)
		}
	}
}

func TestCheckParsers(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
providers:
  p: {type: demo, parser: [hermes, pytonic]}
models:
  m: {targets: [{provider: p, parser: mine}, {provider: p, parser: hermess}, {provider: p, parser: none}]}
parsers:
  mine: {start: "<<"}
`)
	if err := c.CheckParsers([]string{"pytonic", "hermess", "hermes"}); err != nil {
		t.Errorf("got error %v, want none", err)
	}
	got := c.CheckParsers([]string{"pythonic", "hermes"})
	const want = `callgate.yaml:3:36: providers.p.parser[1]: there is no parser "pytonic"; did you mean "pythonic"? known parsers: hermes, mine, pythonic
callgate.yaml:5:68: models.m.targets[1].parser: there is no parser "hermess"; did you mean "hermes"? known parsers: hermes, mine, pythonic`
	if got == nil || got.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", got, want)
	}
}

func TestBOM(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "\xef\xbb\xbflisten: localhost:1\r\nlog: {format: text}\r\n")
	if c.Listen != "localhost:1" || c.Log.Format != "text" {
		t.Errorf("got %+v, want the file's values", c)
	}
}

// TestHostile checks that what makes the YAML parser slow is refused before, and that what
// is not takes no more memory than the worst file within the bounds.
func TestHostile(t *testing.T) { // not parallel: it measures
	huge := env("BIG=" + strings.Repeat("x", 1<<16))
	const many, deep, twice = "more than 50000 words and signs", "nests more than 32 levels deep", "is here twice"
	for _, c := range []struct{ name, says, text string }{
		{"brackets", deep, strings.Repeat("[", 1<<19)},
		{"braces", deep, strings.Repeat("{a: ", 1<<17)},
		{"dashes", deep, strings.Repeat("- ", 1<<18)},
		{"keys", many, strings.Repeat("a:\n", 1<<18)},
		{"tokens", many, "log: [" + strings.Repeat("a,", 1<<18) + "]"},
		{"siblings", twice, strings.Repeat("a:\n", 24_000)},
		{"words", "stands for more than 100000 values", "defaults: {intents: [{expect: x, match: [&a \"" + strings.Repeat("a ", 1<<18) + "\"" +
			strings.Repeat(",*a", 15_000) + "]}]}"},
		{"zones", twice, "models: {" + strings.Repeat("M: {date_context: x/y},", 6_000) + "}"},
		{"aliases", "more than 16 aliases", "models: {" + chain(4_000) + "}"},
		{"slips", "there is no model \"b1\"", "models: {" + strings.ReplaceAll(chain(4_000), "{alias: a", "{alias: b") + "}"},
		{"patterns", "there is no model \"a1\"", "models: {" + strings.ReplaceAll(chain(4_000), ": {", "-*-*: {") + "}"},
		{"rules", many, "models: {m: {targets: [{provider: p}], rules: [" + strings.Repeat("{when: {tools: true}, targets: [{provider: p}]},", 2_500) + "]}}"},
		{"values", "is in the list twice", "models: {m: {targets: [{provider: p}], rules: [{when: {metadata: {a: [" + strings.Repeat("a,", 20_000) + "]}}, targets: [{provider: p}]}]}}"},
		{"long key", "a key has 262144 bytes", strings.Repeat("a", 1<<18) + ": x"},
		{"variables", "expand to more than 1MiB", "models: {m: {targets: [" +
			strings.Repeat(`{model: "`+strings.Repeat("${BIG}", 1000)+"\"},", 100) + "]}}"},
	} {
		var err error
		took := allocated(func() { _, err = config.Parse("f", []byte(c.text), huge) })
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got error %.200v, want one that says %q", c.name, err, c.says)
		}
		if took > worst {
			t.Errorf("%s: it took %d bytes of memory, want %d at most", c.name, took, uint64(worst))
		}
	}
}

// worst is more than the parser allocates for any file within the bounds: it is quadratic in
// the keys of one place, and the siblings of TestHostile take 2.3 GB.
const worst = 3 << 30

// allocated is how many bytes some work allocates, whether it gives them back or not.
func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// chain is n aliases, each of the next.
func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d: {alias: a%d},", i, i+1)
	}
	return b.String()
}

func TestAddUpstream(t *testing.T) {
	t.Parallel()
	c := config.FromEnv(nil)
	c.Models = map[string]config.Model{"*": {Route: config.Route{Guard: "enforce"}}}
	c.AddUpstream("upstream", config.Upstream{URL: "http://127.0.0.1:8000/v1", Parser: "hermes"})
	if got := c.Route("*").Guard; got != "enforce" {
		t.Errorf("got guard %q, want that of the model before", got)
	}
	if err := c.Validate(); err != nil {
		t.Errorf("got error %v, want none", err)
	}
	want := []config.Resolved{{History: "off", Target: config.Target{
		Provider: "upstream", Model: "m", Parser: config.Parsers{"hermes"}, Reasoning: "auto", ToolCalls: "repair",
		Tools: "auto", OnInvalidCall: "pass", EmptyCompletion: "fail", ToolInReasoning: "buffer",
	}}}
	if got := c.Targets("m"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	c.AddUpstream("upstream", config.Upstream{URL: "127.0.0.1:8000", Parser: "hermes"})
	if err := c.Validate(); err == nil {
		t.Error("a base URL without a scheme gave no error")
	}
}
