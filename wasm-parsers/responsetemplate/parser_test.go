package responsetemplate

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
)

// inputs are the inputs of the cases of a template.
func inputs(tb testing.TB, dir string) []string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.case"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no cases in %s (%v)", dir, err)
	}
	var all []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(data), "-- input --\n")
		lines, _, _ := strings.Cut(rest, "-- events --\n")
		input := ""
		for line := range strings.Lines(lines) {
			var piece string
			if err := json.Unmarshal([]byte(line), &piece); err != nil {
				tb.Fatal(err)
			}
			input += piece
		}
		all = append(all, input)
	}
	return all
}

// callsOf are the complete calls of events, and the text.
func callsOf(events []sdk.Event) (calls []string, text string) {
	for _, e := range events {
		switch e.Kind {
		case abi.CallStart:
			calls = append(calls, e.Name)
		case abi.Args:
			calls[len(calls)-1] += e.Text
		case abi.Content, abi.Reasoning:
			text += e.Text
		}
	}
	return calls, text
}

// TestTruncated cuts every input at every byte. The calls before the cut stay, and
// none comes that is not in the whole.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for _, dir := range templates(t) {
		spec := with(readTemplate(t, dir))
		for _, input := range inputs(t, dir) {
			whole, _ := callsOf(sdktest.Run(t, spec, sdk.Options{}, input, sdk.Stop))
			before := 0
			for n := range input {
				sdktest.Run(t, spec, sdk.Options{}, input[:n], sdk.Stop)
				got, _ := callsOf(sdktest.Run(t, spec, sdk.Options{}, input[:n], sdk.Length))
				if len(got) < before || len(got) > len(whole) || strings.Join(got, "\n") != strings.Join(whole[:len(got)], "\n") {
					t.Fatalf("%s: %q gives the calls %q, the whole gives %q", dir, input[:n], got, whole)
				}
				before = len(got)
			}
		}
	}
}

