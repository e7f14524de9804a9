package flow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway"
)

const (
	written = `<tool_call>{\"name\": \"get_time\", \"arguments\": {}}</tool_call>` // in a string of JSON
	read    = `"type":"function","function":{"name":"get_time","arguments":"{}"}}`
	done    = "data: [DONE]"
)

// block is a block with one choice.
func block(index int, members string) string {
	return fmt.Sprintf(`data: {"choices":[{"index":%d,%s}]}`, index, members)
}

func nativeCall(index int) string {
	return block(0, fmt.Sprintf(`"delta":{"tool_calls":[{"index":%d,"id":"n%d","type":"function","function":{"name":"get_time","arguments":"{}"}}]}`, index, index))
}

// withoutIDs takes the random ids of calls out.
func withoutIDs(out string) string {
	parts := strings.Split(out, `"id":"call_`)
	for i := range parts[1:] {
		parts[i+1] = strings.TrimPrefix(parts[i+1][24:], `",`)
	}
	return strings.Join(parts, "")
}

// TestOddStreams holds what comes out of streams that few upstreams send.
func TestOddStreams(t *testing.T) {
	t.Parallel()
	report := gateway.Target{Mode: gateway.Report, Parsers: repair.Parsers}
	const calls = ": callgate mode=repair parser=hermes calls=1"
	end := block(0, `"delta":{},"finish_reason":"stop"`)
	renamed := block(0, `"delta":{},"finish_reason":"tool_calls"`)
	call := func(wire int) string { return fmt.Sprintf(`{"index":%d,%s`, wire, read) }
	other := func(index int) string { return strings.Replace(nativeCall(index), `"{}"`, `"{\"zone\":1}"`, 1) }
	only := func(choice int, delta string) string {
		return block(choice, fmt.Sprintf(`"delta":{%s},"finish_reason":null`, delta))
	}
	for name, c := range map[string]struct {
		target   gateway.Target
		in, want []string
	}{
		"the member tool_calls is null": {repair,
			[]string{block(0, `"delta":{"content":"`+written+`","tool_calls":null}`), end, done},
			[]string{block(0, `"delta":{"tool_calls":[`+call(0)+`]}`), renamed, calls, done}},
		"native calls behind a written one": {repair,
			[]string{block(0, `"delta":{"content":"`+written+`"}`), other(0), other(1), end, done},
			[]string{block(0, `"delta":{"tool_calls":[`+call(0)+`]}`),
				strings.Replace(other(0), `"index":0,"id"`, `"index":1,"id"`, 1),
				strings.Replace(other(1), `"index":1,"id"`, `"index":2,"id"`, 1), renamed, strings.Replace(calls, "calls=1", "calls=3", 1) + " repairs=finish_reason=1", done}},
		"native calls behind a written one, of which the first is the same": {repair,
			[]string{block(0, `"delta":{"content":"`+written+`"}`), nativeCall(0), nativeCall(1), end, done},
			[]string{block(0, `"delta":{"tool_calls":[`+call(0)+`]}`), nativeCall(1), renamed,
				strings.Replace(calls, "calls=1", "calls=2", 1) + " repairs=call_repeated=1,finish_reason=1", done}},
		"a call twice, with white space behind its second time": {repair,
			[]string{nativeCall(0), strings.Replace(strings.Replace(nativeCall(0), `"index":0,"id"`, `"index":1,"id"`, 1), `"{}"`, `"{}\n "`, 1),
				block(0, `"delta":{"tool_calls":[{"index":1,"function":{"arguments":" "}}]}`), renamed, done},
			[]string{nativeCall(0), renamed, ": callgate mode=repair calls=1 faults=bad_id=1 repairs=call_repeated=1", done}},
		"log probabilities come once": {repair,
			[]string{block(0, `"delta":{"content":"a`+written+`b"},"logprobs":{"content":[1]}`), end, done},
			[]string{block(0, `"delta":{"content":"a"},"logprobs":{"content":[1]}`), only(0, `"tool_calls":[`+call(0)+`]`), only(0, `"content":"b"`), renamed, calls, done}},
		"a choice without a delta": {repair,
			[]string{`data: {"choices":[{},{"index":0,"delta":{"content":"` + written + `"}}]}`, end, done},
			[]string{only(0, `"tool_calls":[`+call(0)+`]`), `data: {"choices":[{},{"index":0,"delta":{}}]}`, renamed, calls, done}},
		"a finish reason beside parts of content": {repair,
			[]string{block(0, `"delta":{"content":"`+written+`"}`), block(0, `"delta":{"content":[{"type":"text","text":"x"}]},"finish_reason":"stop"`), done},
			[]string{block(0, `"delta":{"tool_calls":[`+call(0)+`]}`), block(0, `"delta":{"content":[{"type":"text","text":"x"}]},"finish_reason":"tool_calls"`), calls, done}},
		"data on several lines": {repair,
			[]string{"data: {\"choices\":[\ndata: {\"index\":0,\"delta\":{\"content\":\"" + written + "\"}}]}", end, done},
			[]string{`data: {"choices":[ {"index":0,"delta":{"tool_calls":[` + call(0) + `]}}]}`, renamed, calls, done}},
		"no finish reason, two choices": {repair,
			[]string{block(0, `"delta":{"content":"a"}`), block(1, `"delta":{"content":"`+written+`"}`), done},
			[]string{block(0, `"delta":{"content":"a"}`), block(1, `"delta":{"tool_calls":[`+call(0)+`]}`), strings.Replace(renamed, `"index":0`, `"index":1`, 1), calls, done}},
		"no finish reason, and the first chunk has two choices": {repair,
			[]string{`data: {"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}],"usage":{}}`, block(0, `"delta":{"content":"`+written+`"}`), done},
			[]string{`data: {"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}],"usage":{}}`,
				block(0, `"delta":{"tool_calls":[`+call(0)+`]}`), strings.Replace(renamed, `]}`, `],"usage":null}`, 1), calls, done}},
		"no finish reason in report mode": {report,
			[]string{block(0, `"delta":{"content":"`+written+`"}`), done},
			[]string{block(0, `"delta":{"content":"`+written+`"}`), strings.Replace(calls, "repair", "report", 1), done}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, _, err := exchange(t, &scripted{blocks: c.in}, c.target, request)
			if want := strings.Join(c.want, "\n\n") + "\n\n"; err != nil || withoutIDs(out) != want {
				t.Errorf("%v\ngot\n%s\nwant\n%s", err, withoutIDs(out), want)
			}
		})
	}
}

