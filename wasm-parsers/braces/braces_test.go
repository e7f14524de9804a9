package braces_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/braces"
)

// tools are a function with a string, which streams, and an integer, which waits.
var tools = []sdk.Tool{
	{Name: "f", Params: []sdk.Param{{Name: "s", Types: abi.String}, {Name: "n", Types: abi.Integer}}},
	{Name: "write_file", Params: []sdk.Param{{Name: "path", Types: abi.String}, {Name: "content", Types: abi.String}}},
}

func TestGolden(t *testing.T) {
	t.Parallel()
	sdktest.GoldenAll(t, "testdata", braces.Specs()...)
}

func TestExample(t *testing.T) {
	t.Parallel()
	for _, spec := range braces.Specs() {
		sdktest.Example(t, spec, sdk.Options{}, sdktest.Call{Name: "get_weather", Args: `{"city": "Oslo"}`})
	}
}

func TestFragments(t *testing.T) {
	t.Parallel()
	sdktest.Fragments(t, braces.Gemma4(), sdk.Options{Tools: tools, MaxDepth: 4}, []string{
		"<|tool_call>", "call:", "<|tool_call>call:f{", "<|tool_call>call:g{s:<|\"|>", "<tool_call|>", "<tool_call|>", "<|\"|>", "<|\"|>", "<|\"|>",
		"{", "}", "}", "}<tool_call|>", "[", "]", ",", ",", ":", "s:", "n:", ",x:", ",<|\"|>y<|\"|>:", "\"k\":", "'", "\"", "1", "true", "None", "text", "a b",
		"\n", " ", "<", "<|", "<t", "<|tool_response>", "\\", "é",
	}, 500)
	sdktest.Fragments(t, braces.FunctionGemma(), sdk.Options{Tools: tools}, []string{
		"<start_function_call>call:f{", "<start_function_call>", "<end_function_call>", "<escape>", "<escape>", "<escape>", "{", "}", "}", "[", "]", ",", ":",
		"s:", "n:", "x:", "1", "{'a': ", "None", "text", "\n", " ", "<", "<e", "<end_of_turn>",
	}, 300)
}

func TestCanParse(t *testing.T) {
	t.Parallel()
	sdktest.Verdicts(t, braces.Gemma4(), map[string]sdk.Verdict{
		"": sdk.Maybe, "<|tool": sdk.Maybe, "<|tool_call": sdk.Maybe, "<|tool_call>": sdk.Maybe, "<|tool_call>\nca": sdk.Maybe, "<|tool_call>call:": sdk.Maybe,
		"<|tool_call>call:f": sdk.Maybe, "<|tool_call>call: f ": sdk.Maybe, "<|tool_call>call:f{": sdk.Yes, "<|tool_call>call:f<tool": sdk.Maybe,
		"<|tool_call>call:f<tool_call|>": sdk.Yes, "<|tool_call>call:f<|": sdk.No, "<|tool_call>call:f g": sdk.No, "<|tool_call>call:{": sdk.No,
		"<|tool_call>call:f(": sdk.No, "<|tool_call>{": sdk.No, "<|tool_call|>": sdk.No, "<tool_call>": sdk.No, "<|tool_call>callf": sdk.No,
		"<|tool_call>call:" + strings.Repeat("n", 238): sdk.Maybe, "<|tool_call>call:" + strings.Repeat("n", 239): sdk.Yes, // all it is asked about
		"<|tool_call>call:" + strings.Repeat("n", 257): sdk.No,
	})
}

// TestStream checks that a string is passed on as it comes, but for brackets and a
// quote that may end it, and that other values wait for their end.
func TestStream(t *testing.T) {
	t.Parallel()
	sdktest.Steps(t, braces.Gemma4(), sdk.Options{Tools: tools}, [][2]string{
		{"<|tool_call>call:f", ""},
		{"{", "call_start 0 \"f\"\nargs 0 \"{\"\n"},
		{"s", ""},
		{":", `args 0 "\"s\": "` + "\n"},
		{"<|\"|>", `args 0 "\""` + "\n"},
		{"ab\"", `args 0 "ab\\\""` + "\n"},
		{"c }\n", `args 0 "c"` + "\n"},
		{"d<|\"", "args 0 \" }\\\\nd\"\n"},
		{"|>", ""},
		{",n", ""},
		{":", "args 0 \"\\\", \\\"n\\\": \"\n"},
		{"12", ""},
		{",x:[", "args 0 \"12, \\\"x\\\": [\"\n"},
		{"]}", "args 0 \"]\"\n"},
		{"<tool_call|", ""},
		{">", "args 0 \"}\"\ncall_end 0\nend 62\n"},
	})
}

