package conformance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/conformance"
)

// TestLevels checks that whoever demands something says so: each case of the level core cites
// a source outside of this repository, and each other one says why it is not of core. A
// source that nothing cites is out of date.
func TestLevels(t *testing.T) {
	t.Parallel()
	sources := conformance.Sources()
	cited := map[string]bool{}
	counts := map[conformance.Level]int{}
	for _, c := range readSuite(t) {
		counts[c.Level]++
		switch {
		case c.Level == conformance.Core && len(c.Sources) == 0:
			t.Errorf("%s: is of the level core and has no source", c.Name)
		case c.Level == conformance.Core && c.Why != "":
			t.Errorf("%s: says why it is not of the level core, and is", c.Name)
		case c.Level != conformance.Core && len(c.Why) < 10:
			t.Errorf("%s: is of the level %s, and does not say why it is not of core", c.Name, c.Level)
		}
		for _, key := range c.Sources {
			cited[key] = true
			if len(sources[key]) < 20 {
				t.Errorf("%s: cites %q, of which sources.txt says %q", c.Name, key, sources[key])
			}
		}
		for _, b := range c.Beyond {
			if len(b.Rule) < 10 {
				t.Errorf("%s: what the level %s demands beside has the rule %q", c.Name, b.Level, b.Rule)
			}
		}
	}
	for _, key := range conformance.FormSources() {
		cited[key] = true
		if sources[key] == "" {
			t.Errorf("a rule for every answer cites %q, which sources.txt has not", key)
		}
	}
	for key, text := range sources {
		if !cited[key] {
			t.Errorf("nothing cites the source %s", key)
		}
		for _, ours := range []string{"callgate", "Callgate"} {
			if strings.Contains(text, ours) {
				t.Errorf("the source %s is of this repository", key)
			}
		}
	}
	for level, least := range map[conformance.Level]int{conformance.Core: 700, conformance.Exact: 120, conformance.Own: 300} {
		if counts[level] < least {
			t.Errorf("got %d cases of the level %s, want at least %d", counts[level], level, least)
		}
	}
}

// leveled is a case with demands of all levels.
const leveled = `An error.
features: chat
parser: none
rule: it must fail
level: core
source: openapi-error
strict: it must say where
callgate: it must have our code

-- request.json --
{"messages": []}
-- upstream.http --
"HTTP/1.1 400 Bad\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n"
"{\"error\": {\"message\": \"m\", \"type\": \"t\", \"param\": \"p\", \"code\": \"c\"}}"
-- want/status --
4xx
-- want/error.json --
{"error": {}}
-- strict/error.json --
{"error": {"param": "p"}}
-- callgate/error.json --
{"error": {"code": "ours"}}
`

// TestLevelOfFault runs a case on an upstream that passes two levels of it, with each level as
// the run's.
func TestLevelOfFault(t *testing.T) {
	t.Parallel()
	up, url := listen(t)
	c, err := conformance.ParseCase("errors/leveled", []byte(leveled))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		level conformance.Level
		ok    bool
	}{{conformance.Core, true}, {conformance.Exact, true}, {conformance.Own, false}, {"", false}} {
		report, err := conformance.Run(t.Context(), conformance.Target{BaseURL: url}, up, conformance.Options{Cases: []conformance.Case{c}, Level: tt.level})
		if err != nil {
			t.Fatal(err)
		}
		if report.OK() != tt.ok {
			t.Errorf("%q: got %t, want %t: %s", tt.level, report.OK(), tt.ok, report.Cases[0].Details())
		}
		var got []conformance.Verdict
		for _, l := range conformance.Levels() {
			got = append(got, report.Cases[0].At(l))
		}
		if want := []conformance.Verdict{conformance.Passed, conformance.Passed, conformance.Failed}; !slices.Equal(got, want) {
			t.Errorf("%q: got verdicts %q, want %q", tt.level, got, want)
		}
		if rule := report.Cases[0].BrokenRule(); rule != "it must have our code" {
			t.Errorf("got the rule %q, want that of the level that fails", rule)
		}
	}
	if _, err := conformance.Run(t.Context(), conformance.Target{BaseURL: url}, up, conformance.Options{Cases: []conformance.Case{c}, Level: "most"}); err == nil {
		t.Error("got no error for a level that is none")
	}
}

// TestParseLevels checks that a case which does not say who demands what is refused.
func TestParseLevels(t *testing.T) {
	t.Parallel()
	replace := func(old, with string) string { return strings.Replace(leveled, old, with, 1) }
	for _, tt := range []struct{ name, text, want string }{
		{"good", leveled, ""},
		{"unknown level", replace("level: core", "level: best"), `no level "best"`},
		{"core without a source", replace("source: openapi-error\n", ""), "has a source"},
		{"unknown source", replace("openapi-error", "hearsay"), `sources.txt has no "hearsay"`},
		{"files without a rule", replace("strict: it must say where\n", ""), "one needs the other"},
		{"rule without files", replace("-- strict/error.json --\n{\"error\": {\"param\": \"p\"}}\n", ""), "one needs the other"},
		{"files of a level before", replace("level: core\nsource: openapi-error", "level: callgate"), "a level before it"},
		{"file that no level has", replace("strict/error.json", "strict/errors.json"), "no file called"},
		{"path without a slash", replace("rule:", "path: chat\nrule:"), "begins with a slash"},
		{"second request to nowhere", replace("rule:", "then: again\nrule:"), "a method and a path"},
		{"two answers of the upstream", leveled + "-- upstream.json --\n{\"content\": \"x\", \"finish_reason\": \"stop\"}\n", "stands alone"},
	} {
		_, err := conformance.ParseCase("x/y", []byte(tt.text))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q in it", tt.name, err, tt.want)
		}
	}
}