// TestTextBesideNativeCalls holds that a call which an upstream has left in the text is said, where it has made
// others itself, and that a text about them is not one.
func TestTextBesideNativeCalls(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`TOOL_CALLS]get_time[ARGS]{}`: {"broken_call"}, "First get_time, as `get_time()`.": nil,
	} {
		stream := &scripted{blocks: []string{block(0, `"delta":{"content":"`+text+`"}`), nativeCall(0), block(0, `"delta":{},"finish_reason":"tool_calls"`), done}}
		whole := &scripted{whole: true, blocks: []string{`{"choices":[{"index":0,"message":{"content":"` + text +
			`","tool_calls":[{"id":"n0","type":"function","function":{"name":"get_time","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`}}
		for _, s := range []*scripted{stream, whole} {
			if _, resp, err := exchange(t, s, repair, request); err != nil || !slices.Equal(resp.Summary.Warnings, want) {
				t.Errorf("%q, whole %t: got the warnings %q and error %v, want %q", text, s.whole, resp.Summary.Warnings, err, want)
			}
		}
	}
}

// TestBrokenCallWithoutDone holds that no end marker is added behind a call that the
// end of the stream breaks.
func TestBrokenCallWithoutDone(t *testing.T) {
	t.Parallel()
	s := &scripted{blocks: []string{block(0, `"delta":{"content":"<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\","}`)}}
	if out, _, err := exchange(t, s, repair, request); err == nil || strings.Contains(out, "[DONE]") {
		t.Errorf("got %v behind %s", err, out)
	}
}

// TestWholeOddChoices holds that choices are told apart by their place, and that a
// member tool_calls of null is not there twice.
func TestWholeOddChoices(t *testing.T) {
	t.Parallel()
	const choice = `{"index":0,"message":{"content":"%s","tool_calls":null},"finish_reason":"stop"}`
	s := &scripted{whole: true, blocks: []string{`{"choices":[` + fmt.Sprintf(choice, written) + "," + fmt.Sprintf(choice, "<think>a</think>b") + `]}`}}
	out, _, err := exchange(t, s, repair, request)
	want := `{"choices":[{"index":0,"message":{"content":null,"tool_calls":[{` + read + `]},"finish_reason":"tool_calls"},` +
		`{"index":0,"message":{"content":"b","tool_calls":null,"reasoning_content":"a"},"finish_reason":"stop"}]}`
	if err != nil || withoutIDs(out) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, out, want)
	}
}

