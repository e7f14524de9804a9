package headerjson_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/headerjson"
)

func TestFragments(t *testing.T) {
	t.Parallel()
	body := []string{
		`{"a": 1}`, `{}`, `{"a": "`, `"`, `"}`, `{`, `}`, `"{}"`, `null`, "```", "```json\n", "\n", " ", "<", "x", "é", "get_time", "python",
	}
	for _, tt := range []struct {
		spec  sdk.Spec
		marks []string
	}{
		{headerjson.Mistral(), []string{"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[TOOL_CALLS]get_time[ARGS]", "[", "get_time{}"}},
		{headerjson.DeepSeekV3(), []string{
			"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```",
			"<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "<｜",
		}},
		{headerjson.DeepSeekV31(), []string{
			"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}", "<｜tool▁call▁end｜>",
			"<｜tool▁calls▁end｜>", "<｜",
		}},
		{headerjson.KimiK2(), []string{
			"<|tool_calls_section_begin|>", "<|tool_call_begin|>", "functions.f:0", "<|tool_call_argument_begin|>",
			"<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}", "<|tool_call_end|>", "<|tool_calls_section_end|>", "<|",
		}},
		{headerjson.FunctionaryV31(), []string{"<function=", "<function=f>", "</function>", ">", "</"}},
		{headerjson.FunctionaryV32(), []string{
			">>>", ">", "all\n", ">>>get_time\n", ">>>f\n", ">>>get_time\n{}", ">>>python\n", "<|eot_id|>", "<|",
		}},
		{headerjson.FunctionaryV2(), []string{
			"<|from|>assistant\n<|recipient|>", "<|recipient|>", "\n<|content|>", "all\n<|content|>", "<|from|>assistant\n<|recipient|>f\n<|content|>{}",
			"<|stop|>", "</s>", "<|from|>",
		}},
		{headerjson.CWM(), []string{"<tool: f>\n", "</tool>", "\n</tool>", "</", "<|", "<tool: ", ">", "\r\n"}},
	} {
		t.Run(tt.spec.Name, func(t *testing.T) {
			t.Parallel()
			sdktest.Fragments(t, tt.spec, sdk.Options{Tools: tools, MaxDepth: 3}, append(tt.marks, body...), 300)
			sdktest.Fragments(t, tt.spec, sdk.Options{}, append(tt.marks, tt.marks...), 200)
		})
	}
}

// TestStream checks that arguments come as they are written, and their last brace
// only when the call is sure.
func TestStream(t *testing.T) {
	t.Parallel()
	opts := sdk.Options{Tools: tools}
	sdktest.Steps(t, headerjson.KimiK2(), opts, [][2]string{
		{"<|tool_calls_section_begin|><|tool_call_begin|>functions.f:", ""},
		{"0<|tool_call_argument_begin|>", ""},
		{`{"a": `, "call_start 0 \"f\" \"functions.f:0\"\nargs 0 \"{\\\"a\\\":\"\n"},
		{`"he`, `args 0 " \"he"` + "\n"},
		{`llo"`, `args 0 "llo\""` + "\n"},
		{"}", ""},
		{"<|tool_call_end|", ""},
		{">", "args 0 \"}\"\ncall_end 0\n"},
		{"<|tool_calls_section_end|>", "end 145\n"},
	})
	sdktest.Steps(t, headerjson.CWM(), opts, [][2]string{
		{"<tool: bash>\n", ""},
		{"ls", `call_start 0 "bash"` + "\nargs 0 \"{\\\"command\\\": \\\"ls\"\n"},
		{"\n", ""},
		{"-l</to", "args 0 \"\\\\n-l\"\n"},
		{"ol>", ""},
		{"x\n", "args 0 \"</tool>x\"\n"},
		{"</tool>", ""},
		{"\nD", "args 0 \"\\\"}\"\ncall_end 0\nend 34\n"},
	})
	sdktest.Steps(t, headerjson.FunctionaryV32(), opts, [][2]string{
		{"all\nNo", `content "No"` + "\n"},
		{"w >", `content "w "` + "\n"},
		{">>get_time", ""},
		{"\n", ""},
		{"{", ""},
		{"}", "call_start 0 \"get_time\"\nargs 0 \"{}\"\ncall_end 0\n"},
	})
}

