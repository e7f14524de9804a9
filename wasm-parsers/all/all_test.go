package all_test

import (
	"os"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/all"
)

func TestSpecs(t *testing.T) {
	t.Parallel()
	last := 100
	seen := map[string]bool{}
	for _, s := range all.Specs() {
		if s.Priority > last || s.Priority < 1 {
			t.Errorf("priority of %s = %d, want %d or less", s.Name, s.Priority, last)
		}
		last = s.Priority
		if seen[s.Name] {
			t.Errorf("%s is the name of two parsers", s.Name)
		}
		seen[s.Name] = true
	}
}

// TestNothing feeds every parser things that are nobody's format.
func TestNothing(t *testing.T) {
	t.Parallel()
	for _, s := range all.Specs() {
		opts := sdk.Options{}
		if s.Name == "custom" {
			opts.Settings = []abi.Setting{{Key: "start", Value: "<c>"}}
		}
		inputs := append([]string{"", "\x00", "\xff\xfe", "  \n", "text"}, s.Triggers...)
		for _, input := range append(inputs, s.Starts...) {
			for _, reason := range []sdk.Reason{sdk.Stop, sdk.Length} {
				sdktest.Stable(t, s, opts, input, reason)
			}
		}
	}
}

// TestNames checks that the names which other servers use are known here, so that
// nobody who comes from one has to look for another.
func TestNames(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("testdata/names.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, s := range all.Specs() {
		known[s.Name] = true
		for _, alias := range s.Aliases {
			known[alias] = true
		}
	}
	for line := range strings.Lines(string(list)) {
		server, names, _ := strings.Cut(line, " ")
		if server == "#" {
			continue
		}
		for _, name := range strings.Fields(names) {
			if !known[name] {
				t.Errorf("%s calls a parser %s, which no parser here is called", server, name)
			}
		}
	}
}

// TestExamples checks that each parser's example is what it reads: docs/formats.md shows
// them.
func TestExamples(t *testing.T) {
	t.Parallel()
	tools := []sdk.Tool{{Name: "get_weather", Params: []sdk.Param{{Name: "city", Types: abi.String, Required: true}}}}
	for _, s := range all.Specs() {
		if s.Example == "" {
			if s.Name != "custom" && s.Name != "fallback" {
				t.Errorf("%s has no example", s.Name)
			}
			continue
		}
		calls := ""
		for _, e := range sdktest.Stable(t, s, sdk.Options{Tools: tools}, s.Example, sdk.Stop) {
			switch e.Kind {
			case abi.CallStart:
				calls += e.Name
			case abi.Args:
				calls += e.Text
			case abi.CallEnd:
				calls += ";"
			}
		}
		if strings.ReplaceAll(calls, " ", "") != `get_weather{"city":"Oslo"};` {
			t.Errorf("%s reads its example %q as %q", s.Name, s.Example, calls)
		}
	}
}
