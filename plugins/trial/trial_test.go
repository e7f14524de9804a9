package trial_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/builtin"
	. "github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/plugins/trial"
	"github.com/callgate/callgate/sdk/abi"
)

const starter = "../../sdk/examples/starter"

// texts are how many a trial makes up. The bug of the parser that fails on one in very many
// is in the 251st.
const texts = 300

// try runs a trial that must come to a report.
func try(t *testing.T, cfg trial.Config) *trial.Report {
	t.Helper()
	cfg.CacheDir = CacheDir(t)
	cfg.Read = func(ctx context.Context, s *plugins.Session, p *abi.Parser, opts abi.Options, text string) []string {
		return chain.ReadAlone(ctx, chain.Runs(s), p, opts, text).Warnings
	}
	cfg = trial.MakingUp(cfg, texts)
	if cfg.Plugin.Name == "" {
		cfg.Plugin.Name = "tried.wasm"
	}
	report, err := trial.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// onlyFailure is the one line that says what is wrong.
func onlyFailure(t *testing.T, r *trial.Report) string {
	t.Helper()
	if len(r.Failures) != 1 {
		t.Fatalf("got %d failures, want 1: %v", len(r.Failures), r.Failures)
	}
	s := r.Failures[0].String()
	if strings.ContainsAny(s, "\n\r") || len(s) > 2000 {
		t.Errorf("got %d bytes, want one short line: %q", len(s), s)
	}
	return s
}

func TestStarter(t *testing.T) {
	t.Parallel()
	wasm, err := builtin.Wasm(builtin.Name)
	if err != nil {
		t.Fatal(err)
	}
	r := try(t, trial.Unhurried(trial.Config{
		Plugin: plugins.Source{Wasm: Build(t, starter)}, Builtin: plugins.Source{Name: builtin.Name, Wasm: wasm},
		Cases: filepath.Join(starter, "testdata"), Fuzz: time.Second, Seed: 3,
	}))
	if len(r.Failures) > 0 {
		t.Errorf("got failures %v, want none", r.Failures)
	}
	var names []string
	for _, c := range r.Checks {
		names = append(names, c.Name)
		if c.Tried == 0 {
			t.Errorf("got nothing tried in %q", c.Name)
		}
	}
	if got, want := strings.Join(names, " "), "load cases probes arguments text regions limits growth fuzz"; got != want {
		t.Errorf("got checks %s, want %s", got, want)
	}
	var costs []string
	for _, c := range r.Costs {
		costs = append(costs, fmt.Sprint(c.Parser, c.Builtin))
		if c.Problem != "" || min(c.Response, c.Short, c.Long, c.Load) <= 0 || min(c.Pages, c.Size) <= 0 {
			t.Errorf("got %+v, want all of it measured", c)
		}
	}
	if got, want := strings.Join(costs, " "), "my_modelfalse hermestrue mistraltrue"; got != want {
		t.Errorf("got costs of %s, want %s", got, want)
	}
}

// TestNameOfTheBuiltin has a plugin whose folder is called as the plugin with the gateway's own parsers: it takes
// nothing of their place.
func TestNameOfTheBuiltin(t *testing.T) {
	t.Parallel()
	r := try(t, trial.Config{
		Plugin:  plugins.Source{Name: builtin.Name, Wasm: Guest{Manifest: Manifest("own", "hand")}.Wasm()},
		Builtin: plugins.Source{Name: builtin.Name, Wasm: Guest{}.Wasm()},
	})
	if got, want := onlyFailure(t, r), `load: parser name "hand" is taken by plugin builtin`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBuiltin tries parsers that come with the gateway, some of them with their own cases, from
// which one has the settings that it cannot do without. They keep the contract, to which sdktest
// holds all of them: what fails here is wrong with the trial.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	wasm, err := builtin.Wasm(builtin.Name)
	if err != nil {
		t.Fatal(err)
	}
	r := try(t, trial.Unhurried(trial.Config{
		Plugin: plugins.Source{Wasm: wasm}, Cases: "../../wasm-parsers/taggedjson/testdata", Fuzz: time.Second,
		Parsers: []string{"hermes", "mistral_array", "qwen3_coder", "pythonic", "harmony", "gemma4", "sarashina", "generic", "custom"},
	}))
	for _, f := range r.Failures {
		t.Error(f)
	}
	for _, c := range r.Checks {
		if c.Name == "cases" && c.Parser == "hermes" && c.Tried < 20 {
			t.Errorf("got %d cases of hermes, want all of its folder", c.Tried)
		}
	}
}

// TestRefused tries all modules that a gateway does not load.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, m := range RefusedModules() {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			got := onlyFailure(t, try(t, trial.Config{Plugin: plugins.Source{Wasm: m.Wasm}, Fuzz: time.Second}))
			if want := strings.TrimPrefix(m.Want, "plugin bad: "); !strings.HasPrefix(got, "load: ") || !strings.Contains(got, want) {
				t.Errorf("got %q, want load: and %q", got, want)
			}
		})
	}
}

