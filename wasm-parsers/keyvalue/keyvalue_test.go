package keyvalue_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/keyvalue"
)

// tools are a function with a string, which streams, and an integer, which waits.
var tools = []sdk.Tool{
	{Name: "f", Params: []sdk.Param{{Name: "s", Types: abi.String}, {Name: "n", Types: abi.Integer}}},
	{Name: "write_file", Params: []sdk.Param{{Name: "path", Types: abi.String}, {Name: "content", Types: abi.String}}},
}

func TestGolden(t *testing.T) {
	t.Parallel()
	sdktest.GoldenAll(t, "testdata", keyvalue.Specs()...)
}

func TestExample(t *testing.T) {
	t.Parallel()
	for _, spec := range keyvalue.Specs() {
		sdktest.Example(t, spec, sdk.Options{}, sdktest.Call{Name: "get_weather", Args: `{"city": "Oslo"}`})
	}
}

func TestFragments(t *testing.T) {
	t.Parallel()
	sdktest.Fragments(t, keyvalue.GLM45(), sdk.Options{Tools: tools}, []string{
		"<tool_call>", "<tool_call>f", "<tool_call>g\n", "</tool_call>", "</tool_call>", "<arg_key>s</arg_key>", "<arg_key>n</arg_key>",
		"<arg_key>x</arg_key>", "<arg_key>", "</arg_key>", "<arg_value>", "<arg_value>", "</arg_value>", "</arg_value>", "\n", "\n", " ", `\n`, `\`,
		"1", "{'a':", "<", "</", "text", "key", "é", "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>", "</arg_value></tool_call>",
	}, 400)
	for _, spec := range []sdk.Spec{keyvalue.HyV3(), keyvalue.IFM()} {
		prefix, suffix := "", ":x"
		if spec.Name == "ifm" {
			prefix, suffix = "ifm|", ""
		}
		var fragments []string
		for _, f := range []string{
			"<tool_calls>", "</tool_calls>", "<tool_call>", "<tool_call>f", "<tool_call>f<tool_sep>", "</tool_call>", "</tool_call>",
			"<arg_key>s</arg_key>", "<arg_key>n</arg_key>", "<arg_type>string</arg_type>", "<arg_type>", "<arg_value>", "<arg_value>1</arg_value>",
			"</arg_value>", "<tool_sep>", "</arg_value></tool_call></tool_calls>", "<tool_calls><tool_call>f<arg_key>s</arg_key><arg_value>",
		} {
			f = strings.ReplaceAll(strings.ReplaceAll(f, ">", suffix+">"), "<", "<"+prefix)
			fragments = append(fragments, strings.ReplaceAll(f, "<"+prefix+"/", "</"+prefix))
		}
		fragments = append(fragments, "\n", " ", "1", "text", "<tool_calls>", "<", "</")
		sdktest.Fragments(t, spec, sdk.Options{Tools: tools}, fragments, 300)
	}
}

func TestCanParse(t *testing.T) {
	t.Parallel()
	type heads map[string]sdk.Verdict
	for _, tt := range []struct {
		spec  sdk.Spec
		heads heads
	}{
		{keyvalue.GLM45(), heads{
			"": sdk.Maybe, "<tool_cal": sdk.Maybe, "<tool_call>": sdk.Maybe, "<tool_call>\n": sdk.Maybe, "<tool_call>f": sdk.Maybe,
			"<tool_call>f ": sdk.Maybe, "<tool_call>f\n": sdk.Yes, "<tool_call>f\\": sdk.Maybe, `<tool_call>f\n`: sdk.Yes, `<tool_call>f\t`: sdk.No,
			"<tool_call>f<": sdk.Maybe, "<tool_call>f<arg_key>": sdk.Yes, "<tool_call>f</tool_call>": sdk.Yes, "<tool_call>f<tool_sep>": sdk.No,
			"<tool_call>\n{": sdk.Yes, "<tool_call>[": sdk.No, "<tool_call>\n<function=": sdk.No, "<tool_call>f is": sdk.No, "<tool_call>f{": sdk.No,
			"<tool_call>" + strings.Repeat("n", 244): sdk.Maybe, "<tool_call>" + strings.Repeat("n", 245): sdk.Yes, // all it is asked about
			"<tool_call></tool_call>": sdk.No, "<tool_calls>": sdk.No, "<tool_call:x>f\n": sdk.No, "<|tool_call>": sdk.No,
		}},
		{keyvalue.HyV3(), heads{
			"<tool_call": sdk.Maybe, "<tool_calls": sdk.Maybe, "<tool_calls>": sdk.Maybe, "<tool_calls>\n<tool_call>f": sdk.Maybe,
			"<tool_calls>\n<tool_call>f\n": sdk.Yes, "<tool_calls>[": sdk.No, "<tool_calls>\n{": sdk.No, "<tool_calls>\n<tool_call>{": sdk.No,
			"<tool_calls:x>\n<tool_call:x>f<tool_sep:x>": sdk.Yes, "<tool_calls:x>\n<tool_call>f<tool_sep>": sdk.No, "<tool_calls:": sdk.Maybe,
			"<tool_calls:>": sdk.No, "<tool_calls:x y": sdk.No, "<tool_call:x>f": sdk.Maybe, "<tool_call:x>f\n": sdk.Yes, "<tool_call>f\n": sdk.No,
			"<tool_call>f<tool_sep": sdk.Maybe, "<tool_call>f<tool_sep>": sdk.Yes, "<tool_call>f<arg_key>": sdk.No, "<tool_call>{": sdk.No,
		}},
		{keyvalue.IFM(), heads{
			"<ifm|tool_call": sdk.Maybe, "<ifm|tool_calls><ifm|tool_call>f": sdk.Maybe, "<ifm|tool_calls><ifm|tool_call>f<ifm|arg_key>": sdk.Yes,
			"<ifm|tool_call>f</ifm|tool_call>": sdk.Yes, "<ifm|tool_calls> is": sdk.No, "<ifm|x": sdk.No,
		}},
	} {
		sdktest.Verdicts(t, tt.spec, tt.heads)
	}
}

// TestStream checks that a string is passed on as it comes, but for a newline and a
// tag that may end it, and that an integer waits for its end.
func TestStream(t *testing.T) {
	t.Parallel()
	sdktest.Steps(t, keyvalue.GLM45(), sdk.Options{Tools: tools}, [][2]string{
		{"<tool_call>f\n", ""},
		{"<arg_key>s</arg_key>\n<arg_val", ""},
		{"ue>", "call_start 0 \"f\"\nargs 0 \"{\\\"s\\\": \\\"\"\n"},
		{"\nab\"", `args 0 "\\nab\\\""` + "\n"},
		{"c\n", `args 0 "c"` + "\n"},
		{"d</arg", "args 0 \"\\\\nd\"\n"},
		{"s>", "args 0 \"</args>\"\n"},
		{"</arg_value>\n<arg_", ""},
		{"key>n</arg_key>\n<arg_value>", "args 0 \"\\\", \\\"n\\\": \"\n"},
		{"12", ""},
		{"</arg_value>\n</tool_call>", ""},
		{"\n<tool_call>", "args 0 \"12}\"\ncall_end 0\nend 131\n"},
	})
}

// TestLongString checks that every parser passes a long string on while it comes.
func TestLongString(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("a line of <b>text</b> with \"quotes\",\n", 12)[:430]
	for _, spec := range keyvalue.Specs() {
		input := strings.NewReplacer("get_weather", "write_file", "city", "content", "Oslo", content).Replace(spec.Example)
		sdktest.LongString(t, spec, sdk.Options{Tools: tools}, input, `{"content": `+strconv.Quote(content)+`}`, 51)
	}
}

// TestTruncated cuts every golden input at every byte: calls that were complete
// before the cut stay, and the last is what was written of it up to the end of a
// value, or nothing. Values that hold the ends of others as text are left out.
func TestTruncated(t *testing.T) {
	t.Parallel()
	opts := sdk.Options{Tools: tools}
	for _, spec := range keyvalue.Specs() {
		for _, c := range sdktest.Cases(t, "testdata/"+spec.Name) {
			whole := sdktest.Calls(sdktest.Run(t, spec, opts, c.Input, sdk.Stop))
			text := strings.Contains(c.Name, "in_value") || strings.Contains(c.Name, "ending_value") || strings.Contains(c.Name, "much_space")
			for cut := range sdktest.Truncated(t, spec, opts, c.Input) {
				if !sdktest.BeginsCut(whole, cut.Calls) && !text && len(whole) > 0 {
					t.Errorf("%s: %q (%d) gives %q, the whole %q", c.Name, cut.Text, cut.Reason, cut.Calls, whole)
				}
			}
		}
	}
}

func FuzzKeyValue(f *testing.F) {
	for i, seed := range []string{
		"<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>a</arg_value>\n<arg_key>n</arg_key>\n<arg_value>5.0</arg_value>\n</tool_call>\n",
		"<tool_call>f<arg_key>s</arg_key><arg_value><arg_key>x</arg_key><arg_value>1</arg_value></arg_value></tool_call> text",
		"<tool_call>g<arg_key>x<arg_value>{'a': None}\n<arg_key>n</arg_key></arg_value></tool_call><tool_call>f</tool_call>",
		"<tool_calls:x>\n<tool_call:x>f<tool_sep:x>\n<arg_key:x>s</arg_key:x>\n<arg_value:x></arg_value:x></tool_call:x>\n</tool_calls:x>",
		"<ifm|tool_calls><ifm|tool_call>f<ifm|arg_key>s</ifm|arg_key><ifm|arg_type>integer</ifm|arg_type><ifm|arg_value>1</ifm|arg_value>" +
			"</ifm|tool_call></ifm|tool_calls>",
	} {
		f.Add(uint8(max(0, i-2)), seed, false)
		f.Add(uint8(max(0, i-2)), seed[:len(seed)-20], true)
	}
	sdktest.Fuzz(f, sdk.Options{Tools: tools}, keyvalue.GLM47(), keyvalue.HyV3(), keyvalue.IFM())
}

func BenchmarkFeed(b *testing.B) {
	line := "a line of <b>text</b> with \"quotes\" and a newline\n"
	for _, size := range []int{1, 16, 256} {
		value := strings.Repeat(line, size<<10/len(line))
		benchmark(b, "glm45/"+strconv.Itoa(size)+"KB", "<tool_call>write_file\n<arg_key>content</arg_key>\n<arg_value>"+value+
			"</arg_value>\n</tool_call>\n<tool_call>")
	}
	for name, text := range map[string]string{
		"value_ends": "</arg_value>", "call_ends": "</tool_call>", "both_ends": "</arg_value></tool_call>", "value_starts": "<arg_value>",
		"keys": "<arg_key>path", "pairs": "</arg_value></tool_call><arg_value></arg_value>", "spaces": "</arg_value>                 ",
		"calls": "<tool_call>", "backslashes": `</arg_value>\n\n\n\n`, "newlines": "\n<\n\n",
	} {
		benchmark(b, "hostile/"+name, "<tool_call>write_file\n<arg_key>content</arg_key>\n<arg_value>"+strings.Repeat(text, 256<<10/len(text)))
	}
}

func benchmark(b *testing.B, name, text string) {
	b.Run(name, func(b *testing.B) {
		sdktest.Benchmark(b, keyvalue.GLM45(), sdk.Options{Tools: tools}, text)
	})
}
