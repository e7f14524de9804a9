package pythonic_test

import (
	"encoding/json"
	"os"
	"path/filepath"
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
	for _, spec := range pythonic.Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			sdktest.Golden(t, spec, "testdata/"+spec.Name)
		})
	}
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
			"[(": sdk.No, "[^1]": sdk.No, "[" + strings.Repeat("n", 257): sdk.No,
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
		for head, want := range heads {
			if got := specs[parser].CanParse([]byte(head)); got != want {
				t.Errorf("CanParse of %s on %q = %d, want %d", parser, head, got, want)
			}
		}
	}
}

// TestExample holds the manifests to one call of get_weather.
func TestExample(t *testing.T) {
	t.Parallel()
	for _, spec := range pythonic.Specs() {
		if spec.CanParse([]byte(spec.Example)) != sdk.Yes {
			t.Errorf("%s does not take its example", spec.Name)
		}
		events := sdktest.Stable(t, spec, sdk.Options{}, spec.Example, sdk.Stop)
		want := "call_start 0 \"get_weather\"\nargs 0 \"{\\\"city\\\": \\\"Oslo\\\"}\"\ncall_end 0\nend " + strconv.Itoa(len(spec.Example)) + "\n"
		if got := sdktest.Format(events); got != want {
			t.Errorf("%s of its example gives\n%s\nwant\n%s", spec.Name, got, want)
		}
	}
}

// chunks feeds the pieces to a new parser, and gives the events of
// each piece.
func chunks(t *testing.T, spec sdk.Spec, pieces []string) [][]sdk.Event {
	t.Helper()
	p, err := spec.New(sdk.Options{Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	var out sdk.Out
	var all [][]sdk.Event
	for _, piece := range pieces {
		p.Feed([]byte(piece), &out)
		events, err := abi.DecodeEvents(nil, out.Take())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, events)
	}
	return all
}

// TestStream checks that strings come as they are written, but for what may be part
// of an escape or of the end, and the last brace only when the call is sure.
func TestStream(t *testing.T) {
	t.Parallel()
	steps := []struct{ text, want string }{
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
	}
	var pieces []string
	for _, s := range steps {
		pieces = append(pieces, s.text)
	}
	for i, events := range chunks(t, pythonic.Llama4Pythonic(), pieces) {
		if got := sdktest.Format(events); got != steps[i].want {
			t.Errorf("after %q: %q, want %q", steps[i].text, got, steps[i].want)
		}
	}
}

// TestLongStringStreams checks for every parser that a long string does not come in
// one piece.
func TestLongStringStreams(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("a line of text, (with) [brackets]. ", 13)[:430]
	for _, spec := range pythonic.Specs() {
		text := strings.Replace(spec.Example, "get_weather", "write_file", 1)
		text = strings.Replace(text, "city", "content", 1)
		text = strings.Replace(text, "Oslo", content, 1)
		args := 0
		for _, events := range chunks(t, spec, strings.Split(text, "")) {
			for _, e := range events {
				if e.Kind == abi.Args {
					args++
				}
			}
		}
		if args <= 400 {
			t.Errorf("%s gives %d pieces of arguments", spec.Name, args)
		}
	}
}

// goldenInputs are the inputs of a parser's cases.
func goldenInputs(tb testing.TB, parser string) []string {
	tb.Helper()
	files, err := filepath.Glob("testdata/" + parser + "/*.case")
	if err != nil {
		tb.Fatal(err)
	}
	var inputs []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(data), "-- input --\n")
		lines, _, _ := strings.Cut(rest, "-- events --\n")
		var input string
		for line := range strings.Lines(lines) {
			var piece string
			if err := json.Unmarshal([]byte(line), &piece); err != nil {
				tb.Fatal(err)
			}
			input += piece
		}
		inputs = append(inputs, input)
	}
	return inputs
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
			for _, input := range goldenInputs(t, spec.Name) {
				for _, reason := range []sdk.Reason{sdk.Stop, sdk.Length} {
					truncate(t, spec, input, reason)
				}
			}
		})
	}
}

func truncate(t *testing.T, spec sdk.Spec, input string, reason sdk.Reason) {
	t.Helper()
	before := 0
	for n := range len(input) + 1 {
		events := sdktest.Run(t, spec, sdk.Options{Tools: tools}, input[:n], reason)
		ended := 0
		for _, e := range events {
			if e.Kind == abi.CallEnd {
				ended++
			}
		}
		last := events[len(events)-1].Kind
		if !spec.Heuristic && ended < before-1 {
			t.Fatalf("%s of %q: %d calls, and %d of a shorter text", spec.Name, input[:n], ended, before)
		}
		if n > 0 && ended > before && last != abi.End {
			t.Fatalf("%s of %q ends with %v", spec.Name, input[:n], last)
		}
		if ended > before && !strings.ContainsAny(input[n-1:n], ")}") {
			t.Fatalf("%s of %q: a call is complete", spec.Name, input[:n])
		}
		before = ended
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
		p, err := pythonic.Llama4Pythonic().New(sdk.Options{Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		var out sdk.Out
		for rest := []byte(text); len(rest) > 0 && !out.Ended(); rest = rest[min(len(rest), 7):] {
			p.Feed(rest[:min(len(rest), 7)], &out)
			out.Take()
		}
		if !out.Ended() {
			p.Finish(sdk.Length, &out)
		}
	}
}

// FuzzPythonic holds all parsers of the family to the contract and to the same
// events however the text is cut.
func FuzzPythonic(f *testing.F) {
	specs := pythonic.Specs()
	for i, spec := range specs {
		for j, input := range goldenInputs(f, spec.Name) {
			f.Add(input, uint8(i), j%2 == 0)
		}
	}
	f.Fuzz(func(t *testing.T, input string, which uint8, length bool) {
		if len(input) > 256 {
			t.Skip("longer than the cuts are meant for")
		}
		reason := sdk.Stop
		if length {
			reason = sdk.Length
		}
		sdktest.Stable(t, specs[int(which)%len(specs)], sdk.Options{Tools: tools, MaxDepth: 6}, input, reason)
	})
}

func BenchmarkFeed(b *testing.B) {
	for _, spec := range []sdk.Spec{pythonic.LFM2(), pythonic.Sarashina()} {
		for _, size := range []int{1, 16, 256} {
			b.Run(spec.Name+"/"+strconv.Itoa(size)+"KB", func(b *testing.B) {
				line := `a line of text with \'quotes\' and a newline\n`
				text := []byte(strings.Replace(spec.Example, "Oslo", strings.Repeat(line, size<<10/len(line)), 1))
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					p, err := spec.New(sdk.Options{})
					if err != nil {
						b.Fatal(err)
					}
					var out sdk.Out
					for rest := text; len(rest) > 0; rest = rest[min(len(rest), 64):] {
						p.Feed(rest[:min(len(rest), 64)], &out)
						out.Take()
					}
					if !out.Ended() {
						b.Fatal("the region did not end")
					}
				}
			})
		}
	}
}
