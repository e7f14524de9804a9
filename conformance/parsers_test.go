package conformance_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/conformance"
	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/chain/chaintest"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/builtin"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/all"
)

// TestParsers runs the text of the suite's cases through the parsers alone:
// natively, where a debugger steps into them, and as the plugin that is shipped.
func TestParsers(t *testing.T) {
	t.Parallel()
	native := chaintest.Runner{Specs: all.Specs()}
	var infos []abi.Parser
	for _, s := range native.Specs {
		infos = append(infos, s.Parser)
	}
	t.Run("native", func(t *testing.T) {
		t.Parallel()
		readCases(t, infos, func() (chain.Runner, func()) { return native, func() {} })
	})
	t.Run("wasm", func(t *testing.T) {
		t.Parallel()
		host := loadHost(t)
		readCases(t, infos, func() (chain.Runner, func()) {
			s := host.Session()
			return session{s}, s.Close
		})
	})
}

// readCases reads each case's text in several cuts and compares what it means. open
// begins what is one response for the parsers.
func readCases(t *testing.T, infos []abi.Parser, open func() (chain.Runner, func())) {
	t.Helper()
	cases, err := conformance.Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.Model == nil || c.Parser == "none" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			plan := chain.NewPlan(candidates(infos, c.Parser), chain.PlanOptions{Reasoning: true, Auto: c.Parser == "auto"})
			text := strings.Join(c.Model, "")
			var single []string
			for i := range len(text) {
				single = append(single, text[i:i+1])
			}
			for how, deltas := range map[string][]string{"at once": {text}, "as in the file": c.Model, "byte by byte": single} {
				runner, end := open()
				got, warnings := readText(t, &c, plan, runner, deltas)
				end()
				for _, w := range warnings {
					if strings.HasPrefix(w, "plugin:") {
						t.Errorf("%s: a parser failed: %s", how, w)
					}
				}
				compare(t, how, c.Want.Answers[0], got)
			}
		})
	}
}

// readText reads deltas as a gateway does for the case's request.
func readText(t *testing.T, c *conformance.Case, plan *chain.Plan, runner chain.Runner, deltas []string) (*chain.Message, []string) {
	t.Helper()
	req, err := gateway.ParseRequest(slices.Concat([]byte(`{"model":"m",`), c.Request[1:]))
	if err != nil {
		t.Fatal(err)
	}
	tools, err := gateway.ReadTools(req.Tools())
	if err != nil {
		t.Fatal(err)
	}
	ch := plan.New(runner, chain.Options{
		Tools: func() []abi.Tool { return tools }, NoTools: !req.OffersTools(), Reasoning: chain.Auto,
	})
	defer ch.Close()
	var m chain.Message
	for _, d := range deltas {
		m.Add(ch.Feed(t.Context(), []byte(d)))
	}
	reason := abi.Stop
	if c.FinishReason == "length" {
		reason = abi.Length
	}
	m.Add(ch.Finish(t.Context(), reason))
	return &m, ch.Report().Warnings
}

// candidates are the parser that a case names, or all, with the suite's own format
// and the fallback.
func candidates(infos []abi.Parser, name string) []chain.Candidate {
	var out []chain.Candidate
	for _, p := range infos {
		wanted := name == "auto" || p.Name == name || p.Name == chain.Fallback
		if wanted && p.Name != "custom" {
			out = append(out, chain.Candidate{Name: p.Name, Parser: p.Name, Priority: p.Priority,
				Triggers: p.Triggers, Starts: p.Starts, Models: p.Models, Heuristic: p.Heuristic})
		}
	}
	if name == "auto" || name == "my_format" {
		out = append(out, chain.Candidate{Name: "my_format", Parser: "custom", Priority: 25, Triggers: []string{"<<call "}, Heuristic: true,
			Settings: []abi.Setting{{Key: "start", Value: "<<call "}, {Key: "end", Value: ">>"}, {Key: "body", Value: "name_json"}}})
	}
	return out
}

func compare(t *testing.T, how string, want conformance.Answer, m *chain.Message) {
	t.Helper()
	if got := m.Content.String(); got != want.Content {
		t.Errorf("%s: content %.300q, want %.300q", how, got, want.Content)
	}
	if got := m.Reasoning.String(); got != want.Reasoning {
		t.Errorf("%s: reasoning %.300q, want %.300q", how, got, want.Reasoning)
	}
	calls := m.Calls()
	if len(calls) != len(want.ToolCalls) {
		t.Errorf("%s: %d calls, want %d: %+v", how, len(calls), len(want.ToolCalls), calls)
		return
	}
	for i, w := range want.ToolCalls {
		got := calls[i]
		if got.Name != w.Name || compact(got.Arguments) != compact(string(w.Arguments)) {
			t.Errorf("%s: call %d is %s(%.300s), want %s(%.300s)", how, i, got.Name, got.Arguments, w.Name, w.Arguments)
		}
	}
}

// compact is JSON as a value with its numbers' digits, written in one way.
func compact(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err.Error()
	}
	b, _ := json.Marshal(v) // it came from JSON
	return string(b)
}

// loadHost loads the built-in parsers as a plugin.
func loadHost(t *testing.T) *plugins.Host {
	t.Helper()
	wasm, err := builtin.Wasm(builtin.Name)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	limits := plugins.Limits{Time: 10e9, Total: 60e9} // a busy machine must not fail a case about text
	host, err := plugins.New(t.Context(), plugins.Config{CacheDir: filepath.Join(dir, "callgate", "wazero"), Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close(context.Background()) })
	if err := host.Load(t.Context(), plugins.Source{Name: builtin.Name, Wasm: wasm}); err != nil {
		t.Fatal(err)
	}
	return host
}

// session makes a session of the plugin host a chain.Runner.
type session struct{ *plugins.Session }

// Open implements chain.Runner.
func (s session) Open(ctx context.Context, parser string, opts abi.Options) (chain.Run, error) {
	run, err := s.Session.Open(ctx, parser, opts)
	if err != nil {
		return nil, err // and not a chain.Run that holds a nil *plugins.Run
	}
	return run, nil
}