// TestHostile tries all guests that load and then do harm.
func TestHostile(t *testing.T) {
	t.Parallel()
	other := map[string]string{
		// What it gives is the text, which is empty events only if the text is made so.
		"too many events":           "bad_events",
		"cut of no call is allowed": "the region was not ended by Finish",
	}
	for _, h := range HostileGuests() {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			got := onlyFailure(t, try(t, trial.Config{Plugin: plugins.Source{Wasm: h.Guest.Wasm()}, Fuzz: time.Second}))
			if want, ok := other[h.Name]; ok {
				h.Want = want
			}
			for kind := range strings.FieldsSeq(h.Want) {
				if strings.Contains(got, kind) {
					return
				}
			}
			t.Errorf("got %q, want one of %q", got, h.Want)
		})
	}
}

// TestCommands tries a guest made by a real toolchain that does harm if a case says so.
func TestCommands(t *testing.T) {
	t.Parallel()
	wasm := Build(t, "../testdata/goguest")
	for _, c := range Commands() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "go")
			writeFile(t, filepath.Join(dir, "harm.case"), fmt.Sprintf("Why.\n-- input --\n%q\n-- events --\n", "!"+c.Name))
			got := onlyFailure(t, try(t, trial.Config{Plugin: plugins.Source{Wasm: wasm}, Cases: filepath.Dir(dir), Parsers: []string{"go"}}))
			if c.Want == "" {
				c.Want = "Finish" // what it gives is harmless, and not the end of a region
			}
			for kind := range strings.FieldsSeq(c.Want) {
				if strings.HasPrefix(got, "cases of go, harm: ") && strings.Contains(got, kind) {
					return
				}
			}
			t.Errorf("got %q, want one of %q", got, c.Want)
		})
	}
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBroken tries parsers of which each breaks one rule.
func TestBroken(t *testing.T) {
	t.Parallel()
	wasm := Build(t, "testdata/broken")
	for parser, want := range map[string]string{
		"good":       "",
		"chunky":     `probes of chunky, "<chunky>{\"city\": \"Oslo\"};", cut byte by byte: not the same events as whole: event 0 is call_start 0 "get_weather", want content "<"`,
		"twice":      `probes of twice, "<twice>{\"city\": \"Oslo\"};": event 2 (call_end): the arguments are not a JSON object`,
		"unended":    `the region was not ended by Finish`,
		"rare":       `a quote behind a bracket`,
		"deep":       `limits of deep, 16384 times "[" behind "<deep>": `,
		"hoarder":    `limits of hoarder, 1 MiB of "x" in small pieces behind "<hoarder>": `,
		"rememberer": `growth of rememberer, "<rememberer>" again and again: `,
		"shy":        `can_parse says no, so the gateway never feeds what the parser reads as a call`,
		"fickle":     `can_parse says no to its first 5 bytes and maybe to 6: yes and no must be for good`,
		"liar":       `the manifest's example gives no call: malformed 0 18`,
		"elsewhere":  `no trigger or start of the manifest begins its example`,
		"plain":      "",
		"doubles":    `arguments of doubles, an argument that comes twice, `,
		"raw":        `arguments of raw, a value that is no JSON as it is, `,
		"quotes":     `arguments of quotes, an argument that comes twice, `,
		"swallows":   `text of swallows, text behind a call, `,
		"invents":    `the tool "zzz" is not in the text, nor offered`,
		"cuts":       `no token limit cut the output off, so the call's text is lost: give it back as malformed`,
		"hurries":    `complete nothing that the model did not write`,
		"echoes":     `that comes twice: `,
		"adds":       `have text that is not in the`,
		"shares":     `regions of shares, two regions side by side, `,
		"sticks":     `regions of sticks, 40 regions in a row, `,
		"crowds":     `regions of crowds, a region whose tools take 100 KB, `,
	} {
		t.Run(parser, func(t *testing.T) {
			t.Parallel()
			cfg := trial.Config{Plugin: plugins.Source{Wasm: wasm}, Parsers: []string{parser}, Fuzz: time.Second, Seed: 1}
			if parser != "hoarder" { // which takes too long
				cfg = trial.Unhurried(cfg)
			}
			r := try(t, cfg)
			if want == "" {
				if len(r.Failures) > 0 {
					t.Errorf("got %v, want no failure", r.Failures)
				}
				return
			}
			if got := onlyFailure(t, r); !strings.Contains(got, want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// TestFuzzRepeats checks that a seed finds the same text again, and that it is short.
func TestFuzzRepeats(t *testing.T) {
	t.Parallel()
	cfg := trial.Unhurried(trial.Config{Plugin: plugins.Source{Wasm: Build(t, "testdata/broken")}, Parsers: []string{"rare"}, Fuzz: time.Minute, Seed: 1})
	first, second := try(t, cfg), try(t, cfg)
	if !reflect.DeepEqual(first.Failures, second.Failures) {
		t.Errorf("got %v and then %v, want the same", first.Failures, second.Failures)
	}
	if f := first.Failures[0]; f.Check != "fuzz" || f.Input != "]'" || !strings.Contains(f.Problem, "trap: ") || !strings.Contains(f.Problem, "printed: panic: a quote behind a bracket") {
		t.Errorf("got %+v, want the text ]' and what the plugin printed", f)
	}
}

// TestCases checks what is said of a case that wants something else, and that Update
// makes it right.
func TestCases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "good", "a.case")
	writeFile(t, file, "Why.\n-- input --\n\"<good>{\\\"city\\\": \\\"Oslo\\\"};\"\n-- events --\ncall_start 0 \"g\"\n")
	cfg := trial.Unhurried(trial.Config{Plugin: plugins.Source{Wasm: Build(t, "testdata/broken")}, Parsers: []string{"good"}, Cases: dir})
	r := try(t, cfg)
	if got, want := onlyFailure(t, r), `cases of good, a: event 0 is call_start 0 "get_weather", want call_start 0 "g"`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if last := r.Checks[len(r.Checks)-1].Name; last != "growth" {
		t.Errorf("got %s as the last check, want the others to go on behind a case that wants something else", last)
	}
	cfg.Update = true
	if r := try(t, cfg); len(r.Failures) > 0 {
		t.Errorf("got %v, want no failure", r.Failures)
	}
	cfg.Update = false
	if r := try(t, cfg); len(r.Failures) > 0 {
		t.Errorf("after Update: got %v, want no failure", r.Failures)
	}
	got, err := os.ReadFile(file)
	if err != nil || !strings.HasSuffix(string(got), "end 23\n") || !strings.HasPrefix(string(got), "Why.\n-- input --\n") {
		t.Errorf("got file %q, %v, want the old input and the events", got, err)
	}
}

// TestErrors checks what is no fault of the plugin's.
func TestErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "bad.case"), "no input\n")
	for _, tt := range []struct {
		cfg  trial.Config
		want string
	}{
		{trial.Config{Cases: dir}, "bad.case has no input"},
		{trial.Config{Cases: filepath.Join(dir, "none")}, "no such file"},
		{trial.Config{Parsers: []string{"other"}}, `has no parser "other"`},
		{trial.Config{Builtin: plugins.Source{Name: "builtin", Wasm: []byte("no module")}}, "plugin builtin: "},
		{trial.Config{Builtin: plugins.Source{Name: "builtin", Wasm: Guest{Manifest: Manifest("b")}.Wasm()}, Against: []string{"c"}}, `no built-in parser "c"`},
	} {
		tt.cfg.Plugin = plugins.Source{Name: "x.wasm", Wasm: Guest{Events: nil, Funcs: []Func{finishAtStart()}}.Wasm()}
		if _, err := trial.Costs(t.Context(), tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
	report, err := json.Marshal(try(t, trial.Config{Plugin: plugins.Source{Name: "x.wasm", Wasm: []byte("?")}}))
	if err != nil || !strings.Contains(string(report), `"failures":[{"check":"load","problem":"it is not a valid WebAssembly module: `) {
		t.Errorf("got %s, %v", report, err)
	}
}

// finishAtStart ends a region before its first byte.
func finishAtStart() Func {
	return Func{Name: "callgate1_finish", Params: "ii", Results: "I", Body: Const64(0)}
}