// TestStreams shows that text comes at once, but for what may be a marker, and a
// call when its marker is closed.
func TestStreams(t *testing.T) {
	t.Parallel()
	p, err := with(readTemplate(t, "testdata/hermes")).New(sdk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out sdk.Out
	for _, tt := range []struct{ text, want string }{
		{"Some ", "content \"Some\"\n"},
		{"text <", "content \" text\"\n"},
		{"b> <too", "content \" <b>\"\n"},
		{"l_call>{\"name\": \"f\"", ""},
		{"}</tool_call>", "call_start 0 \"f\"\nargs 0 \"{}\"\ncall_end 0\n"},
		{"\n<think>", ""},
		{"so", "reasoning \"so\"\n"},
		{"</think", ""},
		{"er>", "reasoning \"</thinker>\"\n"},
	} {
		p.Feed([]byte(tt.text), &out)
		events, err := abi.DecodeEvents(nil, out.Take())
		if got := sdktest.Format(events); err != nil || got != tt.want {
			t.Errorf("%q gives %q, %v, want %q", tt.text, got, err, tt.want)
		}
	}
}

// TestFragments puts the marks of each template together at random.
func TestFragments(t *testing.T) {
	t.Parallel()
	for dir, fragments := range map[string][]string{
		"hermes":      {"<think>", "</think>", "<tool_call>", "</tool_call>", `{"name": "f", "arguments": {`, "}}", `"`, "text", "\n ", "<tool", "\\"},
		"gemma4":      {"<|tool_call>call:", "f", "{", "}", `<|"|>`, "<tool_call|>", `"`, "'", "<|", "a:", ",", "1", "\\", "<|channel>thought\n", "<channel|>"},
		"mistral":     {"[TOOL_CALLS]", "f", "[ARGS]", "[CALL_ID]", `{"a":`, "{}", "}", "[", "]", " ", "1", "[THINK]", "[/THINK]"},
		"harmony":     {"<|start|>assistant", "<|channel|>", "analysis", "final", "commentary to=functions.f", "<|message|>", "{}", "<|call|>", "<|end|>", " ", "x", `{"a": "`},
		"qwen3_coder": {"<tool_call>", "<function=f>", "<parameter=a>", "1", "\n", "</parameter>", "</function>", "</tool_call>", "x", "<think>"},
		"begins":      {"</think>", "<fn f>", `a="1"`, " ", "x", "<fn "},
		"kinds":       {"<seek f>", "</seek>", "<why>", "</why>", `{"reason": {"text": "a", "n": 1}}`, "<score>", "</score>", "1", ".5", " ", "<a/>", ";"},
	} {
		sdktest.Fragments(t, with(readTemplate(t, filepath.Join("testdata", dir))), sdk.Options{}, fragments, 100)
	}
}

// TestLinear reads a megabyte of what is hard for each template and counts the
// steps of its machines.
func TestLinear(t *testing.T) {
	t.Parallel()
	const length = 1 << 20
	for _, tt := range []struct{ dir, head, unit string }{
		{"hermes", "", "<tool_call>"}, {"hermes", "", "<tool_cal"}, {"hermes", "", `<tool_call>{"`}, {"hermes", "", `<tool_call>{"</tool_call>`},
		{"hermes", `<tool_call>{"`, "</tool_call>"}, {"hermes", "<think>", "</thin"}, {"hermes", "", " "}, {"hermes", "<think>", "\n"},
		{"hermes", "", "<tool_call>{}</tool_call>"}, {"hermes", "<tool_call>", "["}, {"gemma4", "<|tool_call>call:", "x"},
		{"gemma4", "", "<|tool_call>call:"}, {"gemma4", `<|tool_call>call:f{a:<|"|>`, `<|"|`}, {"gemma4", `<|tool_call>call:f{a:<|"|>`, `<tool_call|>`},
		{"mistral", "", "[TOOL_CALLS]f"}, {"mistral", "", "[TOOL_CALLS]f[ARGS]{}"}, {"mistral", "", `[TOOL_CALLS]f[ARGS]{"a`},
		{"qwen3_coder", "", "<tool_call>\n"}, {"qwen3_coder", "<tool_call><function=f>", "<parameter=a>"}, {"qwen3_coder", "", "<tool_call><function=f></function>"},
		{"qwen3_coder", "<tool_call><function=f>", "<parameter=a>x</parameter>"}, {"harmony", "", "<|start|>assistant"}, {"begins", "</think>", `<fn f>a="`},
	} {
		tpl, err := compile(readTemplate(t, filepath.Join("testdata", tt.dir)))
		if err != nil {
			t.Fatal(err)
		}
		input := []byte(tt.head + strings.Repeat(tt.unit, length/len(tt.unit)))
		p := newParser(tpl, 0)
		var out sdk.Out
		insts := len(tpl.open.insts)
		for _, f := range tpl.opened {
			if f.close != nil {
				insts += len(f.close.insts)
			}
		}
		for len(input) > 0 {
			n := min(1000, len(input))
			p.Feed(input[:n], &out)
			out.Take()
			input = input[n:]
		}
		p.Finish(sdk.Stop, &out)
		steps := p.opens.steps
		for _, m := range p.closers {
			steps += m.steps
		}
		if perByte := steps / length; perByte > 4*insts {
			t.Errorf("%s, %s%s…: %d steps a byte, want at most 4 for each of %d instructions", tt.dir, tt.head, tt.unit, perByte, insts)
		}
	}
}

// TestTooLong shows that a region that is too long becomes content whole, and that
// what follows is read.
func TestTooLong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ dir, open, close, call string }{
		{"hermes", `<tool_call>{"name": "f", "arguments": {"a": "`, `"}}</tool_call>`, `<tool_call>{"name": "g"}</tool_call>`},
		{"qwen3_coder", "<tool_call><function=f><parameter=a>", "</parameter></function></tool_call>", "<tool_call><function=g></function></tool_call>"},
		{"mistral", `[TOOL_CALLS]f[ARGS]{"a": "`, `"}`, "[TOOL_CALLS]g[ARGS]{}"},
	} {
		long := tt.open + strings.Repeat("x", maxRegion) + tt.close
		calls, text := callsOf(sdktest.Run(t, with(readTemplate(t, filepath.Join("testdata", tt.dir))), sdk.Options{}, long+tt.call, sdk.Stop))
		if text != long || len(calls) != 1 || calls[0] != "g{}" {
			t.Errorf("%s: calls %q and %d bytes of text, want the call g and %d bytes", tt.dir, calls, len(text), len(long))
		}
	}
}

