package heuristic_test

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/heuristic"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	sdktest.GoldenAll(t, "testdata", heuristic.Specs()...)
}

// offered are tools with what golden files cannot say: required parameters.
func offered() sdk.Options {
	return sdk.Options{Tools: []sdk.Tool{
		{Name: "get_time"},
		{Name: "get_weather", Params: []sdk.Param{{Name: "city", Types: abi.String, Required: true}, {Name: "days", Types: abi.Integer}}},
		{Name: "write_file", Params: []sdk.Param{{Name: "path", Types: abi.String, Required: true}, {Name: "content", Types: abi.String, Required: true}}},
	}}
}

// TestNotCalls checks that no text of a golden case that is not a call becomes one
// in any parser of the family, with tools and without.
func TestNotCalls(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, family := range heuristic.Specs() {
		for _, c := range sdktest.Cases(t, "testdata/"+family.Name) {
			if strings.HasPrefix(c.Name, "not_") {
				tried++
				checkNoCall(t, family.Name+"/"+c.Name, c.Input)
			}
		}
	}
	if tried < 60 {
		t.Errorf("%d cases, want 60", tried)
	}
}

func checkNoCall(t *testing.T, name, input string) {
	t.Helper()
	for _, spec := range heuristic.Specs() {
		if spec.CanParse([]byte(input[:min(len(input), abi.MaxHead)])) != sdk.Yes {
			continue
		}
		for _, reason := range []sdk.Reason{sdk.Stop, sdk.Length} {
			if calls := sdktest.Calls(sdktest.Run(t, spec, offered(), input, reason)); len(calls) > 0 {
				t.Errorf("%s takes %s for %q", spec.Name, name, calls)
			}
		}
	}
}

func TestExample(t *testing.T) {
	t.Parallel()
	for _, spec := range heuristic.Specs() {
		for _, opts := range []sdk.Options{{}, offered()} {
			sdktest.Example(t, spec, opts, sdktest.Call{Name: "get_weather", Args: `{"city": "Oslo"}`})
		}
	}
}

// TestMissing checks which calls may come without arguments.
func TestMissing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		opts  sdk.Options
		calls int
	}{
		{`{"type": "function", "name": "get_time"}`, offered(), 1},
		{`{"type": "function", "function": {"name": "get_time"}}`, offered(), 1},
		{`{"type": "function", "function": "get_time"}`, offered(), 1},
		{`{"tool_call": {"name": "get_time"}}`, offered(), 1},
		{`[TOOL_REQUEST]{"name": "get_time"}[END_TOOL_REQUEST]`, offered(), 1},
		{`{"name": "get_time"}`, offered(), 0},
		{`[{"name": "get_time"}]`, offered(), 0},
		{`{"type": "function", "name": "get_weather"}`, offered(), 0},
		{`[TOOL_REQUEST]{"name": "get_weather"}[END_TOOL_REQUEST]`, offered(), 0},
		{`{"type": "function", "name": "get_time"}`, sdk.Options{}, 0},
		{`[TOOL_REQUEST]{"name": "get_time"}[END_TOOL_REQUEST]`, sdk.Options{}, 1},
		{`{"name": "get_time", "arguments": null}`, sdk.Options{}, 1},
		{`{"name": "get_time", "arguments": ""}`, offered(), 1},
		{`{"get_time": {}}`, offered(), 1},
		{`{"get_time": {}}`, sdk.Options{}, 0},
		{`{"get_time": {"time": "12:00"}}`, offered(), 0},
		{`{"get_weather": {"city": "Oslo"}}`, offered(), 1},
		{`{"get_weather": {"city": "Oslo", "temperature": 12}}`, offered(), 0},
	} {
		if got := sdktest.Calls(sdktest.Stable(t, heuristic.Generic(), tt.opts, tt.text, sdk.Stop)); len(got) != tt.calls {
			t.Errorf("%s with %d tools: %d calls, want %d", tt.text, len(tt.opts.Tools), len(got), tt.calls)
		}
	}
}