// TestLongString checks that every parser passes a long string on while it comes.
func TestLongString(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("some text of a file, ", 21)[:430]
	for _, spec := range headerjson.Specs() {
		if spec.Heuristic { // it does not stream
			continue
		}
		args := `{"path": "a", "content": "` + content + `"}`
		input := strings.NewReplacer("get_weather", "write_file", `{"city": "Oslo"}`, args).Replace(spec.Example)
		sdktest.LongString(t, spec, sdk.Options{Tools: tools}, input, args, 51)
	}
}

func TestCanParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		spec          sdk.Spec
		yes, no, more []string
	}{
		{
			headerjson.Mistral(),
			[]string{"[TOOL_CALLS]f{", "[TOOL_CALLS] f [ARGS]{", "[TOOL_CALLS]f[CALL_ID]x[ARGS]{", "f{"},
			[]string{"[TOOL_CALLS][{", "[TOOL_CALLS] {", "[TOOL_CALLS]a b", "[TOOL_CALLS]f[ARGS]x", "[TOOL_CALLS]f[x", "Hello there", "{", "f[ARGS]x"},
			[]string{"", "[TOOL", "[TOOL_CALLS]", "[TOOL_CALLS]f[", "[TOOL_CALLS]f[ARGS]", "Hello", "f[ARGS]"},
		},
		{
			headerjson.DeepSeekV3(),
			[]string{"<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```", "<｜tool▁calls▁begin｜>function<｜tool▁sep｜>f\n{"},
			[]string{"<｜tool▁call▁begin｜>f<｜tool▁sep｜>{", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>```"},
			[]string{"<｜tool▁call▁begin｜>fun", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n``"},
		},
		{
			headerjson.DeepSeekV31(),
			[]string{"<｜tool▁call▁begin｜>f<｜tool▁sep｜>{", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{", "<｜tool▁calls▁begin｜>f<｜tool▁sep｜>```"},
			[]string{"<｜tool▁call▁begin｜>function<｜tool▁sep｜>f", "<｜tool▁calls▁begin｜> are " + strings.Repeat("special", 18), "<｜tool_calls_begin｜><｜tool_call_begin｜>"},
			[]string{"<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "<｜tool▁calls", "<｜tool_calls_begin｜>", "<｜tool_calls_begin｜> are special"},
		},
		{
			headerjson.KimiK2(),
			[]string{"<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{", "<|tool_call_section_begin|><|tool_call_section_end|>"},
			[]string{
				"<|tool_calls_section_begin|>" + strings.Repeat("text ", 26), "<|tool_calls_section_begin|>of <|im_end|>", "<|tool_call_begin|>a b",
				"<|tool_calls_section_begin|>text <|tool_call_begin|>a b",
			},
			[]string{"<|tool_calls_section_begin|>text", "<|tool_call", "<|tool_calls_section_begin|>\n", "<|tool_call_begin|>functions."},
		},
		{
			headerjson.FunctionaryV31(),
			[]string{"<function=f>{", "<function=f>\n {", "<function=f{"},
			[]string{"<function=f>\n<parameter=", "<function=f></function>", "<function=f> is", "<function=>", "<function=a\nb"},
			[]string{"<function", "<function=f>", "<function=f>\n"},
		},
		{
			headerjson.FunctionaryV32(),
			[]string{">>>all\n", "all\n", "f\n{", ">>>f\n{", ">>>python\n"},
			[]string{">>> x", "all of", "f\nx", ">>>f(x)", "f{", "all {"},
			[]string{">>", "al", "f\n", ">>>"},
		},
		{
			headerjson.FunctionaryV2(),
			[]string{"all\n<|content|>", "f\n<|content|>", "<|recipient|>f<|content|>", "<|from|>assistant\n<|recipient|>f\n<|content|>"},
			[]string{"<|from|>user", "f\nx", "<|recipient|>\n", "Hello there"},
			[]string{"<|", "f\n<|", "<|from|>assistant\n"},
		},
		{
			headerjson.CWM(),
			[]string{"<tool: f>\n", "<tool: f>{", "<tool: f> \nx"},
			[]string{"<tool: f>x", "<tool: f> x", "<tool: a b>\n", "<tool: >", "<tools: "},
			[]string{"<tool:", "<tool: f", "<tool: f>"},
		},
	} {
		for want, heads := range map[sdk.Verdict][]string{sdk.Yes: tt.yes, sdk.No: tt.no, sdk.Maybe: tt.more} {
			for _, head := range heads {
				if got := tt.spec.CanParse([]byte(head)); got != want {
					t.Errorf("CanParse of %s = %d of %q, want %d", tt.spec.Name, got, head, want)
				}
			}
		}
	}
}

// FuzzFamily gives text to one of the parsers.
func FuzzFamily(f *testing.F) {
	specs := headerjson.Specs()
	for i, spec := range specs {
		for _, args := range []string{`{"a": [1, "c\n"]}`, `{'a': None,}`, `"{\"a\": 1}"`, "{}", "{ echo }", `{"a": "b`, "null"} {
			call := strings.Replace(spec.Example, `{"city": "Oslo"}`, args, 1)
			f.Add(uint8(i), call, false)
			f.Add(uint8(i), call+call[:len(call)-3], true)
			f.Add(uint8(i), strings.ReplaceAll(call, " ", "\n")+call, false)
		}
		f.Add(uint8(i), `get_time{} get_time{"a": 1}`, false)
		f.Add(uint8(i), "all\n<|content|>a >>> b\n<|from|>assistant\n<|recipient|>", false)
		f.Add(uint8(i), "all\na >>>get_time\n{}>>>python\nx = 1>>>all\nb", false)
	}
	sdktest.Fuzz(f, sdk.Options{Tools: tools}, specs...)
}

func BenchmarkFeed(b *testing.B) {
	line := `a line of text with \"quotes\" and a newline\n`
	for _, spec := range []sdk.Spec{headerjson.KimiK2(), headerjson.FunctionaryV32(), headerjson.CWM()} {
		for _, size := range []int{1, 16, 256} {
			text := strings.Replace(spec.Example, "Oslo", strings.Repeat(line, size<<10/len(line)), 1)
			benchmark(b, spec, spec.Name+"/"+strconv.Itoa(size)+"KB", text)
		}
	}
	benchmark(b, headerjson.CWM(), "cwm/text/16KB", "<tool: f>\n"+strings.Repeat("ls -la < a | grep 'b' && cd \"c\"\n", 512)+"</tool>")
	// Text that begins like markup again and again must not cost more than other text.
	benchmark(b, headerjson.FunctionaryV32(), "functionary_v32/markers/16KB", "all\n"+strings.Repeat(">>>"+strings.Repeat("a", 250), 64))
	benchmark(b, headerjson.CWM(), "cwm/ends/16KB", "<tool: f>\na"+strings.Repeat("</tool>"+strings.Repeat(" ", 60)+"x", 240))
	benchmark(b, headerjson.KimiK2(), "kimi_k2/space/16KB", "<|tool_calls_section_begin|><|tool_call_begin|>"+strings.Repeat("\n", 16<<10))
}

func benchmark(b *testing.B, spec sdk.Spec, name, text string) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		sdktest.Benchmark(b, spec, sdk.Options{Tools: tools}, text)
	})
}
