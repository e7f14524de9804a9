package xmlparams_test

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
	"github.com/callgate/callgate/wasm-parsers/xmlparams"
)

// tools are a function with a string, which streams, an integer, which waits, and
// one of each other kind.
var tools = []sdk.Tool{
	{Name: "f", Params: []sdk.Param{
		{Name: "s", Types: abi.String}, {Name: "n", Types: abi.Integer}, {Name: "o", Types: abi.Object},
		{Name: "l", Types: abi.Array}, {Name: "m", Types: abi.String | abi.Null}, {Name: "u"},
	}},
	{Name: "get_weather", Params: []sdk.Param{{Name: "city", Types: abi.String}}},
	{Name: "write_file", Params: []sdk.Param{{Name: "path", Types: abi.String}, {Name: "content", Types: abi.String}}},
}

// specs are all parsers of the family.
func specs() []sdk.Spec { return append(xmlparams.Specs(), xmlparams.ATEM()) }

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, spec := range specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			sdktest.Golden(t, spec, "testdata/"+spec.Name)
		})
	}
}

// TestExample checks that the call in the manifest is one, wherever it is cut.
func TestExample(t *testing.T) {
	t.Parallel()
	for _, spec := range specs() {
		for _, o := range []sdk.Options{{}, {Tools: tools}} {
			if got := spec.CanParse([]byte(spec.Example[:min(len(spec.Example), abi.MaxHead)])); got != sdk.Yes {
				t.Errorf("%s: CanParse of the example = %d", spec.Name, got)
			}
			var name, args string
			ends := 0
			for _, e := range sdktest.Stable(t, spec, o, spec.Example+".", sdk.Stop) {
				switch e.Kind {
				case abi.CallStart:
					name += e.Name
				case abi.Args:
					args += e.Text
				case abi.End:
					ends = e.To
				}
			}
			if name != "get_weather" || args != `{"city": "Oslo"}` || ends != len(spec.Example) {
				t.Errorf("%s: %q is a call of %s with %s that ends at %d", spec.Name, spec.Example, name, args, ends)
			}
		}
	}
}

// TestManifest checks the limits that a gateway sets.
func TestManifest(t *testing.T) {
	t.Parallel()
	for _, spec := range specs() {
		for _, s := range append(spec.Formats, spec.Example) {
			if len(s) == 0 || len(s) > 256 {
				t.Errorf("%s: %q has %d bytes", spec.Name, s, len(s))
			}
		}
	}
}

// fragments are what inputs of a parser are put together from: its example's tags
// and text between them.
func fragments(spec sdk.Spec) []string {
	example := strings.NewReplacer("get_weather", "f", "city", "s", "Oslo", "").Replace(spec.Example)
	parts := []string{
		"\n", "\n", "\n", " ", "1", "{'a':", `{"n": 1}`, "{", "<", "</", "text", "é", "Ċ", "\xc4", "]]>", "<![CDATA[", "/>",
		example, strings.ReplaceAll(spec.Example, "Oslo", "\n"),
	}
	if mark := "]<]minimax[>["; strings.HasPrefix(example, mark) {
		for _, t := range []string{
			"<n>", "</n>", "<o>", "</o>", "<l>", "</l>", "<item>", "</item>", "<s>", "</s>", "<m>", "</m>", "<u>", "</u>", "",
		} {
			parts = append(parts, mark+t)
		}
	}
	for rest := example; rest != ""; {
		end := strings.IndexAny(rest, ">]") + 1
		for range 2 {
			parts = append(parts, rest[:end])
		}
		for _, name := range []string{"n", "o", "l", "m", "u", "arguments"} {
			if other := strings.ReplaceAll(rest[:end], `"s"`, `"`+name+`"`); other != rest[:end] {
				parts = append(parts, other, strings.ReplaceAll(other, "true", "false"), strings.ReplaceAll(other, "raw", "dict"))
			}
		}
		rest = rest[end:]
	}
	return parts
}

func TestFragments(t *testing.T) {
	t.Parallel()
	for _, spec := range specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			n := 300
			if testing.Short() {
				n = 30
			}
			sdktest.Fragments(t, spec, sdk.Options{Tools: tools, MaxDepth: 4}, fragments(spec), n)
		})
	}
	sdktest.Fragments(t, xmlparams.Qwen3Coder(), sdk.Options{Tools: tools}, []string{
		"<tool_call>", "</tool_call>", "<function=f>", "<function=g>", "</function>", "</function>",
		"<parameter=s>", "<parameter=n>", "<parameter=x>", "</parameter>", "</parameter>", "\n", "\n", "\n", " ",
		"1", "{'a':", "<", "</", "text", "é", "<function=f>\n<parameter=s>\n", "\n</parameter>\n</function>\n</tool_call>",
	}, 300)
}

