package messages_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/messages/messagestest"
	"github.com/callgate/callgate/gateway/wire"
)

const thinks = `"thinking":{"type":"enabled","budget_tokens":2000},`

// TestUnaskedThinking has a client that has not asked for thinking, and an upstream of chat completions that thinks:
// the client would take the first block for the text.
func TestUnaskedThinking(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		w, sum := writerOf(t, "", stream)
		sum.Protocol = ""
		const message = `{"role":"assistant","reasoning_content":"Hm","content":"ok"}`
		var out []byte
		if stream {
			for _, c := range []string{delta(`{"reasoning_content":"Hm"}`), delta(`{"content":"ok"}`), end("stop", "")} {
				raw := []byte("data: " + c + "\n\n")
				var err error
				if out, err = w.Frame(out, &wire.Frame{Raw: raw, Data: []byte(c)}); err != nil {
					t.Fatal(err)
				}
			}
			out, _ = w.Close(out)
		} else {
			raw := []byte(`{"id":"c","model":"up","choices":[{"index":0,"message":` + message + `,"finish_reason":"stop"}]}`)
			var err error
			if out, err = w.Whole(&wire.Frame{Raw: raw, Data: raw, Whole: true}); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(out); strings.Contains(got, "Hm") || !strings.Contains(got, "ok") || !slices.Contains(sum.Warnings, "dropped:thinking") {
			t.Errorf("got %s with the warnings %v", got, sum.Warnings)
		}
	}
}

// TestOwnEnding has what only Anthropic says at the end of an answer: it comes through from an upstream of the
// Messages API, and from no other one.
func TestOwnEnding(t *testing.T) {
	t.Parallel()
	const message = `"stop_details":{"type":"refusal","category":"cyber","fallback_credit_token":"t"}`
	const others, usage = `"input_transformations":[{"type":"thinking_dropped"}]`, `"fallback_credit":{"status":{"type":"redeemed"}},"service_tier":"standard"`
	for _, own := range []bool{true, false} {
		for _, stream := range []bool{true, false} {
			w, sum := writerOf(t, "", stream)
			if !own {
				sum.Protocol = ""
			}
			name := "delta"
			if !stream {
				name = "message"
			}
			raw := []byte(`{"id":"c","model":"up","choices":[{"index":0,"` + name + `":{"content":"ok"},"finish_reason":"content_filter","native_finish_reason":"refusal"}],"service_tier":"default",` + message + "," + others +
				`,"usage":{"prompt_tokens":2,"completion_tokens":1,"total_tokens":3,"fallback_credit":{"status":{"type":"redeemed"}}}}`)
			var out []byte
			var err error
			if stream {
				if out, err = w.Frame(nil, &wire.Frame{Raw: raw, Data: raw}); err == nil {
					out, err = w.Close(out)
				}
			} else {
				out, err = w.Whole(&wire.Frame{Raw: raw, Data: raw, Whole: true})
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{others, usage} {
				if strings.Contains(string(out), want) != own {
					t.Errorf("own %v, stream %v: %s in %s", own, stream, want, out)
				}
			}
			if !strings.Contains(string(out), message) {
				t.Errorf("got no %s in %s", message, out)
			}
		}
	}
}

// writerOf is the writer of an answer to a request with these members.
func writerOf(tb testing.TB, members string, stream bool) (protocol.Writer, *gateway.Summary) {
	tb.Helper()
	f, err := parse(fmt.Sprintf(`{"model":"m","max_tokens":9,"stream":%v,%s"messages":[{"role":"user","content":"hi"}]}`, stream, members))
	if err != nil {
		tb.Fatal(err)
	}
	sum := &gateway.Summary{Origin: gateway.Origin{Model: "up", Protocol: "messages"}}
	return f.Writer(&gateway.Response{Summary: sum}), sum
}

// streamed is the stream that chunks become.
func streamed(tb testing.TB, members string, chunks ...string) (string, *gateway.Summary, error) {
	tb.Helper()
	w, sum := writerOf(tb, members, true)
	var out []byte
	var err error
	var f wire.Frame
	var shape wire.Shape
	for _, c := range chunks {
		raw := []byte("data: " + c + "\n\n")
		shape.Read(&f, raw, raw[len("data: "):len(raw)-2])
		if out, err = w.Frame(out, &f); err != nil {
			return string(out), sum, err
		}
	}
	out, err = w.Close(out)
	return string(out), sum, err
}

func delta(body string) string {
	return `{"id":"msg_c1","model":"up","choices":[{"index":0,"delta":` + body + `,"finish_reason":null}]}`
}

// begins is the chunk with which the provider of Anthropic's API says that a text begins.
const begins = `{"id":"msg_c1","model":"up","choices":[{"index":0,"delta":{},"finish_reason":null}],"provider_specific_fields":{"begins":{"type":"text"}}}`

func end(reason, more string) string {
	return `{"id":"msg_c1","model":"up","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"` + more + `}]}`
}

func call(index int, id, name, args string) string {
	head := ""
	if id != "" {
		head += fmt.Sprintf(`"id":%q,"type":"function",`, id)
	}
	if name != "" {
		name = fmt.Sprintf(`"name":%q,`, name)
	}
	return delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,%s"function":{%s"arguments":%q}}]}`, index, head, name, args))
}

// escapedCall is call as System.Text.Json of .NET writes it, whose quotes within texts are \u0022.
func escapedCall(index int, id, name, args string) string {
	return strings.ReplaceAll(call(index, id, name, args), `\"`, `\u0022`)
}

