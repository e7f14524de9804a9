package pythonic_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/pythonic"
)

// tools have parameters of all kinds.
var tools = []sdk.Tool{
	{Name: "f", Params: []sdk.Param{{Name: "s", Types: abi.String}, {Name: "n", Types: abi.Integer}, {Name: "x"}}},
	{Name: "write_file", Params: []sdk.Param{{Name: "path", Types: abi.String}, {Name: "content", Types: abi.String}}},
}

func TestGolden(t *testing.T) {
	t.Parallel()
	sdktest.GoldenAll(t, "testdata", pythonic.Specs()...)
}

func TestFragments(t *testing.T) {
	t.Parallel()
	shared := []string{
		"f(", ")", "g()", ", ", ",", ";", "\n", " ", "]", "s=", "n=", "x=", "'a'", `"b\n"`, `"""`, "'", `\`, `\x41`, "r", "text", "1", "-2.5",
		"True", "[", "{", "}", `{"k": [1]}`, ":", "(", "(1,)", "=", "é", "<", "</", `f(s="a", n=1)`, "f(x=", "f(s=some text, n=", ")]",
	}
	for _, spec := range pythonic.Specs() {
		if strings.HasPrefix(spec.Name, "sarashina") {
			continue
		}
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			open, closing, _ := strings.Cut(spec.Example, `get_weather`)
			_, closing, _ = strings.Cut(closing, `)`)
			own := append([]string{open, open + "f(", open + "f(s=", closing, "f.call("}, shared...)
			sdktest.Fragments(t, spec, sdk.Options{Tools: tools, MaxDepth: 4}, own, 400)
		})
	}
}

func TestFragmentsOfDicts(t *testing.T) {
	t.Parallel()
	for _, spec := range []sdk.Spec{pythonic.Sarashina(), pythonic.SarashinaBare()} {
		sdktest.Fragments(t, spec, sdk.Options{MaxDepth: 4}, []string{
			"<|tool_calls|>", "<|tool_calls|>[", "[{'name': 'f', ", "'arguments': {", "'a': '", "'", "}", "}}", "}]", "]", ",", ", ", " ",
			`\`, `\x41`, `\U0001f600`, `\n`, `\x`, "'b': [1, None]", "{'name': 'f'}", "{", "</s>", "<|", "text",
		}, 400)
	}
}

func TestCanParse(t *testing.T) {
	t.Parallel()
	specs := map[string]sdk.Spec{}
	for _, spec := range pythonic.Specs() {
		specs[spec.Name] = spec
	}
	for parser, heads := range map[string]map[string]sdk.Verdict{
		"pythonic": {
			"": sdk.Maybe, "[": sdk.Maybe, "[ ": sdk.Maybe, "[get": sdk.Maybe, "[get_time(": sdk.Yes, "[\n  a.b-c(": sdk.Yes,
			"[1]": sdk.No, "[text](url)": sdk.No, "[text": sdk.Maybe, "[1, 2]": sdk.No, `["a"]`: sdk.No, "[]": sdk.No,
			"[{": sdk.No, "[[": sdk.No, "[x for": sdk.No, "[ ] todo": sdk.No, "[TOOL_CALLS]": sdk.No, "get_time(": sdk.No, "<|python_start|>": sdk.No,
			"[(": sdk.No, "[^1]": sdk.No, "[" + strings.Repeat("n", 254): sdk.Maybe, "[" + strings.Repeat("n", 255): sdk.Yes, "[" + strings.Repeat("n", 257): sdk.No,
		},
		"llama4_pythonic": {
			"<|python": sdk.Maybe, "<|python_start|>": sdk.Maybe, "<|python_start|>[f(": sdk.Yes, "<|python_start|>print(": sdk.No,
			"<|python_tag|>": sdk.No, "<|python_start|>[1": sdk.Maybe, "<|python_start|>[1]": sdk.No,
		},
		"olmo3": {
			"<function_calls>\n": sdk.Maybe, "<function_calls>\nf": sdk.Maybe, "<function_calls>\nf(": sdk.Yes, "<function_calls>[f(": sdk.Yes,
			"<function_calls>\n<invoke": sdk.No, "<function_calls>[{": sdk.No,
		},
		"lfm2": {
			"<|tool_call_start|>[": sdk.Maybe, "<|tool_call_start|>[{": sdk.No, "<|tool_call_start|>{": sdk.No, "<|tool_call_start|>[f(": sdk.Yes,
		},
		"llama3_builtin": {
			"<|python_tag|>brave": sdk.Maybe, "<|python_tag|>brave.call": sdk.Maybe, "<|python_tag|>brave.call(": sdk.Yes,
			"<|python_tag|>print(": sdk.No, "<|python_tag|>{": sdk.No, "<|python_tag|>import os": sdk.No, "<|python_tag|>[": sdk.No,
			"<|python_tag|>.call(": sdk.No,
		},
		"sarashina": {
			"<|tool_calls|>": sdk.Maybe, "<|tool_calls|>[": sdk.Maybe, "<|tool_calls|>[{": sdk.Yes, "<|tool_calls|><|tool_call:begin|>": sdk.No,
		},
		"sarashina_bare": {
			"[{'": sdk.Maybe, "[{'name'": sdk.Yes, "[ { 'arguments'": sdk.Yes, `[{"name"`: sdk.No, "[{'a'": sdk.No, "[1": sdk.No,
		},
	} {
		sdktest.Verdicts(t, specs[parser], heads)
	}
}

func TestExample(t *testing.T) {
	t.Parallel()
	for _, spec := range pythonic.Specs() {
		sdktest.Example(t, spec, sdk.Options{}, sdktest.Call{Name: "get_weather", Args: `{"city": "Oslo"}`})
	}
}

// TestStream checks that strings come as they are written, but for what may be part
// of an escape or of the end, and the last brace only when the call is sure.
func TestStream(t *testing.T) {
	t.Parallel()
	sdktest.Steps(t, pythonic.Llama4Pythonic(), sdk.Options{Tools: tools}, [][2]string{
		{"<|python_start|>[f", ""},
		{"(", "call_start 0 \"f\"\nargs 0 \"{\"\n"},
		{"s", ""},
		{"='", `args 0 "\"s\": \""` + "\n"},
		{"he", `args 0 "he"` + "\n"},
		{`\`, ""},
		{`x4`, ""},
		{`1" `, `args 0 "A\\\" "` + "\n"},
		{`'`, ""},
		{` "l`, `args 0 "l"` + "\n"},
		{`"`, ""},
		{`, n=1`, `args 0 "\", \"n\": "` + "\n"},
		{`2`, ""},
		{`, x=(`, `args 0 "12, \"x\": "` + "\n"},
		{`'a'`, ""},
		{`,`, `args 0 "[\"a\""` + "\n"},
		{`))`, `args 0 "]"` + "\n"},
		{" ", ""},
		{"]", "args 0 \"}\"\ncall_end 0\n"},
		{"<|python_end|", ""},
		{">", "end 68\n"},
	})
}

