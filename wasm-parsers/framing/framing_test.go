package framing_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/steps"
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/framing"
)

var tools = []sdk.Tool{
	{Name: "get_weather", Params: []sdk.Param{{Name: "city", Types: abi.String}, {Name: "days", Types: abi.Integer}}},
	{Name: "write_file", Params: []sdk.Param{{Name: "path", Types: abi.String}, {Name: "content", Types: abi.String}}},
}

func TestGolden(t *testing.T) {
	t.Parallel()
	sdktest.GoldenAll(t, "testdata", framing.Specs()...)
}

func TestExample(t *testing.T) {
	t.Parallel()
	ids := map[string]string{"cohere": "0", "solar_open": "call00001"}
	for _, spec := range framing.Specs() {
		want := sdktest.Call{Name: "get_weather", ID: ids[spec.Name], Args: `{"city": "Oslo"}`}
		sdktest.Example(t, spec, sdk.Options{Tools: tools}, want)
	}
}

func TestCanParse(t *testing.T) {
	t.Parallel()
	sdktest.Heads(t, "testdata/heads.json", framing.Specs()...)
}

// fragments are what inputs of a parser are put together from: the markers of its
// example, each with and without its text, and text between them.
func fragments(spec sdk.Spec) []string {
	parts := []string{
		"\n", " ", "<", "<|", "|>", "text", "é", "\xc4", "{", "}", "[", "]", ",", `{"a": 1}`, `{"a": bad}`, `"{}"`, "null", `"x`,
		`{"name": "f", "args": {}}`, `{"args": {}}`, `{"tool_name": "f", "parameters": {"a": 1}}`, `{"x": 1}`,
		spec.Example, spec.Example, "analysis", "final", "assistant", " to=functions.f", " to=f", " to=python code", " to=user", "json",
	}
	parts = append(append(parts, spec.Triggers...), spec.Starts...)
	parts = append(parts, more[spec.Name]...)
	for rest := spec.Example; rest != ""; {
		end := strings.IndexByte(rest, '>') + 1
		if end == 0 {
			break
		}
		parts = append(parts, rest[:end], rest[strings.IndexByte(rest[:end], '<'):end])
		rest = rest[end:]
	}
	return parts
}

// more are markers that the examples lack.
var more = map[string][]string{
	"harmony": {"<|end|>", "<|return|>", "<|start|>", "<|channel|>final<|message|>", "<|channel|>analysis<|message|>"},
	"cohere":  {"<|START_THINKING|>", "<|END_THINKING|>", "<|END_TEXT|>", "<|END_RESPONSE|>", "<co>", "</co: 0:[1]>"},
	"kimi_k3": {
		"<|open|>", "<|close|>", "<|sep|>", "<|open|>think<|sep|>", "<|close|>think<|sep|>", "<|open|>argument key=\"k\" type=\"number\"<|sep|>",
		"<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|open|>tools<|sep|>", "<|open|>call tool=\"g\"<|sep|>",
	},
	"muse": {
		"<|eom|>", " to=self<|message|>", " to=user<|message|>", "<|start|>assistant", "<|start|>assistant to=f<|message|>", "</atem:invoke>",
		"<atem:invoke name=\"f\">", "<atem:parameter name=\"a\">",
	},
	"inkling":    {"<|message_model|>f<|content_invoke_tool_json|>"},
	"solar_open": {"<|think|>", "<|content|>", "<|end|>", "<|begin|>assistant"},
}

func TestFragments(t *testing.T) {
	t.Parallel()
	for _, spec := range framing.Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			n := 400
			if testing.Short() {
				n = 40
			}
			sdktest.Fragments(t, spec, sdk.Options{Tools: tools, MaxDepth: 4}, fragments(spec), n)
		})
	}
}

// TestStream checks what comes when: a header when its end does, a name with the first
// certain argument, text as it is written but for what may be a marker.
func TestStream(t *testing.T) {
	t.Parallel()
	sdktest.Steps(t, framing.Harmony(), sdk.Options{}, [][2]string{
		{"<|channel|>analysis<|message", ""},
		{"|>Need ", "reasoning \"Need \"\n"},
		{"a < b <|e", "reasoning \"a < b \"\n"},
		{"nd|><|start|>assistant<|channel|>final<|message|>A", "content \"A\"\n"},
		{"<|start|>user", "content \"<|start|>user\"\n"},
		{"<|end|><|channel|>commentary to=functions.write_file", ""},
		{" <|constrain|>json<|message|>", ""},
		{"{", ""},
		{`"path": `, "call_start 0 \"write_file\"\nargs 0 \"{\\\"path\\\":\"\n"},
		{`"a`, "args 0 \" \\\"a\"\n"},
		{`b", `, "args 0 \"b\\\"\"\n"},
		{`"content": "x"`, "args 0 \", \\\"content\\\": \\\"x\\\"\"\n"},
		{"}", "args 0 \"}\"\ncall_end 0\n"},
		{"<|call|>", ""},
		{"<|start|>assistant to=functions.f<|channel|>commentary json<|message|>", ""},
		{"<|call|>", "call_start 1 \"f\"\nargs 1 \"{}\"\ncall_end 1\n"},
	})
}