// TestWriterCutInEscapes has a call that is cut within a text, whose quotes are escaped by number: it is not whole.
func TestWriterCutInEscapes(t *testing.T) {
	t.Parallel()
	out, _, err := streamed(t, "", escapedCall(0, "c", "f", `{"a":"}`), end("length", ""))
	if err != nil || !strings.Contains(out, `"stop_reason":"max_tokens"`) {
		t.Errorf("got %v, want the stop reason max_tokens in\n%s", err, out)
	}
}

// TestWriter has what streams become: the blocks, and how the message ends.
func TestWriter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		members string
		chunks  []string
		want    string // the content, and behind it the stop reason and sequence
	}{
		"nothing": {"", []string{end("stop", "")}, `[] end_turn`},
		"text":    {"", []string{delta(`{"role":"assistant","content":""}`), delta(`{"content":"a\u0062"}`), delta(`{"content":"c"}`), end("stop", "")}, `[{"type":"text","text":"abc"}] end_turn`},
		"thinking, sealed": {thinks, []string{delta(`{"reasoning_content":"h"}`), delta(`{"reasoning_content":"m"}`), delta(`{"content":"ok"}`), end("stop", "")},
			`[{"type":"thinking","thinking":"hm","signature":"Y2FsbGdhdGUvbXNnX2MxOjA="},{"type":"text","text":"ok"}] end_turn`},
		"thinking of Anthropic's that was not asked for": {"", []string{delta(`{"reasoning_content":"hm"}`), delta(`{"thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"EqQB"}]}`), delta(`{"content":"ok"}`), end("stop", "")},
			`[{"type":"thinking","thinking":"hm","signature":"EqQB"},{"type":"text","text":"ok"}] end_turn`},
		"thinking that is not shown": {`"thinking":{"type":"adaptive","display":"omitted"},`, []string{delta(`{"reasoning":"hm"}`), delta(`{"content":"ok"}`), end("stop", "")}, `[{"type":"thinking","signature":"Y2FsbGdhdGUvbXNnX2MxOjA="},{"type":"text","text":"ok"}] end_turn`},
		"Anthropic's signatures": {thinks, []string{delta(`{"reasoning_content":"hm"}`), delta(`{"thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"EqQB"}]}`), delta(`{"thinking_blocks":[{"type":"redacted_thinking","data":"xx"}]}`), delta(`{"content":"ok"}`), end("stop", "")},
			`[{"type":"thinking","thinking":"hm","signature":"EqQB"},{"type":"redacted_thinking","data":"xx"},{"type":"text","text":"ok"}] end_turn`},
		"OpenRouter's": {thinks, []string{delta(`{"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","format":"anthropic-claude-v1","index":0}]}`), delta(`{"reasoning_details":[{"type":"reasoning.text","signature":"EqQB","format":"anthropic-claude-v1","index":0}]}`), delta(`{"content":"ok"}`), end("stop", "")},
			`[{"type":"thinking","thinking":"hm","signature":"EqQB"},{"type":"text","text":"ok"}] end_turn`},
		"a signature of another": {thinks, []string{delta(`{"reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"gemini","format":"google-gemini-v1"}]}`), delta(`{"content":"ok"}`), end("stop", "")},
			`[{"type":"thinking","thinking":"hm","signature":"Y2FsbGdhdGUvbXNnX2MxOjA="},{"type":"text","text":"ok"}] end_turn`},
		"a call": {"", []string{delta(`{"content":"ok"}`), call(0, "call_1", "f", ""), call(0, "", "", `{"a":`), call(0, "", "", `"\"}{"}`), end("tool_calls", "")},
			`[{"type":"text","text":"ok"},{"type":"tool_use","id":"call_1","name":"f","input":{"a":"\"}{"}}] tool_use`},
		"a call, whatever the finish reason says": {"", []string{call(0, "c", "f", `{}`), end("stop", "")}, `[{"type":"tool_use","id":"c","name":"f","input":{}}] tool_use`},
		"a call without arguments":                {"", []string{call(0, "c", "f", ``), end("tool_calls", "")}, `[{"type":"tool_use","id":"c","name":"f","input":{}}] tool_use`},
		"calls behind one another":                {"", []string{call(0, "c", "f", `{"a":1}`), call(1, "d", "g", `{`), call(1, "", "", `}`), end("tool_calls", "")}, `[{"type":"tool_use","id":"c","name":"f","input":{"a":1}},{"type":"tool_use","id":"d","name":"g","input":{}}] tool_use`},
		"calls that overlap":                      {"", []string{call(0, "c", "f", `{"a":`), call(1, "d", "g", `{"b":`), call(0, "", "", `1`), call(1, "", "", `2`), call(0, "", "", `}`), call(1, "", "", `}`), end("tool_calls", "")}, `[{"type":"tool_use","id":"c","name":"f","input":{"a":1}},{"type":"tool_use","id":"d","name":"g","input":{"b":2}}] tool_use`},
		"calls without arguments":                 {"", []string{call(0, "c", "f", ``), call(1, "d", "g", ``), end("tool_calls", "")}, `[{"type":"tool_use","id":"c","name":"f","input":{}},{"type":"tool_use","id":"d","name":"g","input":{}}] tool_use`},
		"text within a call":                      {"", []string{call(0, "c", "f", `{"a":`), delta(`{"content":"x"}`), call(0, "", "", `1}`), delta(`{"content":"y"}`), end("tool_calls", "")}, `[{"type":"tool_use","id":"c","name":"f","input":{"a":1}},{"type":"text","text":"xy"}] tool_use`},
		"white space between calls":               {"", []string{delta(`{"content":"\n\n"}`), call(0, "c", "f", `{}`), delta(`{"content":"\n"}`), call(1, "d", "g", `{}`), delta(`{"content":"\n"}`), end("tool_calls", "")}, `[{"type":"tool_use","id":"c","name":"f","input":{}},{"type":"tool_use","id":"d","name":"g","input":{}}] tool_use`},
		"white space alone":                       {"", []string{delta(`{"content":"\n"}`), delta(`{"content":" "}`), end("stop", "")}, `[{"type":"text","text":"\n "}] end_turn`},
		"white space in front":                    {thinks, []string{delta(`{"reasoning_content":"a"}`), delta(`{"content":"\n"}`), delta(`{"content":"b"}`), end("stop", "")}, `[{"type":"thinking","thinking":"a","signature":"Y2FsbGdhdGUvbXNnX2MxOjA="},{"type":"text","text":"\nb"}] end_turn`},
		"an id that does not fit":                 {"", []string{call(0, "functions.f:0", "f", `{}`), end("tool_calls", "")}, `[{"type":"tool_use","id":"toolu_cg_ZnVuY3Rpb25zLmY6MA","name":"f","input":{}}] tool_use`},
		"a name that comes late":                  {"", []string{call(0, "c", "", ``), delta(`{"content":"x"}`), call(0, "", "f", `{}`), end("tool_calls", "")}, `[{"type":"tool_use","id":"c","name":"f","input":{}},{"type":"text","text":"x"}] tool_use`},
		"a call without a name":                   {"", []string{call(0, "c", "", `{}`), delta(`{"content":"x"}`), end("stop", "")}, `[{"type":"text","text":"x"}] end_turn`},
		"a call of before there were several":     {"", []string{delta(`{"function_call":{"name":"f","arguments":""}}`), delta(`{"function_call":{"arguments":"{\"a\":"}}`), delta(`{"function_call":{"arguments":"1}"}}`), end("function_call", "")}, `[{"type":"tool_use","id":"toolu_new","name":"f","input":{"a":1}}] tool_use`},
		"a call that is written both ways":        {"", []string{delta(`{"function_call":{"name":"f","arguments":"{}"},"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}`), end("tool_calls", "")}, `[{"type":"tool_use","id":"c","name":"f","input":{}}] tool_use`},
		"arguments that are an object":            {"", []string{delta(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":{"a":1}}}]}`), end("tool_calls", "")}, `[{"type":"tool_use","id":"c","name":"f","input":{"a":1}}] tool_use`},
		"cut in text":                             {"", []string{delta(`{"content":"x"}`), end("length", "")}, `[{"type":"text","text":"x"}] max_tokens`},
		"cut behind a call":                       {"", []string{call(0, "c", "f", `{}`), end("length", "")}, `[{"type":"tool_use","id":"c","name":"f","input":{}}] tool_use`},
		"calls that overlap, whose quotes are escaped by number": {"", []string{escapedCall(0, "c", "f", `{"a":"}`), escapedCall(1, "d", "g", `{"b":"}`), escapedCall(0, "", "", `"}`), escapedCall(1, "", "", `"}`), end("tool_calls", "")},
			`[{"type":"tool_use","id":"c","name":"f","input":{"a":"}"}},{"type":"tool_use","id":"d","name":"g","input":{"b":"}"}}] tool_use`},
		"a stop sequence of vLLM's":      {`"stop_sequences":["END"],`, []string{delta(`{"content":"x"}`), end("stop", `,"stop_reason":"END"`)}, `[{"type":"text","text":"x"}] stop_sequence END`},
		"a stop sequence of Anthropic's": {`"stop_sequences":["END"],`, []string{delta(`{"content":"x"}`), end("stop", `,"native_finish_reason":"stop_sequence","stop_sequence":"END"`)}, `[{"type":"text","text":"x"}] stop_sequence END`},
		"a stop that nobody asked for":   {"", []string{delta(`{"content":"x"}`), end("stop", `,"stop_reason":"<|im_end|>"`)}, `[{"type":"text","text":"x"}] end_turn`},
		"a filter":                       {"", []string{delta(`{"content":"x"}`), end("content_filter", "")}, `[{"type":"text","text":"x"}] refusal`},
		"a refusal":                      {"", []string{delta(`{"refusal":"no"}`), end("stop", "")}, `[{"type":"text","text":"no"}] refusal`},
		"a pause":                        {"", []string{delta(`{"content":"x"}`), end("stop", `,"native_finish_reason":"pause_turn"`)}, `[{"type":"text","text":"x"}] pause_turn`},
		"blocks of Anthropic's servers": {"", []string{delta(`{"provider_specific_fields":{"blocks":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}]}}`), delta(`{"content":"x"}`), delta(`{"provider_specific_fields":{"citations":[{"type":"char_location"}]}}`), end("stop", "")},
			`[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},{"type":"text","text":"x","citations":[{"type":"char_location"}]}] end_turn`},
		"texts that are apart, and a citation in front of its text": {"", []string{delta(`{"content":"a"}`), begins, delta(`{"provider_specific_fields":{"citations":[{"type":"char_location"}]}}`), delta(`{"content":"b"}`), begins, delta(`{"content":"\n"}`), begins, delta(`{"content":"c"}`), end("stop", "")},
			`[{"type":"text","text":"a"},{"type":"text","text":"b","citations":[{"type":"char_location"}]},{"type":"text","text":"\n"},{"type":"text","text":"c"}] end_turn`},
		"a citation behind a call": {"", []string{call(0, "c", "f", `{}`), delta(`{"provider_specific_fields":{"citations":[{"type":"char_location"}]}}`), delta(`{"content":"b"}`), end("tool_calls", "")},
			`[{"type":"tool_use","id":"c","name":"f","input":{}},{"type":"text","text":"b","citations":[{"type":"char_location"}]}] tool_use`},
		"a compaction": {"", []string{delta(`{"provider_specific_fields":{"blocks":[{"type":"compaction","content":"x"}]}}`), end("stop", `,"native_finish_reason":"compaction"`)}, `[{"type":"compaction","content":"x"}] compaction`},
		"content in parts": {thinks, []string{delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`), delta(`{"content":[{"type":"text","text":"x"}]}`), end("stop", "")},
			`[{"type":"thinking","thinking":"hm","signature":"Y2FsbGdhdGUvbXNnX2MxOjA="},{"type":"text","text":"x"}] end_turn`},
		"a second choice": {"", []string{strings.Replace(delta(`{"content":"x"}`), `"index":0`, `"index":1`, 1), delta(`{"content":"y"}`), end("stop", "")}, `[{"type":"text","text":"y"}] end_turn`},
		"a comment":       {"", []string{delta(`{"content":"x"}`), end("stop", "")}, `[{"type":"text","text":"x"}] end_turn`},
		"several lines":   {"", []string{"{\"id\":\"c1\",\"choices\":\n[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}", end("stop", "")}, `[{"type":"text","text":"x"}] end_turn`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, _, err := streamed(t, c.members, c.chunks...)
			if err != nil {
				t.Fatal(err)
			}
			m, err := messagestest.Stream([]byte(out))
			if err != nil {
				t.Fatalf("%v in\n%s", err, out)
			}
			if got := newID.ReplaceAllString(said(m), "toolu_new"); got != c.want {
				t.Errorf("got  %s\nwant %s\n%s", got, c.want, out)
			}
		})
	}
}

// newID is an id that the gateway has made.
var newID = regexp.MustCompile(`toolu_[a-z2-7]{20,}`)

// TestWriterSaysWhatItDrops: a call without a name is left out, and said to be.
func TestWriterSaysWhatItDrops(t *testing.T) {
	t.Parallel()
	_, sum, err := streamed(t, "", call(0, "c", "", `{}`), delta(`{"content":"x"}`), end("stop", ""))
	if err != nil || !slices.Contains(sum.Warnings, "call_dropped:no_name") {
		t.Errorf("streamed: got %v, warnings %v", err, sum.Warnings)
	}
	w, sum := writerOf(t, "", false)
	data := []byte(`{"id":"msg_c1","model":"up","choices":[{"index":0,"message":{"content":"x","tool_calls":[{"id":"c","function":{"name":null,"arguments":"{}"}}]},"finish_reason":"stop"}]}`)
	if _, err := w.Whole(&wire.Frame{Raw: data, Data: data, Whole: true}); err != nil || !slices.Contains(sum.Warnings, "call_dropped:no_name") {
		t.Errorf("whole: got %v, warnings %v", err, sum.Warnings)
	}
}

// TestWriterGivenUp: an answer that the upstream could not go on with is none that has ended, since a message
// has no word for it.
func TestWriterGivenUp(t *testing.T) {
	t.Parallel()
	for _, finish := range []string{"error", "abort", "insufficient_system_resource"} {
		out, _, err := streamed(t, "", delta(`{"content":"x"}`), end(finish, ""))
		if e := gateway.AsError(err); err == nil || e.Code != "upstream_cut" || !strings.Contains(e.Message, finish) || strings.Contains(out, "message_stop") {
			t.Errorf("%s, streamed: got %v and\n%s", finish, err, out)
		}
		w, _ := writerOf(t, "", false)
		data := []byte(`{"id":"msg_c1","model":"up","choices":[{"index":0,"message":{"content":"x"},"finish_reason":"` + finish + `"}]}`)
		if out, err := w.Whole(&wire.Frame{Raw: data, Data: data, Whole: true}); err == nil {
			t.Errorf("%s, whole: got %s", finish, out)
		}
	}
}

// TestWriterSaysWhatItLeavesOut: a message has no place for the annotations of a chat, for sounds and pictures, nor for a second
// choice.
func TestWriterSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	second := strings.Replace(delta(`{"content":"x"}`), `"index":0`, `"index":1`, 1)
	for name, c := range map[string]struct{ chunk, want string }{
		"annotations":     {delta(`{"content":"x","annotations":[{"type":"url_citation","url_citation":{"url":"https://x"}}]}`), "annotation_dropped"},
		"none":            {delta(`{"content":"x","annotations":[]}`), ""},
		"a second choice": {second, "choice_dropped"},
		"audio":           {delta(`{"content":"x","audio":{"id":"audio_1","transcript":"x"}}`), "audio_dropped"},
		"tools that ran":  {delta(`{"content":"x","executed_tools":[{"index":0,"type":"search"}]}`), "executed_tools_dropped"},
		"a part":          {delta(`{"content":[{"type":"text","text":"x"},{"type":"reference","reference_ids":[1]},{"type":"text"}]}`), "part_dropped:reference"},
		"no audio":        {delta(`{"content":"x","audio":null}`), ""},
		"a picture":       {delta(`{"images":[{"type":"image_url","image_url":{"url":"data:,"}}]}`), "image_dropped"},
	} {
		_, sum, err := streamed(t, "", c.chunk, delta(`{"content":"y"}`), end("stop", ""))
		if got := strings.Join(sum.Warnings, " "); err != nil || got != c.want {
			t.Errorf("%s: got %v and the warnings %q, want %q", name, err, got, c.want)
		}
	}
}

// TestWriterSaysLostMembers: members that other servers put beside an answer have no place in a message; those that
// say nothing about it are not worth a word.
func TestWriterSaysLostMembers(t *testing.T) {
	t.Parallel()
	first := strings.NewReplacer(`"choices"`, `"citations":["https://x"],"system_fingerprint":"fp","timings":{"n":1},"empty":[],"choices"`,
		`"index":0`, `"index":0,"content_filter_results":{"hate":{"filtered":false}},"z é":1`).Replace(delta(`{"content":"x","context":{"citations":[1]}}`))
	for whole, chunks := range map[bool][]string{
		false: {first, delta(`{"content":"y","never":"looked at"}`), `{"id":"msg_c1","model":"up","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"search_results":[{}]}`},
		true:  {strings.Replace(strings.Replace(first, `"delta"`, `"message"`, 1), `"choices"`, `"search_results":[{}],"choices"`, 1)},
	} {
		w, sum := writerOf(t, "", !whole)
		sum.Protocol = "" // another server's
		for _, c := range chunks {
			f := wire.Frame{Raw: []byte(c), Data: []byte(c), Whole: whole}
			if whole {
				if _, err := w.Whole(&f); err != nil {
					t.Fatal(err)
				}
			} else if _, err := w.Frame(nil, &f); err != nil {
				t.Fatal(err)
			}
		}
		got := slices.Sorted(slices.Values(sum.Warnings))
		if want := []string{"dropped:answer.choices.other", "dropped:answer.citations", "dropped:answer.message.context", "dropped:answer.search_results"}; !slices.Equal(got, want) {
			t.Errorf("whole %v: got the warnings %q, want %q", whole, got, want)
		}
	}
}

// said is what a message comes to.
func said(m *messagestest.Message) string {
	content := m.Content
	if content == nil {
		content = []messagestest.Block{}
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(content)
	s := strings.TrimSpace(b.String()) + " " + *m.StopReason
	if m.StopSequence != nil {
		s += " " + *m.StopSequence
	}
	return s
}

// TestWriterBytes has a stream byte for byte: what clients read is not only JSON.
func TestWriterBytes(t *testing.T) {
	t.Parallel()
	out, _, err := streamed(t, thinks, delta(`{"reasoning_content":"hm"}`), delta(`{"content":"a\u0062"}`), call(0, "c", "f", `{"a":1}`), end("tool_calls", ""),
		`{"id":"msg_c1","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":90},"completion_tokens_details":{"reasoning_tokens":5}}}`)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, data := range []string{
		`{"type":"message_start","message":{"id":"msg_c1","type":"message","role":"assistant","model":"up","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Y2FsbGdhdGUvbXNnX2MxOjA="}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a\u0062"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c","name":"f","input":{}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":90,"output_tokens":20,"output_tokens_details":{"thinking_tokens":5}}}`,
		`{"type":"message_stop"}`,
	} {
		kind, _, _ := strings.Cut(data[len(`{"type":"`):], `"`)
		fmt.Fprintf(&want, "event: %s\ndata: %s\n\n", kind, data)
	}
	if out != want.String() {
		t.Errorf("got\n%s\nwant\n%s", out, want.String())
	}
}

// TestWriterErrors has streams that fail, and calls that are none.
func TestWriterErrors(t *testing.T) {
	t.Parallel()
	w, _ := writerOf(t, "", true)
	out, err := w.Frame(nil, &wire.Frame{Data: []byte(delta(`{"content":"x"}`))})
	if err != nil {
		t.Fatal(err)
	}
	out = w.Fail(out, &gateway.Error{Kind: gateway.Timeout, Message: "Too late."})
	out, _ = w.Close(out)
	var f *messagestest.StreamError
	if _, err := messagestest.Stream(out); !errors.As(err, &f) || f.Type != "timeout_error" || f.Message != "Too late." {
		t.Errorf("got %v in\n%s", err, out)
	}
	in, _, _ := streamed(t, "", delta(`{"content":"x"}`), `{"error":{"message":"overloaded","code":503}}`)
	if _, err := messagestest.Stream([]byte(in)); !errors.As(err, &f) || f.Type != "overloaded_error" || f.Message != "overloaded" {
		t.Errorf("got %v in\n%s", err, in)
	}
	if _, _, err := streamed(t, "", call(0, "c", "f", `{}`), call(1, "d", "f", `{`), call(0, "", "", `{"a":1}`)); err == nil {
		t.Error("a call that goes on behind its end gave no error")
	}
}

// TestTypeOfFailure has errors in the place of a chunk, whose type is that of their status: Anthropic's
// documentation has overloaded_error in a stream for what is 529 without one.
func TestTypeOfFailure(t *testing.T) {
	t.Parallel()
	for failure, want := range map[string]string{
		`{"error":{"message":"m","type":"tokens","code":"rate_limit_exceeded"}}`:      "rate_limit_error",
		`{"error":{"message":"m","code":429}}`:                                        "rate_limit_error",
		`{"error":{"message":"m","type":"overloaded_error"}}`:                         "overloaded_error",
		`{"error":{"message":"m","code":529}}`:                                        "overloaded_error",
		`{"error":{"message":"m","code":504}}`:                                        "timeout_error",
		`{"error":{"message":"m","code":500}}`:                                        "api_error",
		`{"error":{"message":"m"}}`:                                                   "api_error",
		`{"error":{"message":"m","type":"authentication_error"}}`:                     "api_error", // not of the client's key
		`{"error":{"message":"m","type":"invalid_request_error","code":400}}`:         "invalid_request_error",
		`{"error":{"message":"m","type":"insufficient_quota","code":"other_things"}}`: "rate_limit_error",
	} {
		in, _, _ := streamed(t, "", delta(`{"content":"x"}`), failure)
		var f *messagestest.StreamError
		if _, err := messagestest.Stream([]byte(in)); !errors.As(err, &f) || f.Type != want || f.Message != "m" {
			t.Errorf("%s: got %v, want %s", failure, err, want)
		}
	}
}

// TestManyPiecesWait holds that pieces which wait behind a call that does not end are bounded in number too: each
// of one byte takes a hundred.
func TestManyPiecesWait(t *testing.T) {
	t.Parallel()
	w, _ := writerOf(t, thinks, true)
	put := func(chunk string) error {
		_, err := w.Frame(nil, &wire.Frame{Raw: []byte(chunk), Data: []byte(chunk)})
		return err
	}
	err := put(call(0, "c", "f", `{`))
	for i := 0; err == nil; i++ {
		if i == 100_000 {
			t.Fatal("100,000 thoughts and texts wait behind a call")
		}
		if err = put(delta(`{"reasoning_content":"a"}`)); err == nil {
			err = put(delta(`{"content":"b"}`))
		}
	}
	if e := gateway.AsError(err); e.Kind != gateway.Unavailable || !strings.Contains(e.Message, "overlap") {
		t.Errorf("got %v", err)
	}
}

// TestWhole has whole answers.
func TestWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ members, message, finish, want, err string }{
		"text":     {"", `{"content":"hi","tool_calls":[]}`, "stop", `[{"type":"text","text":"hi"}] end_turn`, ""},
		"all":      {thinks, `{"content":"hi","reasoning_content":"hm","tool_calls":[{"id":"a:b","type":"function","function":{"name":"f","arguments":" { \"a\" : 1.0 } "}},{"id":"c","type":"function","function":{"name":"g","arguments":""}}]}`, "stop", `[{"type":"thinking","thinking":"hm","signature":"Y2FsbGdhdGUvbXNnX2MxOjA="},{"type":"text","text":"hi"},{"type":"tool_use","id":"toolu_cg_YTpi","name":"f","input":{"a":1.0}},{"type":"tool_use","id":"c","name":"g","input":{}}] tool_use`, ""},
		"cut call": {"", `{"content":"hi","tool_calls":[{"id":"c","function":{"name":"g","arguments":"{\"a"}}]}`, "length", `[{"type":"text","text":"hi"}] max_tokens`, ""},
		"bad call": {"", `{"tool_calls":[{"id":"c","function":{"name":"g","arguments":"[1]"}}]}`, "tool_calls", ``, "no JSON object"},
		"native":   {"", `{"content":"hi","provider_specific_fields":{"message":{"content":[{"type":"text","text":"h"},{"type":"text","text":"i"}]}}}`, "stop", `[{"type":"text","text":"h"},{"type":"text","text":"i"}] end_turn`, ""},
	} {
		w, _ := writerOf(t, c.members, false)
		data := []byte(`{"id":"msg_c1","model":"up","choices":[{"index":0,"message":` + c.message + `,"finish_reason":"` + c.finish + `"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`)
		out, err := w.Whole(&wire.Frame{Raw: data, Data: data, Whole: true})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v and %s, want an error about %s", name, err, out, c.err)
			}
			continue
		}
		m, err := messagestest.Whole(out)
		if err != nil {
			t.Errorf("%s: %v in %s", name, err, out)
		} else if got := said(m); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", name, got, c.want)
		}
	}
}

// drawnText is text that JSON writes in many ways, and never blank.
var drawnText = rapid.StringMatching(`[a-z"\\\n é世😀{}]{0,12}[a-z]`)

// TestRoundTrip has a client send back what it got: the chat completion that comes of it has
// every call with its id, every text and every thought, and the answer had the usage.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		thought, text := rapid.OneOf(rapid.Just(""), drawnText).Draw(t, "thought"), rapid.OneOf(rapid.Just(""), drawnText).Draw(t, "text")
		type made struct{ id, name, args string }
		var calls []made
		for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
			args, _ := json.Marshal(rapid.MapOfN(rapid.StringMatching(`[a-z"\\]{1,5}`), drawnText, 0, 3).Draw(t, "args"))
			calls = append(calls, made{fmt.Sprintf("%s%d", rapid.StringMatching(`[a-z:.é_]{1,8}`).Draw(t, "id"), i), rapid.StringMatching(`[a-z_]{1,8}`).Draw(t, "name"), string(args)})
		}
		var chunks []string
		cut := func(s string, f func(piece string) string) {
			for runes := []rune(s); len(runes) > 0; {
				n := rapid.IntRange(1, len(runes)).Draw(t, "cut")
				chunks = append(chunks, f(string(runes[:n])))
				runes = runes[n:]
			}
		}
		quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
		cut(thought, func(p string) string { return delta(`{"reasoning_content":` + quote(p) + `}`) })
		cut(text, func(p string) string { return delta(`{"content":` + quote(p) + `}`) })
		for i, c := range calls {
			chunks = append(chunks, delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"function":{"name":%s,"arguments":""}}]}`, i, quote(c.id), quote(c.name))))
			cut(c.args, func(p string) string {
				return delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quote(p)))
			})
		}
		in, cached, out := rapid.IntRange(0, 1000).Draw(t, "in"), rapid.IntRange(0, 1200).Draw(t, "cached"), rapid.IntRange(0, 1000).Draw(t, "out")
		chunks = append(chunks, end("stop", ""), fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}}`, in, out, cached))
		stream, _, err := streamedIn(t, chunks)
		if err != nil {
			t.Fatal(err)
		}
		m, err := messagestest.Stream([]byte(stream))
		if err != nil {
			t.Fatalf("%v in\n%s", err, stream)
		}
		if *m.Usage.Input+*m.Usage.Read != in || *m.Usage.Output != out {
			t.Fatalf("got the usage %d, %d, %d of %d, %d, %d", *m.Usage.Input, *m.Usage.Read, *m.Usage.Output, in, cached, out)
		}
		if len(m.Content) == 0 {
			return
		}
		content, _ := json.Marshal(m.Content)
		back, err := parse(`{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":` + string(content) + `},{"role":"user","content":"on"}]}`)
		if err != nil {
			t.Fatalf("%v of %s", err, content)
		}
		var chat struct {
			Messages []struct {
				Content   string
				Reasoning string `json:"reasoning_content"`
				Calls     []struct {
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
		if err := json.Unmarshal(back.Chat(), &chat); err != nil {
			t.Fatal(err)
		}
		got := chat.Messages[0]
		if got.Content != text || got.Reasoning != thought || len(got.Calls) != len(calls) {
			t.Fatalf("got %+v, want %q, %q, %v", got, thought, text, calls)
		}
		for i, c := range calls {
			g := got.Calls[i]
			if g.ID != c.id || g.Function.Name != c.name || !equalJSON(g.Function.Arguments, c.args) {
				t.Fatalf("got the call %+v, want %+v", g, c)
			}
		}
	})
}