// TestLongStringStreams checks for every parser that a long string does not come in
// one piece.
func TestLongStringStreams(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("a line of text, (with) [brackets]. ", 13)[:430]
	for _, spec := range pythonic.Specs() {
		input := strings.NewReplacer("get_weather", "write_file", "city", "content", "Oslo", content).Replace(spec.Example)
		sdktest.LongString(t, spec, sdk.Options{Tools: tools}, input, `{"content": "`+content+`"}`, 401)
	}
}

// TestTruncated ends every golden input at every place. A call that was complete
// stays, in a format whose calls count one by one, and what is no complete call as
// it was written never becomes one: events that end in CallEnd must be those of a
// longer text too.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for _, spec := range pythonic.Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			for _, c := range sdktest.Cases(t, "testdata/"+spec.Name) {
				truncate(t, spec, c.Input)
			}
		})
	}
}

func truncate(t *testing.T, spec sdk.Spec, input string) {
	t.Helper()
	before := map[sdk.Reason]int{}
	for cut := range sdktest.Truncated(t, spec, sdk.Options{Tools: tools}, input) {
		ended, less := len(cut.Calls), before[cut.Reason]
		before[cut.Reason] = ended
		last := cut.Events[len(cut.Events)-1].Kind
		if !spec.Heuristic && ended < less-1 {
			t.Fatalf("%s of %q: %d calls, and %d of a shorter text", spec.Name, cut.Text, ended, less)
		}
		if ended > less && last != abi.End {
			t.Fatalf("%s of %q ends with %v", spec.Name, cut.Text, last)
		}
		if ended > less && !strings.HasSuffix(cut.Text, ")") && !strings.HasSuffix(cut.Text, "}") {
			t.Fatalf("%s of %q: a call is complete", spec.Name, cut.Text)
		}
	}
}

