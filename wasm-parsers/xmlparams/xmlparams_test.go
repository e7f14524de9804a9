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

// tools are a function with a string, which streams, and an integer, which waits.
var tools = []sdk.Tool{{Name: "f", Params: []sdk.Param{{Name: "s", Types: abi.String}, {Name: "n", Types: abi.Integer}}}}

func TestGolden(t *testing.T) {
	t.Parallel()
	sdktest.Golden(t, xmlparams.Qwen3Coder(), "testdata")
}

func TestFragments(t *testing.T) {
	t.Parallel()
	sdktest.Fragments(t, xmlparams.Qwen3Coder(), sdk.Options{Tools: tools}, []string{
		"<tool_call>", "</tool_call>", "<function=f>", "<function=g>", "</function>", "</function>",
		"<parameter=s>", "<parameter=n>", "<parameter=x>", "</parameter>", "</parameter>", "\n", "\n", "\n", " ",
		"1", "{'a':", "<", "</", "text", "é", "<function=f>\n<parameter=s>\n", "\n</parameter>\n</function>\n</tool_call>",
	}, 300)
}

func TestCanParse(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]sdk.Verdict{
		"": sdk.Maybe, "<": sdk.Maybe, "<tool_call>": sdk.Maybe, "<tool_call>\n<func": sdk.Maybe,
		"<tool_call>\n<function=": sdk.Yes, "<tool_call>\n{": sdk.No, "<tool_calls>": sdk.No,
		"<function=": sdk.Maybe, "<function=f": sdk.Maybe, "<function=f>": sdk.Maybe, "<function=f>\n<": sdk.Maybe,
		"<function=f>\n<parameter=": sdk.Yes, "<function=f></function>": sdk.Yes, "<function=f>{": sdk.No,
		"<function=>": sdk.No, "<function=a\n": sdk.No, "<function=f> is": sdk.No,
		"<function=" + strings.Repeat("n", 257): sdk.No,
	} {
		if got := xmlparams.Qwen3Coder().CanParse([]byte(head)); got != want {
			t.Errorf("CanParse(%q) = %d, want %d", head, got, want)
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
		events, err := abi.DecodeEvents(nil, out.Take())
		if err != nil {
			t.Fatal(err)
		}
		if got := sdktest.Format(events); got != tt.want {
			t.Errorf("after %q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func FuzzQwen3Coder(f *testing.F) {
	for _, seed := range []string{
		"<tool_call>\n<function=f>\n<parameter=s>\na\n</parameter>\n<parameter=n>\n5.0\n</parameter>\n</function>\n</tool_call>\n",
		"<function=f>\n<parameter=s>\n<parameter=x>1</parameter>\n</parameter>\n</function>\n</tool_call>",
		"<tool_call><function=g><parameter=x>{'a': None}\n<parameter=y></parameter></function><function=f></tool_call>",
		"<tool_call>\n<function=f>\n<parameter=s>\n</parameter>\n</function>\n</tool_call>\n</parameter>\n</function><tool_call>",
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
		sdktest.Stable(t, xmlparams.Qwen3Coder(), sdk.Options{Tools: tools}, input, reason)
	})
}

func BenchmarkFeed(b *testing.B) {
	for _, size := range []int{1, 16, 256} {
		b.Run("qwen3_coder/"+strconv.Itoa(size)+"KB", func(b *testing.B) {
			line := "a line of <b>text</b> with \"quotes\" and a newline\n"
			text := []byte("<tool_call>\n<function=f>\n<parameter=s>\n" + strings.Repeat(line, size<<10/len(line)) +
				"</parameter>\n</function>\n</tool_call>\n.")
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				p, err := xmlparams.Qwen3Coder().New(sdk.Options{Tools: tools})
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