func streamedIn(t *rapid.T, chunks []string) (string, *gateway.Summary, error) {
	var tb testing.T
	out, sum, err := streamed(&tb, thinks, chunks...)
	if tb.Failed() {
		t.Fatal("the request was refused")
	}
	return out, sum, err
}

func equalJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}

// FuzzWriter has any chunks: never a panic, and a stream in order or an error.
func FuzzWriter(f *testing.F) {
	f.Add(call(0, "c", "f", `{"a":`)+"\n"+call(1, "d", "g", `{}`)+"\n"+call(0, "", "", `1}`)+"\n"+delta(`{"content":"x"}`)+"\n"+end("stop", ""), true)
	f.Add(delta(`{"reasoning":"x","thinking_blocks":[{"type":"redacted_thinking","data":"d"},{"type":"thinking","thinking":"t"}]}`)+"\n"+end("length", `,"stop_sequence":"x"`), true)
	f.Add(delta(`{"content":"x","tool_calls":[{"function":{"name":"f","arguments":"\u007b\u007d"}}]}`), false)
	f.Fuzz(func(t *testing.T, text string, thinking bool) {
		members := ""
		if thinking {
			members = thinks
		}
		var chunks []string
		for line := range strings.SplitSeq(text, "\n") {
			if json.Valid([]byte(line)) {
				chunks = append(chunks, line)
			}
		}
		out, _, err := streamed(t, members, chunks...)
		if err != nil {
			return
		}
		var failure *messagestest.StreamError
		if m, err := messagestest.Stream([]byte(out)); err != nil && !errors.As(err, &failure) && !tolerated(err, m) {
			t.Fatalf("%v in\n%s", err, out)
		}
	})
}

// tolerated reports whether an answer is at fault in what the upstream says: arguments that are
// no JSON, two calls of one id, blocks of Anthropic's that are none.
func tolerated(err error, _ *messagestest.Message) bool {
	for _, words := range []string{"the input of", "two calls have", "has the type", "cannot be read", "has no data", "is empty", "of a new block", "does not begin with", "no signature", "invalid character", "message has no member", "invalid"} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}