// TestTransformBounded shows that a template cannot make much of little.
func TestTransformBounded(t *testing.T) {
	t.Parallel()
	transform := `{"name": "f", "arguments": {"a": "` + strings.Repeat("{content}", 5000) + `"}}`
	spec := with(`{"fields": {"tool_calls": {"open": "<", "close": ">", "transform": ` + transform + `}}}`)
	input := strings.Repeat("<"+strings.Repeat("x", 1000)+">", 500)
	calls, text := callsOf(sdktest.Run(t, spec, sdk.Options{}, input, sdk.Stop))
	size := len(text)
	for _, c := range calls {
		size += len(c)
	}
	if size > 4*allowance+2*allowTimes*len(input) {
		t.Errorf("%d bytes became %d", len(input), size)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	spec := ResponseTemplate()
	for _, settings := range [][]abi.Setting{nil, {{Key: "template"}}, {{Key: "start", Value: "<"}}} {
		if _, err := spec.New(sdk.Options{Settings: settings}); err == nil || !strings.HasPrefix(err.Error(), "setting ") {
			t.Errorf("%v: error %v, want one that names the setting", settings, err)
		}
	}
}

// TestRandomTemplates puts templates and texts together at random, from a few
// letters so that everything meets everything.
func TestRandomTemplates(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6)) // a repeatable test
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	some := func(n int, from ...string) string {
		var b strings.Builder
		for range 1 + random.IntN(n) {
			b.WriteString(pick(from...))
		}
		return b.String()
	}
	pattern := func() string {
		return some(4, "a", "b", "<", `(?P<n>\\w+)`, "(?P<n>a|ab)", ".*", "[^<]*", `\\s*`, `\\b`, "(?:ab)?", "|<", "b*?", "$", "é")
	}
	taken := 0
	for range 1500 {
		source := `{"fields": {"tool_calls": {"open_pattern": "` + pattern() + `", ` +
			pick("", `"close_pattern": "`+pattern()+`", `, `"close": "`+some(2, "a", "b", "<", "}")+`", `) +
			pick(`"content": "json", "string_delims": ["<b", "|"], `, `"content": "json", `, `"content": "xml-inline", "tag_pattern": "(?P<key>a)(?P<value>.*?)b", `, `"content": "text", `) +
			`"transform": {"name": "f", "arguments": "{content}"}}, "thinking": {` +
			pick("", `"open_pattern": "`+pattern()+`", `) + `"close_pattern": "` + pattern() + `"}, "note": {"open": "` + some(2, "a", "b", "<") + `"}}}`
		if _, err := compile(source); err != nil {
			continue
		}
		t.Log(source) // the last one is that of a failure
		taken++
		for range 4 {
			input := some(16, "a", "b", "<", "ab", " ", "\n", "{", "}", `"`, "a:", "1", "<b", "|", "é", "\\", "'")
			sdktest.Stable(t, with(source), sdk.Options{}, input, sdk.Reason(random.IntN(2)))
		}
	}
	if taken < 200 {
		t.Errorf("only %d templates were taken", taken)
	}
}

// FuzzText holds every template to the contract in every way of cutting.
func FuzzText(f *testing.F) {
	dirs := templates(f)
	specs := make([]sdk.Spec, len(dirs))
	for i, dir := range dirs {
		specs[i] = with(readTemplate(f, dir))
		for _, input := range inputs(f, dir) {
			f.Add(uint8(i), input, false)
		}
	}
	f.Fuzz(func(t *testing.T, number uint8, input string, length bool) {
		if len(input) > 300 {
			return
		}
		reason := sdk.Stop
		if length {
			reason = sdk.Length
		}
		sdktest.Stable(t, specs[int(number)%len(specs)], sdk.Options{}, input, reason)
	})
}

// FuzzTemplate compiles any template and reads text with those that are taken.
func FuzzTemplate(f *testing.F) {
	for _, dir := range templates(f) {
		for _, input := range inputs(f, dir) {
			f.Add(readTemplate(f, dir), input)
		}
	}
	f.Add(`{"fields": {"thinking": {"open_pattern": "a(?:.*b)?", "close_pattern": "\\bc|$"}, "x": {"open": "b"}}}`, "aaabcaab a c")
	f.Fuzz(func(t *testing.T, source, input string) {
		if len(input) > 300 {
			return
		}
		if _, err := compile(source); err != nil {
			return
		}
		sdktest.Stable(t, with(source), sdk.Options{}, input, sdk.Stop)
	})
}

func BenchmarkParser(b *testing.B) {
	for _, dir := range []string{"hermes", "qwen3_coder", "gemma4"} {
		b.Run(dir, func(b *testing.B) {
			spec := with(readTemplate(b, filepath.Join("testdata", dir)))
			input := turn(b, filepath.Join("testdata", dir))
			b.SetBytes(int64(len(input)))
			for b.Loop() {
				var out sdk.Out
				p, err := spec.New(sdk.Options{})
				if err != nil {
					b.Fatal(err)
				}
				p.Feed(input, &out)
				p.Finish(sdk.Stop, &out)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	source := readTemplate(b, "testdata/harmony")
	for b.Loop() {
		if _, err := compile(source); err != nil {
			b.Fatal(err)
		}
	}
}

// turn is the input of the case that is a whole turn.
func turn(tb testing.TB, dir string) []byte {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.case"))
	if err != nil {
		tb.Fatal(err)
	}
	return []byte(inputs(tb, dir)[slices.Index(files, filepath.Join(dir, "turn.case"))])
}
