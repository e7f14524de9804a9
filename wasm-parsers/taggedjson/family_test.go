package taggedjson_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/taggedjson"
)

// markers are the pieces of a spec's example that are not JSON, and what begins its
// regions.
func markers(spec sdk.Spec) []string {
	open, end := around(spec)
	return append(append([]string{open, end, open, end, open + "[", "]" + end}, spec.Triggers...), spec.Starts...)
}

// around is what stands before and after the first object of a spec's example.
func around(spec sdk.Spec) (before, after string) {
	return spec.Example[:strings.IndexByte(spec.Example, '{')], spec.Example[strings.LastIndexByte(spec.Example, '}')+1:]
}

// write is the call of write_file as the spec's format has it.
func write(spec sdk.Spec, args string) string {
	before, after := around(spec)
	switch {
	case spec.Name == "apertus":
		return before + `{"write_file": ` + args + `}` + after
	case strings.Contains(spec.Example, `"parameters"`):
		return before + `{"name": "write_file", "parameters": ` + args + `}` + after
	case spec.Name == "mistral_array":
		return before + `{"name": "write_file", "arguments": ` + args + `, "id": "a1B2c3D4e"}` + after
	}
	return before + `{"name": "write_file", "arguments": ` + args + `}` + after
}

func TestExample(t *testing.T) {
	t.Parallel()
	for _, spec := range taggedjson.Specs() {
		if got := spec.CanParse([]byte(spec.Example)); got != sdk.Yes {
			t.Errorf("CanParse of %s = %d for its example", spec.Name, got)
		}
		if strings.Contains(spec.Example, "\n") {
			t.Errorf("the example of %s has more than one line", spec.Name)
		}
		events := sdktest.Stable(t, spec, sdk.Options{}, spec.Example, sdk.Stop)
		want := "call_start 0 \"get_weather\"\nargs 0 \"{\\\"city\\\": \\\"Oslo\\\"}\"\ncall_end 0\n"
		if got := sdktest.Format(events[:len(events)-1]); got != want {
			t.Errorf("%s gives\n%swant\n%s", spec.Example, got, want)
		}
		if last := events[len(events)-1]; last.Kind != abi.End || last.To != len(spec.Example) {
			t.Errorf("the region of %s ends with %v", spec.Example, last)
		}
	}
}

// TestOthers checks that no parser of the family takes the example of another,
// but where two formats are the same on purpose.
func TestOthers(t *testing.T) {
	t.Parallel()
	same := map[string]string{"gigachat3": "gigachat31", "hermes": "granite_20b_fc"}
	for _, spec := range taggedjson.Specs() {
		for _, other := range append(taggedjson.Specs(), foreign...) {
			if other.Name == spec.Name || same[spec.Name] == other.Name || spec.Name == "phi4_mini_json" && other.Name == "granite" {
				continue
			}
			if got := spec.CanParse([]byte(other.Example)); got == sdk.Yes {
				t.Errorf("CanParse of %s says yes to %s of %s", spec.Name, other.Example, other.Name)
			}
		}
	}
}

// foreign are calls of other families whose opening is that of a format here, or
// almost.
var foreign = []sdk.Spec{
	{Parser: abi.Parser{Name: "qwen3_coder", Example: "<tool_call>\n<function=get_weather>\n"}},
	{Parser: abi.Parser{Name: "glm", Example: "<tool_call>get_weather\n<arg_key>"}},
	{Parser: abi.Parser{Name: "hy_v3", Example: "<tool_calls><tool_call>get_weather<tool_sep>"}},
	{Parser: abi.Parser{Name: "lfm2", Example: `<|tool_call_start|>[get_weather(city="Oslo")]<|tool_call_end|>`}},
	{Parser: abi.Parser{Name: "mistral", Example: `[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}`}},
	{Parser: abi.Parser{Name: "gemma4", Example: `<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>`}},
	{Parser: abi.Parser{Name: "prose", Example: "<json> is a tag, functools[0] is not, <tools> {these} are"}},
}

