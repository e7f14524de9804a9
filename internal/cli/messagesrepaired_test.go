package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestMessagesRepairedKeeps has whole answers of the Messages API of which the gateway repairs something: the blocks that this
// does not concern stay as they came, in their order, and so does what stands beside them.
func TestMessagesRepairedKeeps(t *testing.T) {
	t.Parallel()
	const thinking, search = `{"type":"thinking","thinking":"hm","signature":"EqQBabc==","new":1.0}`, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query": "x"}}`
	const found = `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://x.example","title":"x","encrypted_content":"Eo=="}]}`
	const cited = `{"type":"text","text":"one ","citations":[{"type":"web_search_result_location","url":"https://x.example","cited_text":"x"}]}`
	const beside = `"stop_reason":"tool_use","stop_sequence":null,"container":{"id":"c_1","new":1.0},"context_management":{"applied_edits":[],"new":2.0},"new_member":{"a":1.50},` +
		`"usage":{"input_tokens":11,"output_tokens":30,"new_tokens":{"a":1}}`
	const inText = `<tool_call>{\"name\":\"f\",\"arguments\":{\"b\":2}}</tool_call>`
	call := func(args string) string {
		return `{"type":"tool_use","id":"toolu_01","name":"f","input":` + args + `,"new":[1.0]}`
	}
	for name, tt := range map[string]struct{ content, want string }{
		"arguments": {
			strings.Join([]string{thinking, search, found, cited, `{"type":"text","text":"two"}`, call(`{"a":"1"}`)}, ","),
			strings.Join([]string{thinking, search, found, cited, `{"type":"text","text":"two"}`, call(`{"a":1}`)}, ","),
		},
		"text": {
			strings.Join([]string{thinking, search, found, `{"type":"text","text":"one ` + inText + `","new":3.0}`, call(`{"a":1}`)}, ","),
			strings.Join([]string{thinking, search, found, `{"type":"text","text":"one","new":3.0}`, call(`{"a":1}`), `{"type":"tool_use","id":"ID","name":"f","input":{"b":2}}`}, ","),
		},
		"all of the text": {
			strings.Join([]string{thinking, search, found, `{"type":"text","text":"` + inText + `"}`}, ","),
			strings.Join([]string{thinking, search, found, `{"type":"tool_use","id":"ID","name":"f","input":{"b":2}}`}, ","),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := `{"id":"msg_01","type":"message","role":"assistant","model":"claude-x","content":[` + tt.content + `],` + beside + `}`
			g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: anthropic, base_url: %q, parser: auto}}\nmodels: {m: {targets: [{provider: up, model: claude-x}]}}",
				static(t, http.StatusOK, "application/json", answer)))
			r := g.do(g.request("POST", "/v1/messages", `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"x"}],"thinking":{"type":"adaptive"},"tools":[{"type":"web_search_20250305","name":"web_search"},`+
				`{"name":"f","input_schema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}}]}`))
			var m map[string]json.RawMessage
			if err := json.Unmarshal([]byte(r.body), &m); err != nil || r.status != http.StatusOK {
				t.Fatalf("got status %d: %s", r.status, r.body)
			}
			var content []struct{ ID string }
			if err := json.Unmarshal(m["content"], &content); err != nil || len(content) == 0 {
				t.Fatalf("%v in %s", err, m["content"])
			}
			got := string(m["content"])
			if id := content[len(content)-1].ID; id != "toolu_01" {
				got = strings.Replace(got, `"`+id+`"`, `"ID"`, 1)
			}
			if got != "["+tt.want+"]" || r.header.Get("x-callgate-repairs")+r.header.Get("x-callgate-parser") == "" {
				t.Errorf("got %s\nwant [%s]\nin %v", got, tt.want, r.header)
			}
			for _, kept := range []string{`"container":{"id":"c_1","new":1.0}`, `"context_management":{"applied_edits":[],"new":2.0}`, `"new_member":{"a":1.50}`, `"new_tokens":{"a":1}`, `"stop_reason":"tool_use"`} {
				if !strings.Contains(r.body, kept) {
					t.Errorf("got no %s in %s", kept, r.body)
				}
			}
		})
	}
}

// TestMessagesStreamKeeps has a stream of the Messages API with members that nobody here knows in its blocks.
func TestMessagesStreamKeeps(t *testing.T) {
	t.Parallel()
	event := func(data string) string { return "event: x\ndata: " + data + "\n\n" }
	call := `{"type":"tool_use","id":"toolu_01","name":"f","input":{},"caller":{"type":"direct"},"new":2.0}`
	first, second := `{"type":"text","text":"","new":{"a":1.0}}`, `{"type":"text","text":""}`
	answer := event(`{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`) +
		event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","new":{"a":1.0}}}`) +
		event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"one"}}`) + event(`{"type":"content_block_stop","index":0}`) +
		event(`{"type":"content_block_start","index":1,"content_block":`+second+`}`) +
		event(`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"two"}}`) + event(`{"type":"content_block_stop","index":1}`) +
		event(`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_01","name":"f","input":{},"caller":{"type":"direct"},"new":2.0}}`) +
		event(`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`) + event(`{"type":"content_block_stop","index":2}`) +
		event(`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":2}}`) + event(`{"type":"message_stop"}`)
	g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: anthropic, base_url: %q}}\nmodels: {m: {targets: [{provider: up, model: claude-x}]}}",
		static(t, http.StatusOK, "text/event-stream", answer)))
	r := g.do(g.request("POST", "/v1/messages", `{"model":"m","max_tokens":99,"stream":true,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{"type":"integer"}}}}]}`))
	for i, block := range []string{first, second, call} {
		if want := fmt.Sprintf(`"index":%d,"content_block":%s`, i, block); strings.Count(r.body, want) != 1 {
			t.Errorf("got no %s in %s", want, r.body)
		}
	}
	r = g.do(g.request("POST", "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`))
	if strings.Contains(r.body, "begins") || strings.Contains(r.body, "beside") || !strings.Contains(r.body, `"content":"one"`) { // of another API it is one text
		t.Errorf("got %s", r.body)
	}
}