// written is a call of write_file in the parser's form, with such a content.
func written(spec sdk.Spec, content string) string {
	return strings.NewReplacer("get_weather", "write_file", "city", "content", "Oslo", content).Replace(spec.Example)
}

// TestLongStringStreams checks for every parser, with tools and without, that a string
// comes as it is written.
func TestLongStringStreams(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("some <b>text</b> <|, ", 24)[:430]
	for _, spec := range framing.Specs() {
		for _, offered := range [][]sdk.Tool{nil, tools} {
			sdktest.LongString(t, spec, sdk.Options{Tools: offered}, written(spec, content), `{"content": "`+content+`"}`, 160)
		}
	}
}

// TestTruncated cuts every golden input at every place. Run holds the events to the
// contract; besides, every call must be one of the whole text, but for the last one of
// a model that ended early, which may lack arguments.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for _, spec := range framing.Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			opts := sdk.Options{Tools: tools}
			for _, c := range sdktest.Cases(t, "testdata/"+spec.Name) {
				whole := sdktest.Calls(sdktest.Run(t, spec, opts, c.Input, sdk.Stop))
				for cut := range sdktest.Truncated(t, spec, opts, c.Input) {
					calls := cut.Calls
					if cut.Reason == sdk.Stop {
						calls = calls[:max(0, len(calls)-1)]
					}
					if !sdktest.Begins(whole, calls) && !sdktest.Begins(calls, whole) {
						t.Fatalf("%s: %q (%d) gives %q, the whole %q", c.Name, cut.Text, cut.Reason, cut.Calls, whole)
					}
				}
			}
		})
	}
}

// TestHostile checks that what is hard to read takes work in proportion, also if it comes
// in small pieces.
func TestHostile(t *testing.T) {
	t.Parallel()
	steps.Run(t, hostile)
}

func hostile(t *testing.T) {
	const size, factor = 2 << 10, 16
	for _, spec := range framing.Specs() {
		long, _, _ := strings.Cut(spec.Example, "Oslo")
		repeated := []string{"<", " ", "\n", "<|", "a", spec.Example, spec.Example[:12], "{", "[", spec.Example + " text "}
		repeated = append(append(repeated, spec.Triggers...), more[spec.Name]...)
		for _, piece := range repeated {
			for _, before := range []string{"", long} {
				t.Run(fmt.Sprintf("%s: %q behind %q", spec.Name, piece, before), func(t *testing.T) {
					work := func(size int) func() {
						input := []byte(before + strings.Repeat(piece, size/len(piece)))
						return func() { sdktest.Drain(t, spec, sdk.Options{}, input, 32, sdk.Stop) }
					}
					steps.Linear(t, factor, work(size), work(size*factor))
				})
			}
		}
	}
}

func FuzzFamily(f *testing.F) {
	all := framing.Specs()
	for i, spec := range all {
		for _, seed := range []string{
			written(spec, "a\\n") + "\n.", spec.Example[:len(spec.Example)-9], spec.Example + spec.Example,
			strings.Join(fragments(spec)[:20], ""), strings.Join(more[spec.Name], "text"),
		} {
			f.Add(byte(i), seed, false)
			f.Add(byte(i), seed[:len(seed)*2/3], true)
		}
	}
	sdktest.Fuzz(f, sdk.Options{Tools: tools, MaxDepth: 4}, all...)
}

func BenchmarkFeed(b *testing.B) {
	line := "a line of <b>text</b> with 'quotes' and more "
	for _, spec := range framing.Specs() {
		for _, size := range []int{1, 16, 256} {
			b.Run(spec.Name+"/"+strconv.Itoa(size)+"KB", func(b *testing.B) {
				sdktest.Benchmark(b, spec, sdk.Options{Tools: tools}, written(spec, strings.Repeat(line, size<<10/len(line))))
			})
		}
	}
}