func TestCanParse(t *testing.T) {
	t.Parallel()
	byName := map[string]sdk.Spec{}
	for _, spec := range specs() {
		byName[spec.Name] = spec
	}
	data, err := os.ReadFile("testdata/heads.json")
	if err != nil {
		t.Fatal(err)
	}
	var heads map[string]map[string]string
	if err := json.Unmarshal(data, &heads); err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]sdk.Verdict{"no": sdk.No, "yes": sdk.Yes, "maybe": sdk.Maybe}
	for name, spec := range byName {
		if len(heads[name]) == 0 {
			t.Errorf("no heads of %s", name)
		}
		for head, word := range heads[name] {
			if got := spec.CanParse([]byte(head)); got != verdicts[word] {
				t.Errorf("%s: CanParse(%q) = %d, want %s", name, head, got, word)
			}
		}
	}
	for _, n := range []int{256, 257} {
		head := "<function=" + strings.Repeat("n", n) + "><parameter="
		if got := byName["qwen3_coder"].CanParse([]byte(head)) == sdk.Yes; got != (n == 256) {
			t.Errorf("a name of %d bytes is one: %t", n, got)
		}
	}
}

// TestStream checks that a string is passed on as it comes, but for a newline and a
// tag that may end it, and that an integer waits for its end.
func TestStream(t *testing.T) {
	t.Parallel()
	p, err := xmlparams.Qwen3Coder().New(sdk.Options{Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	var out sdk.Out
	for _, tt := range []struct{ text, want string }{
		{"<tool_call>\n<function=f>\n", ""},
		{"<parameter=s>", "call_start 0 \"f\"\nargs 0 \"{\"\nargs 0 \"\\\"s\\\": \"\nargs 0 \"\\\"\"\n"},
		{"\nab\"", `args 0 "ab\\\""` + "\n"},
		{"c\n", `args 0 "c"` + "\n"},
		{"d</par", "args 0 \"\\\\n\"\nargs 0 \"d\"\n"},
		{"t>\n", "args 0 \"<\"\nargs 0 \"/part>\"\n"},
		{"</parameter>\n<para", ""},
		{"meter=n>", "args 0 \"\\\"\"\nargs 0 \", \\\"n\\\": \"\n"},
		{"\n12", ""},
		{"\n</parameter>\n</function>\n", ""},
		{"</tool_call>", ""},
		{"\nx", "args 0 \"12\"\nargs 0 \"}\"\ncall_end 0\nend 120\n"},
	} {
		p.Feed([]byte(tt.text), &out)
		if got := sdktest.Format(taken(t, &out)); got != tt.want {
			t.Errorf("after %q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func taken(t *testing.T, out *sdk.Out) []sdk.Event {
	t.Helper()
	events, err := abi.DecodeEvents(nil, out.Take())
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// written is a call of write_file in the parser's form, with such a content.
func written(spec sdk.Spec, content string) string {
	return strings.NewReplacer("get_weather", "write_file", "city", "content", "Oslo", content).Replace(spec.Example)
}

// TestLongStringStreams checks for every parser, with tools and without, that a
// string comes in many pieces.
func TestLongStringStreams(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("some <b>text</b>, ", 24)[:430]
	for _, spec := range specs() {
		for _, o := range []sdk.Options{{}, {Tools: tools}} {
			p, err := spec.New(o)
			if err != nil {
				t.Fatal(err)
			}
			var out sdk.Out
			var args strings.Builder
			n := 0
			for _, c := range []byte(written(spec, content) + ".") {
				p.Feed([]byte{c}, &out)
				for _, e := range taken(t, &out) {
					if e.Kind == abi.Args {
						args.WriteString(e.Text)
						n++
					}
				}
				if out.Ended() {
					break
				}
			}
			if n < 300 || args.String() != `{"content": "`+content+`"}` {
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
// contract; besides, the calls in front of the one that was cut must stay.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for _, spec := range specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			for _, input := range inputs(t, spec.Name) {
				if len(input) > 700 || testing.Short() && len(input) > 200 {
					continue
				}
				o := sdk.Options{Tools: tools}
				whole := calls(sdktest.Run(t, spec, o, input, sdk.Stop))
				for n := range len(input) {
					for _, reason := range []sdk.Reason{sdk.Stop, sdk.Length} {
						got := calls(sdktest.Run(t, spec, o, input[:n], reason))
						for i := range len(got) - 1 {
							if i >= len(whole) || got[i] != whole[i] {
								t.Fatalf("%s of %q: call %d is %s of %s", spec.Name, input[:n], i, got[i], whole)
							}
						}
					}
				}
			}
		})
	}
}

func FuzzFamily(f *testing.F) {
	all := specs()
	for i, spec := range all {
		for _, seed := range []string{
			written(spec, "a\n") + "\n.", spec.Example[:len(spec.Example)-9], written(spec, "\n"+spec.Example+"\n"),
			strings.Join(fragments(spec), ""),
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
	line := "a line of <b>text</b> with \"quotes\" and a newline\n"
	for _, spec := range specs() {
		for _, size := range []int{1, 16, 256} {
			if size > 1 && spec.Name != "qwen3_coder" && spec.Name != "minimax_m3" {
				continue
			}
			b.Run(spec.Name+"/"+strconv.Itoa(size)+"KB", func(b *testing.B) {
				text := []byte(written(spec, strings.Repeat(line, size<<10/len(line))) + "\n.")
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					p, err := spec.New(sdk.Options{Tools: tools})
					if err != nil {
						b.Fatal(err)
					}
					var out sdk.Out
					for rest := text; len(rest) > 0 && !out.Ended(); rest = rest[min(len(rest), 64):] {
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
