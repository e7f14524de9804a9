package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestMessagesStreamPasses has streams of the Messages API with what nobody here knows, in every place where it may
// stand: a client of the same API gets the same events.
func TestMessagesStreamPasses(t *testing.T) {
	t.Parallel()
	start := func(i int, block string) string {
		return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
	}
	delta := func(i int, d string) string {
		return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, d)
	}
	stop := func(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }
	text := func(i int, s string) []string {
		return []string{start(i, `{"type":"text","text":""}`), delta(i, `{"type":"text_delta","text":"`+s+`"}`), stop(i)}
	}
	const call, thinking, search = `{"type":"tool_use","id":"toolu_01","name":"f","input":{}}`, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`
	args := delta(0, `{"type":"input_json_delta","partial_json":"{\"a\":1}"}`)
	for name, tt := range map[string]struct {
		events []string
		reason string // end_turn if it is empty
	}{
		"a delta of text":          {events: []string{start(0, `{"type":"text","text":""}`), delta(0, `{"type":"text_delta","text":"a","new":{"b":1.0}}`), delta(0, `{"type":"text_delta","text":"b"}`), stop(0)}},
		"a delta of an empty text": {events: []string{start(0, `{"type":"text","text":""}`), delta(0, `{"type":"text_delta","text":"","new":1}`), delta(0, `{"type":"text_delta","text":"b"}`), stop(0)}},
		"a delta of thinking": {events: append([]string{start(0, thinking), delta(0, `{"type":"thinking_delta","thinking":"a","new":{"b":1.0}}`),
			delta(0, `{"type":"signature_delta","signature":"Eo==","new":2}`), stop(0)}, text(1, "x")...)},
		"a delta of arguments": {reason: "tool_use", events: []string{start(0, call), delta(0, `{"type":"input_json_delta","partial_json":"{\"a\"","new":{"b":1.0}}`),
			delta(0, `{"type":"input_json_delta","partial_json":":1}","new":2}`), stop(0)}},
		"a delta of a citation": {events: []string{start(0, `{"type":"text","text":"","citations":[]}`), delta(0, `{"type":"citations_delta","citation":{"type":"page_location","new":1},"new":2}`),
			delta(0, `{"type":"text_delta","text":"a"}`), stop(0)}},
		"the event of a delta": {events: []string{start(0, `{"type":"text","text":""}`), `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"},"new":[1]}`, stop(0)}},
		"an unknown delta of text": {events: []string{start(0, `{"type":"text","text":""}`), delta(0, `{"type":"new_delta","new":"x"}`), delta(0, `{"type":"text_delta","text":"a"}`),
			delta(0, `{"type":"new_delta","new":"y"}`), stop(0)}},
		"an unknown delta of thinking": {events: append([]string{start(0, thinking), delta(0, `{"type":"new_delta","new":"x"}`), delta(0, `{"type":"thinking_delta","thinking":"a"}`),
			delta(0, `{"type":"new_delta","new":"y"}`), delta(0, `{"type":"signature_delta","signature":"Eo=="}`), stop(0)}, text(1, "x")...)},
		"an unknown delta of a call": {reason: "tool_use", events: []string{start(0, call), delta(0, `{"type":"new_delta","new":"x"}`), args, delta(0, `{"type":"new_delta","new":"y"}`), stop(0)}},
		"a block of a tool elsewhere": {events: append([]string{`{"type":"content_block_start","index":0,"content_block":` + search + `,"new":1}`, delta(0, `{"type":"new_delta","new":"x"}`),
			delta(0, `{"type":"input_json_delta","partial_json":"{\"a\"","new":1}`), delta(0, `{"type":"input_json_delta","partial_json":":1}"}`), `{"type":"content_block_stop","index":0,"new":1}`}, text(1, "x")...)},
		"tools elsewhere behind a call":           {reason: "tool_use", events: append([]string{start(0, call), args, stop(0), start(1, search), delta(1, `{"type":"input_json_delta","partial_json":"{\"a\":1}"}`), stop(1)}, text(2, "x")...)},
		"a compaction":                            {reason: "compaction", events: append([]string{start(0, `{"type":"compaction","content":null}`), delta(0, `{"type":"compaction_delta","content":"a"}`), stop(0)}, text(1, "x")...)},
		"the event of an unknown delta of a call": {reason: "tool_use", events: []string{start(0, call), `{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","new":"x"},"new":1}`, args, stop(0)}},
		"the end of a text":                       {events: append([]string{start(0, `{"type":"text","text":""}`), delta(0, `{"type":"text_delta","text":"a"}`), `{"type":"content_block_stop","index":0,"new":{"a":1.0}}`}, text(1, "x")...)},
		"the end of thinking":                     {events: append([]string{start(0, thinking), delta(0, `{"type":"thinking_delta","thinking":"a"}`), delta(0, `{"type":"signature_delta","signature":"Eo=="}`), `{"type":"content_block_stop","index":0,"new":1}`}, text(1, "x")...)},
		"the end of a call":                       {reason: "tool_use", events: []string{start(0, call), args, `{"type":"content_block_stop","index":0,"new":1}`}},
		"the end of a block elsewhere":            {events: append([]string{start(0, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`), `{"type":"content_block_stop","index":0,"new":1}`}, text(1, "x")...)},
		"the beginning of thinking": {events: append([]string{start(0, `{"type":"thinking","thinking":"","signature":"","new":{"a":1.0}}`), delta(0, `{"type":"thinking_delta","thinking":"a"}`),
			delta(0, `{"type":"signature_delta","signature":"Eo=="}`), stop(0)}, text(1, "x")...)},
		"the beginning of thinking that is not shown": {events: append([]string{start(0, `{"type":"thinking","thinking":"","signature":"","new":1}`), delta(0, `{"type":"signature_delta","signature":"Eo=="}`), stop(0)}, text(1, "x")...)},
		"the event of a beginning":                    {events: []string{`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""},"new":1}`, delta(0, `{"type":"text_delta","text":"a"}`), stop(0)}},
		"a text that stays empty":                     {events: append([]string{start(0, `{"type":"text","text":""}`), stop(0)}, text(1, "x")...)},
		"only an empty text":                          {events: []string{start(0, `{"type":"text","text":""}`), stop(0)}},
		"empty texts and a call":                      {reason: "tool_use", events: []string{start(0, `{"type":"text","text":""}`), stop(0), start(1, `{"type":"text","text":"","new":1}`), stop(1), start(2, call), strings.Replace(args, `"index":0`, `"index":2`, 1), stop(2), start(3, `{"type":"text","text":""}`), stop(3)}},
		"a text of white space":                       {reason: "tool_use", events: append(text(0, `\n\n`), start(1, call), strings.Replace(args, `"index":0`, `"index":1`, 1), stop(1))},
		"an unknown event":                            {events: append(text(0, "x"), `{"type":"new_event","new":{"a":1.0}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reason := tt.reason
			if reason == "" {
				reason = "end_turn"
			}
			var answer strings.Builder
			begin := `{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"new":{"a":1.0},"usage":{"input_tokens":1,"output_tokens":1}}}`
			end := []string{`{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null,"new":1},"new":2,"usage":{"output_tokens":2,"new":3}}`, `{"type":"message_stop"}`}
			for _, data := range slices.Concat([]string{begin}, tt.events, end) {
				fmt.Fprintf(&answer, "event: %s\ndata: %s\n\n", eventType(t, data), data)
			}
			g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: anthropic, base_url: %q, empty_completion: pass}}\nmodels: {m: {targets: [{provider: up, model: claude-x}]}}",
				static(t, http.StatusOK, "text/event-stream", answer.String())))
			r := g.do(g.request("POST", "/v1/messages", `{"model":"m","max_tokens":99,"stream":true,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{"type":"integer"}}}}]}`))
			sameData(t, r.body, answer.String())
			if strings.Contains(r.body, "callgate") {
				t.Errorf("got a remark in %s", r.body)
			}
		})
	}
}