// hostile draws the blocks of an upstream that sends valid JSON of any shape.
func hostile(t *rapid.T, body string) []string {
	odd := rapid.SampledFrom([]string{`null`, `0`, `-1`, `1e3`, `""`, `"x"`, `"` + written + `"`, `{}`, `[]`, `[null]`, `[{}]`, `true`, `{"content":"q"}`})
	text := rapid.SampledFrom([]string{"", " ", "a", "<", "<tool", "_call>", `{\"name\": \"get_time\", `, `\"arguments\": {\"a\": 1`, `}}`, "</tool_call>", written, written + "b" + written,
		"<think>", "</think>", "```\\n", `\ud83d`, `é`, "[TOOL_CALL]", ` bad `, `\n`})
	member := func(t *rapid.T, key string, good *rapid.Generator[string]) string {
		value := good
		if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			value = odd
		}
		return fmt.Sprintf(`%q:%s`, key, value.Draw(t, key))
	}
	some := func(t *rapid.T, members ...func() string) string {
		var list []string
		for _, m := range members {
			if rapid.IntRange(0, 3).Draw(t, "has") > 0 {
				list = append(list, m())
			}
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	index := rapid.SampledFrom([]string{"0", "0", "0", "1", "2"})
	call := rapid.Custom(func(t *rapid.T) string {
		return "[" + some(t, func() string { return member(t, "index", index) }, func() string { return `"id":"n"` },
			func() string { return `"function":{"name":"get_time","arguments":"{}"}` }) + "]"
	})
	delta := rapid.Custom(func(t *rapid.T) string {
		quoted := rapid.Map(text, func(s string) string { return `"` + s + `"` })
		native := rapid.SampledFrom([]string{"null", "null", "null", "[]"})
		if rapid.IntRange(0, 5).Draw(t, "native") == 0 {
			native = call
		}
		return some(t, func() string { return member(t, "content", quoted) }, func() string { return member(t, "tool_calls", native) },
			func() string { return member(t, "reasoning_content", rapid.Just("null")) }, func() string { return `"role":"assistant"` })
	})
	choice := rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 19).Draw(t, "no choice") == 0 {
			return odd.Draw(t, "choice")
		}
		return some(t, func() string { return member(t, "index", index) }, func() string { return member(t, body, delta) },
			func() string {
				return member(t, "finish_reason", rapid.SampledFrom([]string{"null", "null", "null", `"stop"`, `"length"`, `""`}))
			},
			func() string { return member(t, "logprobs", odd) })
	})
	var blocks []string
	for range rapid.IntRange(1, 12).Draw(t, "blocks") {
		choices := rapid.Map(rapid.SliceOfN(choice, 0, 3), func(c []string) string { return "[" + strings.Join(c, ",") + "]" })
		data := some(t, func() string { return member(t, "choices", choices) }, func() string { return member(t, "usage", odd) })
		if body == "delta" {
			data = strings.ReplaceAll(data, `,"`, rapid.SampledFrom([]string{`,"`, ", \ndata: \""}).Draw(t, "lines"))
			data = rapid.SampledFrom([]string{"", "", "", ": ping\n\n"}).Draw(t, "comment") + "data: " + data
		}
		blocks = append(blocks, strings.Split(data, "\n\n")...)
	}
	if body == "delta" && rapid.Bool().Draw(t, "done") {
		blocks = append(blocks, done)
	}
	return blocks
}

// checkHostile holds that whatever valid JSON an upstream sends, nothing panics and
// valid JSON comes out, with no key twice; and in report mode what came in.
func checkHostile(t *rapid.T) {
	mode := rapid.SampledFrom([]gateway.Mode{gateway.Repair, gateway.Repair, gateway.Report}).Draw(t, "mode")
	target := gateway.Target{Mode: mode, Parsers: repair.Parsers, Reasoning: repair.Reasoning, AllowEmpty: true}
	if rapid.Bool().Draw(t, "whole") {
		in := hostile(t, "message")[:1]
		out, _, err := exchange(t, &scripted{whole: true, blocks: in}, target, request)
		if err != nil && out == "" { // an error in the place of an answer
			return
		}
		if err != nil || !valid(out) || mode == gateway.Report && out != in[0] {
			t.Fatalf("%v\nin  %s\nout %s", err, in, out)
		}
		return
	}
	s := &scripted{blocks: hostile(t, "delta")}
	out, _, err := exchange(t, s, target, request)
	if err != nil && out == "" { // it failed before anything could be seen
		return
	}
	var forwarded strings.Builder
	for b := range strings.SplitSeq(strings.TrimSuffix(out, "\n\n"), "\n\n") {
		if !strings.HasPrefix(b, ": callgate") {
			forwarded.WriteString(b + "\n\n")
		}
		if data, ok := strings.CutPrefix(b, "data: "); ok && b != done {
			if data = strings.ReplaceAll(data, "\ndata: ", "\n"); !valid(data) {
				t.Fatalf("invalid JSON %s\nin\n%s\nfrom\n%s", data, out, s.raw())
			}
		}
	}
	if ended := strings.HasSuffix(out, done+"\n\n"); ended != (err == nil) && (mode == gateway.Repair || strings.Contains(s.raw(), done)) {
		t.Fatalf("%v, and the end marker is there: %t\n%s", err, ended, out)
	}
	if mode == gateway.Report && strings.TrimSuffix(forwarded.String(), done+"\n\n") != strings.TrimSuffix(s.raw(), done+"\n\n") {
		t.Fatalf("got\n%s\nwant\n%s", forwarded.String(), s.raw())
	}
}

// valid reports whether text is strict JSON, but for half a surrogate pair that was
// passed on.
func valid(text string) bool {
	return jsontext.Value(strings.ReplaceAll(text, `\ud83d`, "")).IsValid()
}

func TestHostileResponse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, checkHostile)
}

func FuzzResponse(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkHostile)) }