// TestStreams checks that a long argument comes as it is written, in every format.
func TestStreams(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("A line of text.\\n", 27)[:430]
	args := `{"path": "a.md", "content": "` + content + `"}`
	for _, spec := range taggedjson.Specs() {
		p, err := spec.New(sdk.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var out sdk.Out
		for _, c := range []byte(write(spec, args)) {
			if !out.Ended() {
				p.Feed([]byte{c}, &out)
			}
		}
		if !out.Ended() {
			p.Finish(sdk.Stop, &out)
		}
		events, err := abi.DecodeEvents(nil, out.Take())
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		pieces := 0
		for _, e := range events {
			if e.Kind == abi.Args {
				got.WriteString(e.Text)
				pieces++
			}
		}
		if pieces <= 50 || got.String() != args {
			t.Errorf("%s gives %s in %d pieces", spec.Name, got.String(), pieces)
		}
	}
}

// TestTruncated cuts every golden input at every byte: what was complete before
// stays, and no call has arguments that were not written to their end.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for dir, spec := range golden() {
		if dir == "custom" {
			continue // its cases have settings
		}
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			for _, input := range goldenInputs(t, dir) {
				for _, reason := range []sdk.Reason{sdk.Stop, sdk.Length} {
					truncate(t, spec, input, reason)
				}
			}
		})
	}
}

// call is one that was ended.
type call struct{ name, args string }

func truncate(t *testing.T, spec sdk.Spec, input string, reason sdk.Reason) {
	t.Helper()
	opts := sdk.Options{Tools: []sdk.Tool{{Name: "get_weather"}, {Name: "get_time"}}}
	all := calls(sdktest.Run(t, spec, opts, input, reason))
	before := 0
	for n := range len(input) {
		got := calls(sdktest.Run(t, spec, opts, input[:n], reason))
		if len(got) < before && len(all) >= before {
			t.Errorf("%s of %q has %d calls, of %q %d", spec.Name, input[:n-1], before, input[:n], len(got))
		}
		before = len(got)
		for i, c := range got {
			if i < len(all) && c != all[i] {
				t.Errorf("%s of %q gives %v, of all of it %v", spec.Name, input[:n], c, all[i])
			}
		}
	}
}

func calls(events []sdk.Event) []call {
	var calls []call
	var c call
	for _, e := range events {
		switch e.Kind {
		case abi.CallStart:
			c = call{name: e.Name}
		case abi.Args:
			c.args += e.Text
		case abi.CallEnd:
			calls = append(calls, c)
		}
	}
	return calls
}

// goldenInputs are the inputs of the cases in a folder.
func goldenInputs(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.case"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s (%v)", dir, err)
	}
	var inputs []string
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
		inputs = append(inputs, input.String())
	}
	return inputs
}

// FuzzFamily gives text to one of the parsers.
func FuzzFamily(f *testing.F) {
	specs := taggedjson.Specs()
	for i, spec := range specs {
		before, after := around(spec)
		for _, body := range []string{
			`{"name": "a", "arguments": {"b": [1, "c\n"]}}`,
			`{'name': 'a', 'arguments': None}, {name: "b", id: 'x', parameters: "{}"},`,
			`{"function": {"arguments": {}, "name": "a"}},{"a": {"b": 1}}` + after + before,
			`{"arguments": "{\"a\": 1}", "name": "a"`,
			`{"name": "a", "arguments": {"b": "c}}` + after + before + `{"name": "a"}`,
		} {
			f.Add(uint8(i), before+body+after, false)
			f.Add(uint8(i), before+body, true)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, input string, length bool) {
		if len(input) > 256 {
			t.Skip("longer than the cuts are meant for")
		}
		reason := sdk.Stop
		if length {
			reason = sdk.Length
		}
		opts := sdk.Options{Tools: []sdk.Tool{{Name: "a"}}}
		sdktest.Stable(t, specs[int(which)%len(specs)], opts, input, reason)
	})
}