// TestLongString checks that every parser passes a long string on while it comes.
func TestLongString(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("a line of <b>text</b> with \"quotes\",\n", 12)[:430]
	for _, spec := range braces.Specs() {
		if spec.Heuristic { // it does not stream
			continue
		}
		input := strings.NewReplacer("get_weather", "write_file", "city", "content", "Oslo", content).Replace(spec.Example)
		sdktest.LongString(t, spec, sdk.Options{Tools: tools}, input, `{"content": `+strconv.Quote(content)+`}`, 51)
	}
}

// TestTruncated cuts every golden input at every byte: calls that were complete
// before the cut stay, and the last is what was written of it up to the end of a
// value, or nothing. Where the output ends by itself in a string that holds calls as
// text, or behind a brace, that is its end.
func TestTruncated(t *testing.T) {
	t.Parallel()
	opts := sdk.Options{Tools: tools}
	for _, spec := range braces.Specs() {
		for _, c := range sdktest.Cases(t, "testdata/"+spec.Name) {
			whole := sdktest.Calls(sdktest.Run(t, spec, opts, c.Input, sdk.Stop))
			for cut := range sdktest.Truncated(t, spec, opts, c.Input) {
				if strings.Contains(c.Name, "in_string") && cut.Reason == sdk.Stop || strings.Contains(c.Name, "text_braces") {
					continue
				}
				if !sdktest.BeginsCut(whole, cut.Calls) && len(whole) > 0 {
					t.Errorf("%s: %q (%d) gives %q, the whole %q", c.Name, cut.Text, cut.Reason, cut.Calls, whole)
				}
			}
		}
	}
}

func FuzzBraces(f *testing.F) {
	for which, seeds := range [][]string{
		{
			`<|tool_call>call:f{s:<|"|>a {b}, c: "d"<|"|>,n:5.0,x:{y:[1,null,<|"|>]<|"|>]}}<tool_call|> text`,
			`<|tool_call>call:f{s:a b, c,n:1,"x":'y',}<tool_call|><|tool_call>call:g{}<tool_call|>`,
			`<|tool_call>call:f{s:<|"|>a}}}<tool_call|>                                          `,
		},
		{`<start_function_call>call:f{s:<escape>3<escape>,n:<escape>3<escape>,x:<escape>{'a': None}<escape>}<end_function_call>`},
	} {
		for _, seed := range seeds {
			f.Add(uint8(which), seed, false)
			f.Add(uint8(which), seed[:len(seed)-20], true)
		}
	}
	sdktest.Fuzz(f, sdk.Options{Tools: tools}, braces.Gemma4(), braces.FunctionGemma())
}

func BenchmarkFeed(b *testing.B) {
	line := "a line of <b>text</b> with \"quotes\", {braces} and a newline\n"
	for _, size := range []int{1, 16, 256} {
		value := strings.Repeat(line, size<<10/len(line))
		benchmark(b, "gemma4/"+strconv.Itoa(size)+"KB", "<|tool_call>call:write_file{content:<|\"|>"+value+"<|\"|>}<tool_call|>")
		benchmark(b, "gemma4/bare/"+strconv.Itoa(size)+"KB", "<|tool_call>call:write_file{content:"+value+"}<tool_call|>")
	}
	for name, text := range map[string]string{
		"quotes": `<|"|>`, "quotes_comma": `<|"|>,`, "quotes_key": `<|"|>,` + strings.Repeat("k", 200), "quotes_brace": `<|"|>}`,
		"ends": `<tool_call|>`, "braces": `}`, "spaces": `} `,
	} {
		benchmark(b, "hostile/quoted/"+name, `<|tool_call>call:f{s:<|"|>x`+strings.Repeat(text, 256<<10/len(text)))
		benchmark(b, "hostile/bare/"+name, `<|tool_call>call:f{s:x`+strings.Repeat(text, 256<<10/len(text)))
	}
	for name, text := range map[string]string{
		"commas": ",", "colons": ",a:", "open": "{", "key": "{a:", "list": "[", "pairs": "{}", "items": "[1,",
	} {
		benchmark(b, "hostile/"+name, `<|tool_call>call:f{s:`+strings.Repeat(text, 256<<10/len(text)))
		benchmark(b, "hostile/deep/"+name, `<|tool_call>call:f{s:`+strings.Repeat("[", 120)+"x"+strings.Repeat(text, 256<<10/len(text)))
	}
}

func benchmark(b *testing.B, name, text string) {
	b.Run(name, func(b *testing.B) {
		sdktest.Benchmark(b, braces.Gemma4(), sdk.Options{Tools: tools}, text)
	})
}