// TestMessagesStreamEmpty has a stream with nothing but the beginning and the end of a text, which is no answer, and one
// that fails there: nothing has reached the client, and the next target is asked.
func TestMessagesStreamEmpty(t *testing.T) {
	t.Parallel()
	const begin = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_01\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-x\",\"content\":[],\"usage\":{\"input_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"},\"new\":1}\n\n"
	const end = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0,\"new\":1}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	const failure = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
	const text = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"ok\"}}\n\n"
	for _, rest := range []string{end, failure} {
		g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: anthropic, base_url: %q}, next: {type: anthropic, base_url: %q}}\nmodels: {m: {targets: [{provider: up, model: claude-x}, {provider: next, model: claude-x}]}}",
			static(t, http.StatusOK, "text/event-stream", begin+rest), static(t, http.StatusOK, "text/event-stream", begin+text+end)))
		r := g.do(g.request("POST", "/v1/messages", `{"model":"m","max_tokens":99,"stream":true,"messages":[{"role":"user","content":"x"}]}`))
		if r.status != http.StatusOK || !strings.Contains(r.body, `"text":"ok"`) || r.header.Get("x-callgate-provider") != "next" {
			t.Errorf("got status %d, %v: %s", r.status, r.header, r.body)
		}
	}
}

// sameData demands of a stream that its events have the bytes of another one's, in the same order.
func sameData(t *testing.T, got, want string) {
	t.Helper()
	is, ought := streamData(t, got), streamData(t, want)
	for i := range max(len(is), len(ought)) {
		switch {
		case i >= len(is):
			t.Fatalf("got no %s in %s", ought[i], got)
		case i >= len(ought):
			t.Fatalf("got %s behind the end of %s", is[i], got)
		case is[i] != ought[i]:
			t.Fatalf("event %d: got %s\nwant %s\nin %s", i, is[i], ought[i], got)
		}
	}
}