// TestManyCalls counts the bytes that are allocated while a megabyte of calls is read, which are held
// to its end: they must not be copied again and again. It does not run beside others.
func TestManyCalls(t *testing.T) { //nolint:paralleltest // it reads the counters of the process
	for _, spec := range []sdk.Spec{heuristic.Generic(), heuristic.Llama3JSONBare()} {
		text := []byte(strings.Repeat(spec.Example, 1_000_000/len(spec.Example)))
		p, err := spec.New(offered())
		if err != nil {
			t.Fatal(err)
		}
		var out sdk.Out
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for rest := text; len(rest) > 0; rest = rest[min(len(rest), 4096):] {
			p.Feed(rest[:min(len(rest), 4096)], &out)
		}
		runtime.ReadMemStats(&after)
		if got := int(after.TotalAlloc - before.TotalAlloc); got > 5*len(text) {
			t.Errorf("%s: %d bytes allocated to read %d bytes of calls, want at most 5 for each", spec.Name, got, len(text))
		}
		p.Finish(sdk.Stop, &out)
		if events := out.Take(); len(events) < len(text)/2 {
			t.Errorf("%s: got %d bytes of events, want all calls", spec.Name, len(events))
		}
	}
}

// TestDeclinesEarly checks after how much text an answer is let go.
func TestDeclinesEarly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ read, rest string }{
		{`{"answer":`, ` "Oslo"}`},
		{`{"name": "Ada"`, `, "age": 36}`},
		{`{"id": 7,`, ` "name": "get_weather"}`},
		{`{"type": "object"`, `, "properties": {}}`},
		{`{"name": "get_weather", "description":`, ` "Weather"}`},
		{`{"name": "get_weather", "parameters": {"type": "object"`, `, "properties": {}}}`},
		{`{"name": "get_weather", "parameters": {"properties":`, ` {}}}`},
		{`{"name": "get_weather", "parameters": {"city": {"type":`, ` "string"}}}`},
		{`{"name": "get_weather", "arguments": {"town": "Oslo"}`, `}`},
		{`{"name": "get_weather", "arguments": 3,`, `}`},
		{`{"name": "get_weather", "arguments": [`, `]}`},
		{`{"name": "get_weather", "arguments": {"city": "Oslo"}, "result":`, ` 3}`},
		{`{"name": "get_weather", "arguments": {"city": "Oslo"}} is`, ` a call`},
		{`[1,`, ` 2]`},
		{`[{"city":`, ` "Oslo"}]`},
		{`[{"name": "get_time"}`, `]`},
		{`[{"name": "get_time", "arguments": {}}, "`, `and the text goes on to its end`},
		{`[{"name": "get_time", "arguments": {}}, '`, `<tool_call>`},
		{`[{"name": "get_time", "arguments": {}},1`, `2`},
		{`{"tool_calls": [{"name": "get_time", "arguments": {}}, "`, `and`},
		{`[link]`, `(https://example.com)`},
		{"```json\n{\"city\":", " 1}\n```"},
	} {
		p, err := heuristic.Generic().New(offered())
		if err != nil {
			t.Fatal(err)
		}
		var out sdk.Out
		for i, c := range []byte(tt.read + tt.rest) {
			p.Feed([]byte{c}, &out)
			if out.Ended() {
				if i+1 > len(tt.read) {
					t.Errorf("%s is let go after %d bytes, want %d", tt.read+tt.rest, i+1, len(tt.read))
				}
				break
			}
		}
		if !out.Ended() {
			t.Errorf("%s is never let go", tt.read+tt.rest)
		}
	}
}

// TestTruncated cuts every golden text at every place.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for _, spec := range heuristic.Specs() {
		for _, c := range sdktest.Cases(t, "testdata/"+spec.Name) {
			before := map[sdk.Reason]int{}
			for cut := range sdktest.Truncated(t, spec, sdk.Options{}, c.Input[:min(len(c.Input), 1500)]) {
				calls, less := len(cut.Calls), before[cut.Reason]
				before[cut.Reason] = calls
				if calls < less && cut.Reason == sdk.Length && spec.Streams {
					t.Errorf("%s: %d calls of %q, %d of less", spec.Name, calls, cut.Text, less)
				}
			}
		}
	}
}

