package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/conformance"
	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/chain/chaintest"
	"github.com/callgate/callgate/gateway/wire"
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
	for _, c := range readSuite(t) {
		if c.Model == nil || c.Parser == "none" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			found := candidates(infos, c.Parser)
			if len(found) < 2 {
				t.Skip("there is no parser " + c.Parser)
			}
			plan := chain.NewPlan(found, chain.PlanOptions{Reasoning: true, Auto: c.Parser == "auto"})
			text := strings.Join(c.Model, "")
			failing := isKnown(c.Name)
			var faults []string
			for _, way := range ways(&c, text) {
				runner, end := open()
				got := readText(t, &c, plan, runner, way.deltas)
				end()
				for _, fault := range got.differ(&c, &way) {
					faults = append(faults, way.name+": "+fault)
				}
				if *update && way.name == "as in the file" && (c.Want.Events != nil || slices.Contains(c.Asked, "want/events.txt")) {
					rewrite(t, &c, map[string]string{"want/events.txt": conformance.FormatEvents(got.events)})
				}
			}
			switch {
			case failing || *update:
				t.Logf("not compared, or known to fail: %q", faults)
			case len(faults) > 0:
				t.Error(strings.Join(faults, "\n"))
			}
		})
	}
}

// isKnown reports whether a case is on the list of known failures. That one of them
// passes is for the gateway's test to say.
func isKnown(name string) bool {
	for line := range strings.Lines(knownFailing) {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == name {
			return true
		}
	}
	return false
}

// way is a way of cutting a text.
type way struct {
	name   string
	deltas []string
}

func ways(c *conformance.Case, text string) []way {
	var bytes, runes []string
	for i := range len(text) {
		bytes = append(bytes, text[i:i+1])
	}
	for _, r := range text {
		runes = append(runes, string(r))
	}
	return []way{{"at once", []string{text}}, {"as in the file", c.Model}, {"byte by byte", bytes}, {"rune by rune", runes}}
}

// read is what a text was read as.
type read struct {
	message  chain.Message
	events   []conformance.Event
	warnings []string
}

// readText reads deltas as a gateway does for the case's request.
func readText(t *testing.T, c *conformance.Case, plan *chain.Plan, runner chain.Runner, deltas []string) *read {
	t.Helper()
	req, err := gateway.ParseRequest(slices.Concat([]byte(`{"model":"m",`), c.Request[1:]))
	if err != nil {
		t.Fatal(err)
	}
	tools, err := gateway.ReadTools(req.Reading.ToolsJSON())
	if err != nil {
		t.Fatal(err)
	}
	opts := chain.Options{Tools: func() []abi.Tool { return tools }, NoTools: !req.Reading.OffersTools(), Reasoning: chain.Auto}
	if c.Open {
		opts.Reasoning = chain.Open
	}
	ch := plan.New(runner, opts)
	defer ch.Close()
	var r read
	for _, d := range deltas {
		r.add(ch.Feed(t.Context(), []byte(d)))
	}
	reason := abi.Stop
	if c.FinishReason == "length" {
		reason = abi.Length
	}
	r.add(ch.Finish(t.Context(), reason))
	r.warnings = ch.Report().Warnings
	return &r
}

func (r *read) add(events []abi.Event) {
	r.message.Add(events)
	for _, e := range events {
		kind := e.Kind.String()
		switch e.Kind {
		case wire.Void:
			kind = "void"
		case wire.WasReasoning:
			kind = "was_reasoning"
		}
		r.events = append(r.events, conformance.Event{Kind: kind, Index: e.Index, Text: e.Text, Name: e.Name, ID: e.ID})
	}
}

// differ says where what was read is not what the case wants.
func (r *read) differ(c *conformance.Case, w *way) (faults []string) {
	for _, warning := range r.warnings {
		if strings.HasPrefix(warning, "plugin:") {
			faults = append(faults, "a parser failed: "+warning)
		}
	}
	if c.Want.Answers != nil {
		faults = append(faults, compare(&c.Want.Answers[0], &r.message)...)
	}
	if want := c.Want.Events; want != nil {
		got := strings.Split(strings.TrimSpace(strings.TrimSuffix(conformance.FormatEvents(r.events), conformance.NoEvents)), "\n")
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			faults = append(faults, fmt.Sprintf("events:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  ")))
		}
	}
	n := 0
	for _, e := range r.events {
		if e.Kind == "args" && e.Text != "" {
			n++
		}
	}
	if w.name == "rune by rune" && n < c.Want.Deltas {
		faults = append(faults, fmt.Sprintf("the arguments come in %d pieces, want at least %d", n, c.Want.Deltas))
	}
	return faults
}

// candidates are the parsers with the name that a case has, or all, with the suite's
// own format and the fallback.
func candidates(infos []abi.Parser, name string) []chain.Candidate {
	var out []chain.Candidate
	for _, p := range infos {
		wanted := name == "auto" || p.Name == name || slices.Contains(p.Aliases, name) || p.Name == chain.Fallback
		if wanted && p.Name != "custom" {
			out = append(out, chain.NewCandidate(&p))
		}
	}
	if name == "auto" || name == "my_format" {
		out = append(out, chain.Candidate{Name: "my_format", Parser: "custom", Priority: 25, Triggers: []string{"<<call "}, Heuristic: true,
			Settings: []abi.Setting{{Key: "start", Value: "<<call "}, {Key: "end", Value: ">>"}, {Key: "body", Value: "name_json"}}})
	}
	return out
}

func compare(want *conformance.Answer, m *chain.Message) (faults []string) {
	if got := m.Content.String(); got != want.Content {
		faults = append(faults, fmt.Sprintf("content %.300q, want %.300q", got, want.Content))
	}
	if got := m.Reasoning.String(); got != want.Reasoning {
		faults = append(faults, fmt.Sprintf("reasoning %.300q, want %.300q", got, want.Reasoning))
	}
	calls := m.Calls()
	if len(calls) != len(want.ToolCalls) {
		return append(faults, fmt.Sprintf("%d calls, want %d: %+v", len(calls), len(want.ToolCalls), calls))
	}
	for i, w := range want.ToolCalls {
		got := calls[i]
		if got.Name != w.Name || compact(got.Arguments) != compact(string(w.Arguments)) {
			faults = append(faults, fmt.Sprintf("call %d is %s(%.300s), want %s(%.300s)", i, got.Name, got.Arguments, w.Name, w.Arguments))
		}
		if w.ID != "" && got.ID != w.ID {
			faults = append(faults, fmt.Sprintf("call %d has the id %q, want %q", i, got.ID, w.ID))
		}
	}
	return faults
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
