package taggedjson_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/taggedjson"
)

// golden are the specs by the folder of their cases.
func golden() map[string]sdk.Spec {
	specs := map[string]sdk.Spec{
		"hermes_tags": taggedjson.Hermes(), "custom": taggedjson.Custom(),
	}
	for _, spec := range taggedjson.Specs() {
		specs[spec.Name] = spec
	}
	return specs
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for dir, spec := range golden() {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			sdktest.Golden(t, spec, "testdata/"+dir)
		})
	}
}

func TestFragments(t *testing.T) {
	t.Parallel()
	for _, spec := range taggedjson.Specs() {
		opts := sdk.Options{MaxDepth: 4, Tools: []sdk.Tool{{Name: "a"}}}
		sdktest.Fragments(t, spec, opts, append([]string{
			" ", "\n", "[", "]", ",", "{", "}", `{"name": "a", "arguments": {"b": 1}}`, `{"name": "a", "arguments": {}, "id": "x"}`,
			`{"a": {"b": "c"}}`, `{"name": "a"`, `{"arguments": {}, `, `"name": "a"}`, `{"a": {`, `"`, `"x": "`, "<", "</", "<|", "|>", "x",
		}, markers(spec)...), 300)
	}
	sdktest.Fragments(t, taggedjson.Hermes(), sdk.Options{MaxDepth: 4}, []string{
		"<tool_call>", "<tool_call>\n", "</tool_call>", "\n</tool_call>", `{"name": "a", "arguments": {"b": 1}}`, `{"name": "a"}`,
		`{`, `}`, `[`, `]`, `,`, `, `, ` `, "\n", `"name": `, `'name':`, `"a"`, `"é\u00e9"`, `'it\'s'`, `"arguments": `, `"parameters":`,
		`{"b": [1, {"c": "d"}]}`, `{}`, `null`, `None`, `12`, `"{\"a\": 1}"`, `""`, `"id": "x"`, `"function": {`, `key`, `:`, `<`, `</`,
	}, 300)
	sdktest.Fragments(t, taggedjson.Hermes(), sdk.Options{}, []string{
		"<tool_call>\n{", `"name": "a",`, `"name": "a"`, `"arguments": {"b": 1}`, `"arguments": "{}"`, `"arguments": {},`, `"id": "x",`,
		`"x": [{"name": 1}],`, `"function": {`, `}`, `}]`, `,`, `}`, `}</tool_call>`, `},{`, `"arguments": {"b": "`, `"`,
	}, 300)
}

func TestCanParse(t *testing.T) {
	t.Parallel()
	sdktest.Verdicts(t, taggedjson.Hermes(), map[string]sdk.Verdict{
		"": sdk.Maybe, "<tool": sdk.Maybe, "<tool_call>": sdk.Maybe, "<tool_call>\n ": sdk.Maybe,
		"<tool_call>\n{": sdk.Yes, "<tool_call>[": sdk.Maybe, "<tool_call>[ {": sdk.Yes, "<tool_call>[f(": sdk.No, "<tool_call>\n<function=": sdk.No,
		"<tool_calls>": sdk.No, "<tool_call> is": sdk.No,
	})
}

func TestCustomSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		settings []abi.Setting
		want     string // what the error names
	}{
		{nil, `setting start = "": give the marker`},
		{[]abi.Setting{{Key: "start", Value: " "}}, `setting start = " ": give the marker`},
		{[]abi.Setting{{Key: "start", Value: "<a>"}, {Key: "stop", Value: "x"}}, `setting stop = "x": remove it`},
		{[]abi.Setting{{Key: "start", Value: "<a>"}, {Key: "body", Value: "xml"}}, `setting body = "xml": use json or name_json`},
		{[]abi.Setting{{Key: "start", Value: "<a>"}, {Key: "end", Value: "<a>b"}}, `setting end = "<a>b": choose an end`},
		{[]abi.Setting{{Key: "start", Value: "<a>"}, {Key: "end", Value: "\n{/a}"}}, `setting end = "{/a}": choose an end`},
		{[]abi.Setting{{Key: "start", Value: "<a>"}, {Key: "separator", Value: ":"}}, `setting separator = ":": remove it`},
		{[]abi.Setting{{Key: "start", Value: "<a>"}, {Key: "name_key", Value: ""}}, `setting name_key = "": give the key`},
		{[]abi.Setting{{Key: "start", Value: "<a>"}, {Key: "arguments_key", Value: "name"}}, `setting arguments_key = "name": choose another`},
		{
			[]abi.Setting{{Key: "start", Value: "<a>"}, {Key: "body", Value: "name_json"}, {Key: "separator", Value: "={"}},
			`setting separator = "={": leave out the brace`,
		},
		{
			[]abi.Setting{{Key: "start", Value: "<a>"}, {Key: "body", Value: "name_json"}, {Key: "name_key", Value: "x"}},
			`setting name_key = "x": remove it`,
		},
	} {
		_, err := taggedjson.Custom().New(sdk.Options{Settings: tt.settings})
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("New with %v: error %v, want %s…", tt.settings, err, tt.want)
		}
	}
}

// TestArgumentsStream checks that arguments come as they are written, and their
// last brace only when the call is sure.
func TestArgumentsStream(t *testing.T) {
	t.Parallel()
	sdktest.Steps(t, taggedjson.Hermes(), sdk.Options{}, [][2]string{
		{`<tool_call>{"name": "f", "arguments"`, ""},
		{`: {"a`, ""},
		{`": `, "call_start 0 \"f\"\nargs 0 \"{\\\"a\\\":\"\n"},
		{`"he`, `args 0 " \"he"` + "\n"},
		{`llo", `, `args 0 "llo\""` + "\n"},
		{`"b": 12`, `args 0 ", \"b\": "` + "\n"},
		{`3}`, `args 0 "123"` + "\n"},
		{"}\n", ""},
		{"</tool_call", ""},
		{">", "args 0 \"}\"\ncall_end 0\nend 76\n"},
	})
}

func BenchmarkFeed(b *testing.B) {
	for _, size := range []int{1, 16, 256} {
		b.Run("hermes/"+strconv.Itoa(size)+"KB", func(b *testing.B) {
			line := `a line of text with \"quotes\" and a newline\n`
			text := `<tool_call>{"name": "write_file", "arguments": {"content": "` +
				strings.Repeat(line, size<<10/len(line)) + `"}}</tool_call>`
			if !sdktest.Benchmark(b, taggedjson.Hermes(), sdk.Options{}, text) {
				b.Fatal("the region did not end")
			}
		})
	}
}
