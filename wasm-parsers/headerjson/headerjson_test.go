package headerjson_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/headerjson"
)

// tools are what the tests that are no golden cases offer.
var tools = []sdk.Tool{
	{Name: "get_weather", Params: []sdk.Param{{Name: "city", Types: abi.String, Required: true}}},
	{Name: "get_time"},
	{Name: "write_file", Params: []sdk.Param{{Name: "path", Types: abi.String}, {Name: "content", Types: abi.String}}},
	{Name: "python", Params: []sdk.Param{{Name: "code", Types: abi.String}}},
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, spec := range headerjson.Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			sdktest.Golden(t, spec, "testdata/"+spec.Name)
		})
	}
}

// TestExample checks that what the manifest shows as a call is one.
func TestExample(t *testing.T) {
	t.Parallel()
	for _, spec := range headerjson.Specs() {
		if got := spec.CanParse([]byte(spec.Example)[:min(len(spec.Example), abi.MaxHead)]); got != sdk.Yes {
			t.Errorf("CanParse of %s = %d of its example", spec.Name, got)
		}
		starts := slices.Concat(spec.Triggers, spec.Starts)
		if !slices.ContainsFunc(starts, func(s string) bool { return s != "" && strings.HasPrefix(spec.Example, s) }) {
			t.Errorf("the example of %s begins with no trigger", spec.Name)
		}
		events := sdktest.Stable(t, spec, sdk.Options{}, spec.Example, sdk.Stop)
		var name, args string
		for _, e := range events {
			name += e.Name
			if e.Kind == abi.Args {
				args += e.Text
			}
		}
		if name != "get_weather" || args != `{"city": "Oslo"}` || events[len(events)-1].Kind != abi.End {
			t.Errorf("%s of %q gives:\n%s", spec.Name, spec.Example, sdktest.Format(events))
		}
	}
}

// TestTruncation cuts every golden input at every place: the events stay valid, and
// no call is made up that the whole input does not begin with.
func TestTruncation(t *testing.T) {
	t.Parallel()
	for _, spec := range headerjson.Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			for _, input := range inputs(t, spec.Name) {
				whole := calls(sdktest.Run(t, spec, sdk.Options{Tools: tools}, input, sdk.Stop))
				for n := range input {
					for _, reason := range []sdk.Reason{sdk.Stop, sdk.Length} {
						got := calls(sdktest.Run(t, spec, sdk.Options{Tools: tools}, input[:n], reason))
						if !begins(whole, got) {
							t.Fatalf("%q cut to %q gives calls %q, whole %q", input, input[:n], got, whole)
						}
					}
				}
			}
		})
	}
}

// begins reports whether the calls of a text that was cut are the first of those of
// the whole. Where the whole has fewer, what followed a call has spoilt it. Text that
// is no JSON may have been complete where it was cut.
func begins(whole, got []string) bool {
	for i, c := range got {
		if i == len(whole) {
			return true
		}
		text, isText := strings.CutSuffix(c, `"}`)
		isText = isText && (strings.HasPrefix(c, "python ") || strings.HasPrefix(c, "bash "))
		if c != whole[i] && (!isText || !strings.HasPrefix(whole[i], text)) {
			return false
		}
	}
	return true
}

// calls are the complete calls of events.
func calls(events []sdk.Event) []string {
	var done []string
	call := ""
	for _, e := range events {
		switch e.Kind {
		case abi.CallStart:
			call = e.Name + " " + e.ID + " "
		case abi.Args:
			call += e.Text
		case abi.CallEnd:
			done = append(done, call)
		}
	}
	return done
}

// inputs are those of a parser's golden cases.
func inputs(t *testing.T, parser string) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/" + parser + "/*.case")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases of %s: %v", parser, err)
	}
	var all []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(data), "-- input --\n")
		text, _, _ = strings.Cut(text, "-- events --\n")
		var input strings.Builder
		for line := range strings.Lines(text) {
			var piece string
			if err := json.Unmarshal([]byte(line), &piece); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			input.WriteString(piece)
		}
		all = append(all, input.String())
	}
	return all
}
