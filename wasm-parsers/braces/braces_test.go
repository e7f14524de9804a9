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
	for _, spec := range braces.Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			sdktest.Golden(t, spec, "testdata/"+spec.Name)
		})
	}
}

func TestExample(t *testing.T) {
	t.Parallel()
	for _, spec := range braces.Specs() {
		if got := spec.CanParse([]byte(spec.Example)[:min(len(spec.Example), abi.MaxHead)]); got != sdk.Yes {
			t.Errorf("%s: CanParse of its example is %d", spec.Name, got)
		}
		want := "call_start 0 \"get_weather\"\nargs 0 \"{\\\"city\\\": \\\"Oslo\\\"}\"\ncall_end 0\nend " +
			strconv.Itoa(len(spec.Example)) + "\n"
		if got := sdktest.Format(sdktest.Stable(t, spec, sdk.Options{}, spec.Example, sdk.Stop)); got != want {
			t.Errorf("%s: its example gives\n%s", spec.Name, got)
		}
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
	for head, want := range map[string]sdk.Verdict{
		"": sdk.Maybe, "<|tool": sdk.Maybe, "<|tool_call": sdk.Maybe, "<|tool_call>": sdk.Maybe, "<|tool_call>\nca": sdk.Maybe, "<|tool_call>call:": sdk.Maybe,
		"<|tool_call>call:f": sdk.Maybe, "<|tool_call>call: f ": sdk.Maybe, "<|tool_call>call:f{": sdk.Yes, "<|tool_call>call:f<tool": sdk.Maybe,
		"<|tool_call>call:f<tool_call|>": sdk.Yes, "<|tool_call>call:f<|": sdk.No, "<|tool_call>call:f g": sdk.No, "<|tool_call>call:{": sdk.No,
		"<|tool_call>call:f(": sdk.No, "<|tool_call>{": sdk.No, "<|tool_call|>": sdk.No, "<tool_call>": sdk.No, "<|tool_call>callf": sdk.No,
		"<|tool_call>call:" + strings.Repeat("n", 257): sdk.No,
	} {
		if got := braces.Gemma4().CanParse([]byte(head)); got != want {
			t.Errorf("CanParse(%q) = %d, want %d", head, got, want)
		}
	}
}

// TestStream checks that a string is passed on as it comes, but for brackets and a
// quote that may end it, and that other values wait for their end.
func TestStream(t *testing.T) {
	t.Parallel()
	steps := []struct{ text, want string }{
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
		{":", "args 0 \"\\\"\"\nargs 0 \", \"\nargs 0 \"\\\"n\\\": \"\n"},
		{"12", ""},
		{",x:[", "args 0 \"12\"\nargs 0 \", \"\nargs 0 \"\\\"x\\\": \"\nargs 0 \"[\"\n"},
		{"]}", "args 0 \"]\"\n"},
		{"<tool_call|", ""},
		{">", "args 0 \"}\"\ncall_end 0\nend 62\n"},
	}
	feed(t, braces.Gemma4(), func(p sdk.Parser, out *sdk.Out) {
		for _, tt := range steps {
			p.Feed([]byte(tt.text), out)
			if got := sdktest.Format(take(t, out)); got != tt.want {
				t.Errorf("after %q: %q, want %q", tt.text, got, tt.want)
			}
		}
	})
}

// TestStringsStream counts the pieces in which a long string comes.
func TestStringsStream(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("a line of <b>text</b> with \"quotes\",\n", 12)[:430]
	for _, spec := range braces.Specs() {
		feed(t, spec, func(p sdk.Parser, out *sdk.Out) {
			pieces := 0
			text := strings.ReplaceAll(strings.ReplaceAll(spec.Example, "get_weather", "write_file"), "city", "content")
			for _, c := range []byte(strings.Replace(text, "Oslo", content, 1)) {
				p.Feed([]byte{c}, out)
				for _, e := range take(t, out) {
					if e.Kind == abi.Args {
						pieces++
					}
				}
			}
			if pieces <= 50 {
				t.Errorf("%s gives %d pieces", spec.Name, pieces)
			}
		})
	}
}

func feed(t *testing.T, spec sdk.Spec, do func(sdk.Parser, *sdk.Out)) {
	t.Helper()
	p, err := spec.New(sdk.Options{Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	do(p, &sdk.Out{})
}

func take(t *testing.T, out *sdk.Out) []sdk.Event {
	t.Helper()
	events, err := abi.DecodeEvents(nil, out.Take())
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func FuzzBraces(f *testing.F) {
	for _, seed := range []string{
		`<|tool_call>call:f{s:<|"|>a {b}, c: "d"<|"|>,n:5.0,x:{y:[1,null,<|"|>]<|"|>]}}<tool_call|> text`,
		`<|tool_call>call:f{s:a b, c,n:1,"x":'y',}<tool_call|><|tool_call>call:g{}<tool_call|>`,
		`<|tool_call>call:f{s:<|"|>a}}}<tool_call|>                                          `,
		`<start_function_call>call:f{s:<escape>3<escape>,n:<escape>3<escape>,x:<escape>{'a': None}<escape>}<end_function_call>`,
	} {
		f.Add(seed, false)
		f.Add(seed[:len(seed)-20], true)
	}
	f.Fuzz(func(t *testing.T, input string, length bool) {
		if len(input) > 256 {
			t.Skip("longer than the cuts are meant for")
		}
		reason := sdk.Stop
		if length {
			reason = sdk.Length
		}
		spec := braces.Gemma4()
		if strings.HasPrefix(input, "<s") {
			spec = braces.FunctionGemma()
		}
		sdktest.Stable(t, spec, sdk.Options{Tools: tools}, input, reason)
	})
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
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			p, err := braces.Gemma4().New(sdk.Options{Tools: tools})
			if err != nil {
				b.Fatal(err)
			}
			var out sdk.Out
			for rest := []byte(text); len(rest) > 0 && !out.Ended(); rest = rest[min(len(rest), 64):] {
				p.Feed(rest[:min(len(rest), 64)], &out)
				out.Take()
			}
			if !out.Ended() {
				p.Finish(sdk.Stop, &out)
			}
		}
	})
}