// streamData are the data of a stream's events.
func streamData(t *testing.T, sse string) (all []string) {
	t.Helper()
	name := ""
	for line := range strings.SplitSeq(strings.ReplaceAll(sse, "\r\n", "\n"), "\n") {
		if rest, ok := strings.CutPrefix(line, "event:"); ok {
			name = strings.TrimSpace(rest)
		}
		data, ok := strings.CutPrefix(line, "data:")
		if !ok {
			continue
		}
		data = strings.TrimPrefix(data, " ")
		if kind := eventType(t, data); kind != name {
			t.Errorf("got the event %q with the type %q", name, kind)
		}
		all = append(all, data)
	}
	return all
}

func eventType(t *testing.T, data string) string {
	t.Helper()
	var e struct{ Type string }
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return e.Type
}

// canonical is JSON with the members of objects in one order, and numbers as they are spelled.
func canonical(t *testing.T, text string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestMessagesStopReason has answers with a call that is whole, and every reason for which they may have ended: a client of
// the Messages API gets the upstream's, since it decides by that whether to run the call.
func TestMessagesStopReason(t *testing.T) {
	t.Parallel()
	const call, usage = `{"type":"tool_use","id":"toolu_01","name":"f","input":{"a":1}}`, `"usage":{"input_tokens":1,"output_tokens":2}`
	const details = `{"type":"new_details","new":1.0}`
	for _, reason := range []string{"tool_use", "max_tokens", "model_context_window_exceeded", "refusal", "pause_turn", "new_reason"} {
		for _, stream := range []bool{false, true} {
			kind, answer := "application/json", fmt.Sprintf(`{"id":"msg_01","type":"message","role":"assistant","model":"claude-x","content":[%s],"stop_reason":%q,"stop_sequence":null,"stop_details":%s,%s}`, call, reason, details, usage)
			if stream {
				kind, answer = "text/event-stream", ""
				for _, data := range []string{
					`{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,` + usage + `}}`,
					`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_01","name":"f","input":{}}}`,
					`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`, `{"type":"content_block_stop","index":0}`,
					fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null,"stop_details":%s},%s}`, reason, details, usage), `{"type":"message_stop"}`,
				} {
					answer += fmt.Sprintf("event: %s\ndata: %s\n\n", eventType(t, data), data)
				}
			}
			g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: anthropic, base_url: %q}}\nmodels: {m: {targets: [{provider: up, model: claude-x}]}}", static(t, http.StatusOK, kind, answer)))
			r := g.do(g.request("POST", "/v1/messages", fmt.Sprintf(`{"model":"m","max_tokens":99,"stream":%v,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{"type":"integer"}}}}]}`, stream)))
			if want := fmt.Sprintf(`"stop_reason":%q,"stop_sequence":null,"stop_details":%s`, reason, details); !strings.Contains(r.body, want) || !strings.Contains(r.body, "toolu_01") {
				t.Errorf("%s, stream %v: got no %s in %s", reason, stream, want, r.body)
			}
			nothingSaid(t, r)
		}
	}
	// What a filter of an upstream of chat completions has ended is no call to be run either.
	g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q}}\nmodels: {m: {targets: [{provider: up, model: x}]}}", static(t, http.StatusOK, "application/json",
		`{"id":"c","object":"chat.completion","created":1,"model":"x","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"content_filter"}]}`)))
	r := g.do(g.request("POST", "/v1/messages", `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{"type":"integer"}}}}]}`))
	if !strings.Contains(r.body, `"stop_reason":"refusal"`) {
		t.Errorf("got %s", r.body)
	}
}