func TestFragments(t *testing.T) {
	t.Parallel()
	fragments := []string{
		`{`, `}`, `[`, `]`, `,`, `;`, ` `, "\n", `"name": "get_weather"`, `"name": `, `"get_time"`, `"arguments": {"city": "Oslo"}`,
		`"arguments": `, `{"city": "Oslo"}`, `{}`, `null`, `""`, `"{\"city\": \"Oslo\"}"`, `"type": "function"`, `"function": {`,
		`{"name": "get_time", "parameters": {}}`, `{"tool": "get_weather", "args": {"city": "A", "days": 2}}`, `{"get_time": {}}`,
		`{"tool_calls": [`, `{"tool_call": `, "```", "```json\n", "\n```", "```\n", `[TOOL_REQUEST]`, `[END_TOOL_REQUEST]`, `[TOOL_CALL]`,
		`[/TOOL_CALL]`, `[Calling tool: get_weather(`, `)]`, `[get_weather]`, `{tool => "get_weather", args => {`, `--city "Oslo"`, `--days 3 `,
		`}}`, `<|python_tag|>`, `<|eot_id|>`, `</s>`, `<`, "Action:\n```json\n[", `"tool_name": "directly-answer"`, `x`, `'`, `é`,
	}
	for _, spec := range heuristic.Specs() {
		for _, opts := range []sdk.Options{{MaxDepth: 5}, offered()} {
			starts := slices.Concat(fragments, spec.Triggers, spec.Starts)
			sdktest.Fragments(t, spec, opts, starts, 150)
			for _, start := range slices.Concat(spec.Triggers, spec.Starts) {
				for _, f := range []string{spec.Example, spec.Example + "\n", start} {
					sdktest.Fragments(t, spec, opts, []string{f, spec.Example, start, "\n", " x", "; ", "}", "```", "<|eot_id|>"}, 20)
				}
			}
		}
	}
}

// TestStreams checks that a long argument comes in many pieces where the form is
// behind a token.
func TestStreams(t *testing.T) {
	t.Parallel()
	args := `{"path": "a.txt", "content": "` + strings.Repeat("0123456789", 43) + `"}`
	for _, spec := range heuristic.Specs() {
		if spec.Streams {
			sdktest.LongString(t, spec, offered(), `<|python_tag|>{"name": "write_file", "parameters": `+args+`}`, args, 50)
		}
	}
}

// FuzzHeuristic holds all parsers of the family to the contract.
func FuzzHeuristic(f *testing.F) {
	for i, spec := range heuristic.Specs() {
		f.Add(spec.Example, byte(i), true)
		f.Add("```json\n"+spec.Example+"\n```", byte(i), false)
	}
	f.Add(`[TOOL_CALL]{tool => "get_weather", args => {--city "Oslo" --days 3}}[/TOOL_CALL]`, byte(1), true)
	f.Add(`{"tool_calls": [{"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"}}]}`, byte(6), true)
	f.Add("[get_weather]\n{'city': 'Oslo',}[END_TOOL_REQUEST]", byte(2), true)
	specs := heuristic.Specs()
	f.Fuzz(func(t *testing.T, input string, which byte, known bool) {
		if len(input) > 256 {
			return // longer than the cuts are meant for
		}
		opts := sdk.Options{}
		if known {
			opts = offered()
		}
		sdktest.Stable(t, specs[int(which)%len(specs)], opts, input, sdk.Reason(len(input)&1))
	})
}

func BenchmarkFeed(b *testing.B) {
	line := `a line of text with \"quotes\" and a newline\n`
	for _, size := range []int{1, 16, 256} {
		for _, bb := range []struct {
			spec sdk.Spec
			text string
		}{
			{heuristic.Generic(), `{"name": "write_file", "arguments": {"path": "a", "content": "`},
			{heuristic.Llama3JSON(), `<|python_tag|>{"name": "write_file", "parameters": {"path": "a", "content": "`},
		} {
			b.Run(bb.spec.Name+"/"+strconv.Itoa(size)+"KB", func(b *testing.B) {
				sdktest.Benchmark(b, bb.spec, offered(), bb.text+strings.Repeat(line, size<<10/len(line))+`"}}`)
			})
		}
	}
}