// TestGuess checks that text without quotes is no argument of a call that nobody has named
// the format of: it is code.
func TestGuess(t *testing.T) {
	t.Parallel()
	const input = "[f(s=some text)]"
	for guess, want := range map[bool]int{false: 1, true: 0} {
		events := sdktest.Stable(t, pythonic.Pythonic(), sdk.Options{Tools: tools, Guess: guess}, input, sdk.Stop)
		if got := len(sdktest.Calls(events)); got != want {
			t.Errorf("%q with guess %t gives %d calls, want %d", input, guess, got, want)
		}
	}
}

// TestHostile ends in time only if the cost is linear in the text.
func TestHostile(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for _, text := range []string{
		"<|python_start|>[f(s='" + strings.Repeat(`\`, size),
		"<|python_start|>[f(x=" + strings.Repeat("(", size),
		"<|python_start|>[f(x=" + strings.Repeat("'a' ", size/4),
		"<|python_start|>[f(s=" + strings.Repeat("a, b ", size/5),
		"<|python_start|>[f(s=1" + strings.Repeat(" ", size),
		"<|python_start|>[f(n=" + strings.Repeat("1", size),
		"<|python_start|>[" + strings.Repeat("f(n=1),", size/7),
		"<|python_start|>[" + strings.Repeat("f()\n", size/4),
		"<|python_start|>[f()" + strings.Repeat(" ", size),
		"<|python_start|>[f(x=[" + strings.Repeat("('a'),", size/6),
		"<|python_start|>[f(x=('" + strings.Repeat("a", size),
		"<|python_start|>[f(x='''" + strings.Repeat("''a", size/3),
		"<|python_start|>[f(" + strings.Repeat(" ", size),
	} {
		sdktest.Drain(t, pythonic.Llama4Pythonic(), sdk.Options{Tools: tools}, []byte(text), 7, sdk.Length)
	}
}

// FuzzPythonic holds all parsers of the family to the contract and to the same
// events however the text is cut.
func FuzzPythonic(f *testing.F) {
	specs := pythonic.Specs()
	for i, spec := range specs {
		for j, c := range sdktest.Cases(f, "testdata/"+spec.Name) {
			f.Add(uint8(i), c.Input, j%2 == 0)
		}
	}
	sdktest.Fuzz(f, sdk.Options{Tools: tools, MaxDepth: 6}, specs...)
}

func BenchmarkFeed(b *testing.B) {
	for _, spec := range []sdk.Spec{pythonic.LFM2(), pythonic.Sarashina()} {
		for _, size := range []int{1, 16, 256} {
			b.Run(spec.Name+"/"+strconv.Itoa(size)+"KB", func(b *testing.B) {
				line := `a line of text with \'quotes\' and a newline\n`
				text := strings.Replace(spec.Example, "Oslo", strings.Repeat(line, size<<10/len(line)), 1)
				if !sdktest.Benchmark(b, spec, sdk.Options{}, text) {
					b.Fatal("the region did not end")
				}
			})
		}
	}
}
