package taggedjson_test

import (
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
		sdktest.Example(t, spec, sdk.Options{}, sdktest.Call{Name: "get_weather", Args: `{"city": "Oslo"}`})
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
		sdktest.LongString(t, spec, sdk.Options{}, write(spec, args), args, 51)
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
			for _, c := range sdktest.Cases(t, "testdata/"+dir) {
				truncate(t, spec, c.Input)
			}
		})
	}
}

func truncate(t *testing.T, spec sdk.Spec, input string) {
	t.Helper()
	opts := sdk.Options{Tools: []sdk.Tool{{Name: "get_weather"}, {Name: "get_time"}}}
	whole, before := map[sdk.Reason][]sdktest.Call{}, map[sdk.Reason]int{}
	for _, reason := range []sdk.Reason{sdk.Stop, sdk.Length} {
		whole[reason] = sdktest.Calls(sdktest.Run(t, spec, opts, input, reason))
	}
	for cut := range sdktest.Truncated(t, spec, opts, input) {
		all, got, less := whole[cut.Reason], cut.Calls, before[cut.Reason]
		before[cut.Reason] = len(got)
		if len(got) < less && len(all) >= less {
			t.Errorf("%s of %q has %d calls, of less %d", spec.Name, cut.Text, len(got), less)
		}
		if !sdktest.Begins(all, got) && !sdktest.Begins(got, all) {
			t.Errorf("%s of %q gives %v, of all of it %v", spec.Name, cut.Text, got, all)
		}
	}
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
	sdktest.Fuzz(f, sdk.Options{Tools: []sdk.Tool{{Name: "a"}}}, specs...)
}
