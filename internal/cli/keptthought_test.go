package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestCallsThought has a model that thinks in front of each of its calls, and a client of the Messages API that wants to see
// nothing of it, or a signature alone: DeepSeek and Kimi refuse the next turn if the call comes back without what
// they have thought.
func TestCallsThought(t *testing.T) {
	t.Parallel()
	deltas := []string{
		`{"role":"assistant","reasoning_content":"I \"should\" "}`, `{"reasoning_content":"look.\n"}`, `{"reasoning_content":"\ud83d\ude00"}`, `{"content":"Let me see."}`,
		`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`,
	}
	const whole = `{"role":"assistant","reasoning_content":"I \"should\" look.\n\ud83d\ude00","content":"Let me see.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	for _, stream := range []bool{false, true} {
		for _, thinks := range []string{"", `"thinking":{"type":"disabled"},`, `"thinking":{"type":"adaptive","display":"omitted"},`, `"thinking":{"type":"adaptive"},`} {
			t.Run(fmt.Sprintf("stream %v %s", stream, thinks), func(t *testing.T) {
				t.Parallel()
				bodies := make(chan string, 1)
				url := upstream(t, func(w http.ResponseWriter, r received) {
					bodies <- r.body
					if !stream {
						w.Header().Set("content-type", "application/json")
						io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"k","choices":[{"index":0,"message":`+whole+`,"finish_reason":"tool_calls"}]}`)
						return
					}
					w.Header().Set("content-type", "text/event-stream")
					for _, delta := range deltas {
						fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"k","choices":[{"index":0,"delta":%s,"finish_reason":null}]}`+"\n\n", delta)
					}
					io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"k","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
				})
				g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q}}\nmodels: {a: {targets: [{provider: up, model: m}]}}", url))
				ask := func(messages string) (r result, sent string) {
					r = g.messages(fmt.Sprintf(`{"model":"a","max_tokens":9,"stream":%v,%s"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"go"}%s]}`, stream, thinks, messages))
					return r, <-bodies
				}
				r, _ := ask("")
				m, err := messageIn(r.body, stream)
				if err != nil || len(m.Content) < 2 {
					t.Fatalf("got %v and %s", err, r.body)
				}
				if n := len(m.Content); strings.Contains(thinks, `adaptive"}`) == (m.Content[n-2].Type == "redacted_thinking") || m.Content[n-1].ID != "call_1" {
					t.Errorf("got the blocks %+v", m.Content)
				}
				if told := strings.Contains(r.body, "look."); told != strings.Contains(thinks, `adaptive"}`) || strings.Contains(r.header.Get("x-callgate-warnings")+r.body, "dropped:thinking") {
					t.Errorf("got the header %v and %s", r.header, r.body)
				}
				content, _ := json.Marshal(m.Content)
				_, sent := ask(fmt.Sprintf(`,{"role":"assistant","content":%s},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"r"}]}`, content))
				var got struct {
					Messages []map[string]json.RawMessage `json:"messages"`
				}
				if err := json.Unmarshal([]byte(sent), &got); err != nil || len(got.Messages) != 3 {
					t.Fatalf("%v: %s", err, sent)
				}
				var thought string
				_ = json.Unmarshal(got.Messages[1]["reasoning_content"], &thought)
				if thought != "I \"should\" look.\n😀" || got.Messages[1]["reasoning_details"] != nil || !strings.Contains(string(got.Messages[1]["tool_calls"]), "call_1") {
					t.Errorf("the upstream got %s of %s", sent, content)
				}
			})
		}
	}
}

// TestThoughtWithoutCall has thoughts in front of an answer that is no call, and more of them than are kept: they are left out, and
// that is said.
func TestThoughtWithoutCall(t *testing.T) {
	t.Parallel()
	const call = `,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]`
	for name, c := range map[string]struct{ thought, call, tools string }{
		"no call":  {"hm", "", `"tools":[{"name":"f","input_schema":{"type":"object"}}],`},
		"no tools": {"hm", call, ""},
		"too long": {strings.Repeat("hm ", 100<<10), call, `"tools":[{"name":"f","input_schema":{"type":"object"}}],`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := static(t, 200, "application/json", fmt.Sprintf(`{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":%q,"content":"ok"%s},"finish_reason":"stop"}]}`, c.thought, c.call))
			g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q}}\nmodels: {a: {targets: [{provider: up, model: m}]}}", url))
			r := g.messages(`{"model":"a","max_tokens":9,` + c.tools + `"messages":[{"role":"user","content":"go"}]}`)
			if r.status != 200 || strings.Contains(r.body, "redacted_thinking") || r.header.Get("x-callgate-warnings") != "dropped:thinking" {
				t.Errorf("got status %d, the header %v and %s", r.status, r.header, r.body)
			}
		})
	}
}
