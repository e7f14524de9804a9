package framing_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

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
	for _, spec := range framing.Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			sdktest.Golden(t, spec, "testdata/"+spec.Name)
		})
	}
}

// TestExample checks that the call in the manifest is one, wherever it is cut.
func TestExample(t *testing.T) {
	t.Parallel()
	for _, spec := range framing.Specs() {
		if spec.CanParse != nil && spec.CanParse([]byte(spec.Example)) != sdk.Yes {
			t.Errorf("%s: CanParse does not say yes to its example", spec.Name)
		}
		for _, s := range append(spec.Formats, spec.Example) {
			if len(s) == 0 || len(s) > 256 || strings.Contains(s, "\n") {
				t.Errorf("%s: %q has %d bytes", spec.Name, s, len(s))
			}
		}
		got := calls(sdktest.Stable(t, spec, sdk.Options{Tools: tools}, spec.Example, sdk.Stop))
		if want := `get_weather{"city": "Oslo"}`; len(got) != 1 || got[0] != want {
			t.Errorf("%s: the example's calls are %q", spec.Name, got)
		}
	}
}

// TestCanParse holds every parser to the heads in testdata/heads.json, at every cut of
// which an answer may not change.
func TestCanParse(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/heads.json")
	if err != nil {
		t.Fatal(err)
	}
	var heads map[string]map[string]string
	if err := json.Unmarshal(data, &heads); err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]sdk.Verdict{"no": sdk.No, "yes": sdk.Yes, "maybe": sdk.Maybe}
	for _, spec := range framing.Specs() {
		if spec.CanParse == nil {
			continue
		}
		if len(heads[spec.Name]) == 0 {
			t.Errorf("no heads of %s", spec.Name)
		}
		for head, want := range heads[spec.Name] {
			if got := spec.CanParse([]byte(head)); got != verdicts[want] {
				t.Errorf("%s: CanParse(%q) = %d, want %s", spec.Name, head, got, want)
			}
			sdktest.Stable(t, spec, sdk.Options{}, head, sdk.Stop)
		}
	}
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
	p := open(t, framing.Harmony(), nil)
	var out sdk.Out
	for _, tt := range []struct{ text, want string }{
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
	} {
		p.Feed([]byte(tt.text), &out)
		if got := sdktest.Format(taken(t, &out)); got != tt.want {
			t.Errorf("after %q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func open(tb testing.TB, spec sdk.Spec, tools []sdk.Tool) sdk.Parser {
	tb.Helper()
	p, err := spec.New(sdk.Options{Tools: tools})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func taken(tb testing.TB, out *sdk.Out) []sdk.Event {
	tb.Helper()
	events, err := abi.DecodeEvents(nil, out.Take())
	if err != nil {
		tb.Fatal(err)
	}
	return events
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
			p := open(t, spec, offered)
			var out sdk.Out
			var args strings.Builder
			n := 0
			take := func() {
				for _, e := range taken(t, &out) {
					if e.Kind == abi.Args {
						args.WriteString(e.Text)
						n++
					}
				}
			}
			for _, c := range []byte(written(spec, content)) {
				p.Feed([]byte{c}, &out)
				take()
			}
			p.Finish(sdk.Stop, &out)
			take()
			if n < 200 || args.String() != `{"content": "`+content+`"}` {
				t.Errorf("%s: %d pieces of %s", spec.Name, n, args.String())
			}
		}
	}
}

// inputs are the inputs of the golden cases of a parser.
func inputs(t *testing.T, name string) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/" + name + "/*.case")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
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
				t.Fatal(err)
			}
			input.WriteString(piece)
		}
		all = append(all, input.String())
	}
	return all
}

// calls are the calls that ended, each as its name and arguments.
func calls(events []sdk.Event) []string {
	var all []string
	var call string
	for _, e := range events {
		switch e.Kind {
		case abi.CallStart:
			call = e.Name
		case abi.Args:
			call += e.Text
		case abi.CallEnd:
			all = append(all, call)
		}
	}
	return all
}

// TestTruncated cuts every golden input at every place. Run holds the events to the
// contract; besides, every call must be one of the whole text, but for the last one of
// a model that ended early, which may lack arguments.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for _, spec := range framing.Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			for _, input := range inputs(t, spec.Name) {
				whole := calls(sdktest.Run(t, spec, sdk.Options{Tools: tools}, input, sdk.Stop))
				for n := range len(input) {
					cut := calls(sdktest.Run(t, spec, sdk.Options{Tools: tools}, input[:n], sdk.Length))
					stopped := calls(sdktest.Run(t, spec, sdk.Options{Tools: tools}, input[:n], sdk.Stop))
					checkCalls(t, input[:n], cut, whole)
					checkCalls(t, input[:n], stopped[:max(0, len(stopped)-1)], whole)
				}
			}
		})
	}
}

func checkCalls(t *testing.T, input string, got, whole []string) {
	t.Helper()
	for i := range got {
		if i < len(whole) && got[i] != whole[i] {
			t.Fatalf("%q: call %d is %s of %s", input, i, got[i], whole)
		}
	}
}

// TestHostile checks that a megabyte of what is hard to read takes time in proportion,
// also if it comes in small pieces.
func TestHostile(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	if testing.Short() {
		t.Skip("slow")
	}
	for _, spec := range framing.Specs() {
		long, _, _ := strings.Cut(spec.Example, "Oslo")
		repeated := []string{"<", " ", "\n", "<|", "a", spec.Example, spec.Example[:12], "{", "[", spec.Example + " text "}
		repeated = append(append(repeated, spec.Triggers...), more[spec.Name]...)
		for _, piece := range repeated {
			for _, before := range []string{"", long} {
				input := []byte(before + strings.Repeat(piece, size/len(piece)))
				p := open(t, spec, nil)
				var out sdk.Out
				start := time.Now()
				for rest := input; len(rest) > 0 && !out.Ended(); rest = rest[min(len(rest), 32):] {
					p.Feed(rest[:min(len(rest), 32)], &out)
					out.Take()
				}
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("%s: a megabyte of %q behind %q takes %s", spec.Name, piece, before, took)
				} else if testing.Verbose() && took > time.Second/2 {
					t.Logf("%s: %q behind %q takes %s", spec.Name, piece, before, took)
				}
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
	f.Fuzz(func(t *testing.T, which byte, input string, length bool) {
		if len(input) > 400 {
			t.Skip("longer than the cuts are meant for")
		}
		reason := sdk.Stop
		if length {
			reason = sdk.Length
		}
		sdktest.Stable(t, all[int(which)%len(all)], sdk.Options{Tools: tools, MaxDepth: 4}, input, reason)
	})
}

func BenchmarkFeed(b *testing.B) {
	line := "a line of <b>text</b> with 'quotes' and more "
	for _, spec := range framing.Specs() {
		for _, size := range []int{1, 16, 256} {
			b.Run(spec.Name+"/"+strconv.Itoa(size)+"KB", func(b *testing.B) {
				text := []byte(written(spec, strings.Repeat(line, size<<10/len(line))))
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					p := open(b, spec, tools)
					var out sdk.Out
					for rest := text; len(rest) > 0; rest = rest[min(len(rest), 64):] {
						p.Feed(rest[:min(len(rest), 64)], &out)
						out.Take()
					}
					p.Finish(sdk.Stop, &out)
				}
			})
		}
	}
}
