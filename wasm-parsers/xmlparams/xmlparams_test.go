package xmlparams_test

import (
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
	sdktest.GoldenAll(t, "testdata", specs()...)
}

// TestExample checks that the call in the manifest is one, also with text behind it.
func TestExample(t *testing.T) {
	t.Parallel()
	ids := map[string]string{"cohere_xml": "0"}
	for _, spec := range specs() {
		call := sdktest.Call{Name: "get_weather", ID: ids[spec.Name], Args: `{"city": "Oslo"}`}
		for _, o := range []sdk.Options{{}, {Tools: tools}} {
			want := sdktest.Format(sdktest.Example(t, spec, o, call))
			if got := sdktest.Format(sdktest.Stable(t, spec, o, spec.Example+".", sdk.Stop)); got != want {
				t.Errorf("%s: the example and a dot give\n%s\nwithout the dot\n%s", spec.Name, got, want)
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
	sdktest.Heads(t, "testdata/heads.json", specs()...)
	for _, n := range []int{256, 257} {
		head := "<function=" + strings.Repeat("n", n) + "><parameter="
		if got := xmlparams.Qwen3Coder().CanParse([]byte(head)) == sdk.Yes; got != (n == 256) {
			t.Errorf("a name of %d bytes is one: %t", n, got)
		}
	}
}

// TestStream checks that a string is passed on as it comes, but for a newline and a
// tag that may end it, and that an integer waits for its end.
func TestStream(t *testing.T) {
	t.Parallel()
	sdktest.Steps(t, xmlparams.Qwen3Coder(), sdk.Options{Tools: tools}, [][2]string{
		{"<tool_call>\n<function=f>\n", ""},
		{"<parameter=s>", "call_start 0 \"f\"\nargs 0 \"{\\\"s\\\": \\\"\"\n"},
		{"\nab\"", `args 0 "ab\\\""` + "\n"},
		{"c\n", `args 0 "c"` + "\n"},
		{"d</par", "args 0 \"\\\\nd\"\n"},
		{"t>\n", "args 0 \"</part>\"\n"},
		{"</parameter>\n<para", ""},
		{"meter=n>", "args 0 \"\\\", \\\"n\\\": \"\n"},
		{"\n12", ""},
		{"\n</parameter>\n</function>\n", ""},
		{"</tool_call>", ""},
		{"\nx", "args 0 \"12}\"\ncall_end 0\nend 120\n"},
	})
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
			sdktest.LongString(t, spec, o, written(spec, content)+".", `{"content": "`+content+`"}`, 300)
		}
	}
}

// TestTruncated cuts every golden input at every place. Run holds the events to the
// contract; besides, the calls in front of the one that was cut must stay.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for _, spec := range specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			opts := sdk.Options{Tools: tools}
			for _, c := range sdktest.Cases(t, "testdata/"+spec.Name) {
				if len(c.Input) > 700 || testing.Short() && len(c.Input) > 200 {
					continue
				}
				whole := sdktest.Calls(sdktest.Run(t, spec, opts, c.Input, sdk.Stop))
				for cut := range sdktest.Truncated(t, spec, opts, c.Input) {
					if !sdktest.Begins(whole, cut.Calls[:max(0, len(cut.Calls)-1)]) {
						t.Fatalf("%s: %q (%d) gives %q, the whole %q", c.Name, cut.Text, cut.Reason, cut.Calls, whole)
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
	sdktest.Fuzz(f, sdk.Options{Tools: tools, MaxDepth: 4}, all...)
}

func BenchmarkFeed(b *testing.B) {
	line := "a line of <b>text</b> with \"quotes\" and a newline\n"
	for _, spec := range specs() {
		for _, size := range []int{1, 16, 256} {
			if size > 1 && spec.Name != "qwen3_coder" && spec.Name != "minimax_m3" {
				continue
			}
			b.Run(spec.Name+"/"+strconv.Itoa(size)+"KB", func(b *testing.B) {
				if !sdktest.Benchmark(b, spec, sdk.Options{Tools: tools}, written(spec, strings.Repeat(line, size<<10/len(line)))+"\n.") {
					b.Fatal("the region did not end")
				}
			})
		}
	}
}
