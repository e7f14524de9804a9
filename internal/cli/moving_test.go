package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/gateway/protocol/messages/messagestest"
	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
)

// signature is what Anthropic has signed a thought with.
const signature = "EqQBown+/=="

// movingUpstreams are an upstream of Anthropic's API, which thinks, signs and calls f, and another one
// of chat completions, which calls g. The first fails while down is set.
type movingUpstreams struct {
	down          atomic.Bool
	mu            sync.Mutex
	claudes, open []string // the bodies that they got
}

func (u *movingUpstreams) claude(w http.ResponseWriter, r received) {
	if u.down.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, `{"type":"error","error":{"type":"api_error","message":"down"}}`)
		return
	}
	u.mu.Lock()
	u.claudes = append(u.claudes, r.body)
	u.mu.Unlock()
	if !r.wantsStream() {
		w.Header().Set("content-type", "application/json")
		fmt.Fprintf(w, `{"id":"msg_01","type":"message","role":"assistant","model":"claude-x","content":[{"type":"thinking","thinking":"hm","signature":%q},{"type":"redacted_thinking","data":"zz"},{"type":"tool_use","id":"toolu_01","name":"f","input":{"a":1.0}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":3}}`, signature)
		return
	}
	w.Header().Set("content-type", events)
	io.WriteString(w, strings.ReplaceAll(anthropicStream, "EqQBabc==", signature))
}

func (u *movingUpstreams) chat(w http.ResponseWriter, r received) {
	u.mu.Lock()
	u.open = append(u.open, r.body)
	u.mu.Unlock()
	if !r.wantsStream() {
		w.Header().Set("content-type", "application/json")
		io.WriteString(w, `{"id":"c1","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":{"role":"assistant","content":null,"reasoning_content":"second thoughts","tool_calls":[{"id":"call_9","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
		return
	}
	w.Header().Set("content-type", events)
	const head = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":`
	io.WriteString(w, head+`{"reasoning_content":"second thoughts"},"finish_reason":null}]}`+"\n\n"+
		head+`{"tool_calls":[{"index":0,"id":"call_9","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":null}]}`+"\n\n"+
		head+`{},"finish_reason":"tool_calls"}]}`+"\n\n"+done)
}

// movingClient is a client that goes on with a conversation by what it was given.
type movingClient struct {
	path string
	// next is the request that answers the calls of all answers so far.
	next func(stream bool) string
	// take reads an answer.
	take func(t *testing.T, r result, stream bool)
}

// TestFallbackInConversation has a conversation that moves from Anthropic's API to chat completions
// and back, as the first upstream fails for a turn: what was thought, signed and called before is
// there in each, and what one has not signed does not go to it.
func TestFallbackInConversation(t *testing.T) {
	t.Parallel()
	clients := map[string]func() *movingClient{"messages": movingMessages, "responses": movingResponses, "chat": movingChat}
	for name, client := range clients {
		for _, stream := range []bool{false, true} {
			// The date is an edit of the gateway's own, which must cost nothing of this.
			for _, date := range []string{"", "date_context: UTC, "} {
				t.Run(fmt.Sprintf("%s/stream=%v/%s", name, stream, date), func(t *testing.T) {
					t.Parallel()
					playMoving(t, client(), stream, date)
				})
			}
		}
	}
}

func playMoving(t *testing.T, c *movingClient, stream bool, date string) {
	u := &movingUpstreams{}
	g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {claude: {type: anthropic, base_url: %q, circuit_breaker: {failure_threshold: 100}, retry: {max_retries: 0}}, open: {type: openai, base_url: %q}}\n"+
		"models: {m: {%stargets: [{provider: claude, model: claude-sonnet-4-5}, {provider: open, model: up}]}}", upstream(t, u.claude), upstream(t, u.chat), date))
	for turn := range 3 {
		u.down.Store(turn == 1)
		r := g.do(g.request("POST", c.path, c.next(stream)))
		if r.status != http.StatusOK {
			t.Fatalf("turn %d: got status %d: %s", turn, r.status, r.body)
		}
		c.take(t, r, stream)
	}
	if len(u.claudes) != 2 || len(u.open) != 1 {
		t.Fatalf("got %d and %d requests", len(u.claudes), len(u.open))
	}
	var open struct {
		Messages []struct {
			Role      string
			Reasoning string `json:"reasoning_content"`
			CallID    string `json:"tool_call_id"`
			Calls     []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal([]byte(u.open[0]), &open); err != nil {
		t.Fatal(err)
	}
	last := open.Messages[len(open.Messages)-2:]
	if len(last[0].Calls) != 1 || last[0].Calls[0].ID != "toolu_01" || last[0].Calls[0].Function.Name != "f" || last[0].Reasoning != "hm" || last[1].CallID != "toolu_01" {
		t.Errorf("the second upstream got %s", u.open[0])
	}
	var back struct {
		System   any
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err := json.Unmarshal([]byte(u.claudes[1]), &back); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(fmt.Sprint(back.System), "Today's date") != (date != "") {
		t.Errorf("the first upstream got the system %v", back.System)
	}
	if len(back.Messages) != 5 {
		t.Fatalf("the first upstream got %s", u.claudes[1])
	}
	content, _ := json.Marshal(back.Messages[1].Content)
	var blocks []messagestest.Block
	_ = json.Unmarshal(content, &blocks)
	kinds := ""
	for _, b := range blocks {
		kinds += b.Type + " "
	}
	if !strings.HasPrefix(kinds, "thinking redacted_thinking ") || !strings.HasSuffix(kinds, "tool_use ") || blocks[0].Signature != signature || blocks[0].Thinking != "hm" ||
		blocks[1].Data != "zz" || blocks[len(blocks)-1].ID != "toolu_01" {
		t.Errorf("the first upstream got back %s", content)
	}
	content, _ = json.Marshal(back.Messages[3].Content)
	if !strings.Contains(string(content), `"call_9"`) || strings.Contains(string(content), "second thoughts") {
		t.Errorf("of the second upstream's turn the first got %s", content)
	}
}

func movingMessages() *movingClient {
	list := []any{map[string]any{"role": "user", "content": "go"}}
	return &movingClient{
		path: "/v1/messages",
		next: func(stream bool) string {
			b, _ := json.Marshal(map[string]any{"model": "m", "max_tokens": 9000, "stream": stream, "thinking": map[string]any{"type": "adaptive"}, "messages": list,
				"tools": []any{map[string]any{"name": "f", "input_schema": map[string]any{"type": "object"}}, map[string]any{"name": "g", "input_schema": map[string]any{"type": "object"}}}})
			return string(b)
		},
		take: func(t *testing.T, r result, stream bool) {
			check := messagestest.Whole
			if stream {
				check = messagestest.Stream
			}
			m, err := check([]byte(r.body))
			if err != nil {
				t.Fatalf("%v in %s", err, r.body)
			}
			var results []any
			for _, b := range m.Content {
				if b.Type == "tool_use" {
					results = append(results, map[string]any{"type": "tool_result", "tool_use_id": b.ID, "content": "ok"})
				}
			}
			list = append(list, map[string]any{"role": "assistant", "content": m.Content}, map[string]any{"role": "user", "content": results})
		},
	}
}

func movingResponses() *movingClient {
	input := []any{map[string]any{"role": "user", "content": "go"}}
	return &movingClient{
		path: "/v1/responses",
		next: func(stream bool) string {
			b, _ := json.Marshal(map[string]any{"model": "m", "stream": stream, "store": false, "include": []string{"reasoning.encrypted_content"}, "input": input,
				"tools": []any{map[string]any{"type": "function", "name": "f"}, map[string]any{"type": "function", "name": "g"}}})
			return string(b)
		},
		take: func(t *testing.T, r result, stream bool) {
			var response responsestest.Object
			var err error
			if stream {
				var s *responsestest.Stream
				s, err = responsestest.CheckStream([]byte(r.body))
				response = s.Final
			} else {
				response, err = responsestest.CheckResponse([]byte(r.body))
			}
			if err != nil {
				t.Fatalf("%v in %s", err, r.body)
			}
			for _, item := range response["output"].([]any) {
				input = append(input, item)
			}
			for _, item := range response["output"].([]any) {
				if o := item.(map[string]any); o["type"] == "function_call" {
					input = append(input, map[string]any{"type": "function_call_output", "call_id": o["call_id"], "output": "ok"})
				}
			}
		},
	}
}

// movingChat sends reasoning_details back, as clients of OpenRouter do.
func movingChat() *movingClient {
	list := []any{map[string]any{"role": "user", "content": "go"}}
	return &movingClient{
		path: "/v1/chat/completions",
		next: func(stream bool) string {
			b, _ := json.Marshal(map[string]any{"model": "m", "stream": stream, "messages": list, "tools": []any{
				map[string]any{"type": "function", "function": map[string]any{"name": "f"}}, map[string]any{"type": "function", "function": map[string]any{"name": "g"}}}})
			return string(b)
		},
		take: func(t *testing.T, r result, stream bool) {
			message := map[string]any{"role": "assistant", "content": nil}
			var details []any
			for _, d := range dataOf(r) {
				var k struct {
					Choices []struct {
						Delta, Message struct {
							Reasoning string `json:"reasoning_content"`
							Details   []any  `json:"reasoning_details"`
						}
					}
				}
				_ = json.Unmarshal([]byte(d), &k)
				for _, c := range k.Choices {
					details = append(append(details, c.Delta.Details...), c.Message.Details...)
					if s := c.Delta.Reasoning + c.Message.Reasoning; s != "" {
						had, _ := message["reasoning_content"].(string)
						message["reasoning_content"] = had + s
					}
				}
			}
			if details != nil {
				message["reasoning_details"] = details
			}
			name, id := "f", "toolu_01"
			if strings.Contains(r.body, "call_9") {
				name, id = "g", "call_9"
			}
			message["tool_calls"] = []any{map[string]any{"id": id, "type": "function", "function": map[string]any{"name": name, "arguments": "{}"}}}
			list = append(list, message, map[string]any{"role": "tool", "tool_call_id": id, "content": "ok"})
		},
	}
}

// TestEditsKeepClaudesOwn has every sort of edit of the gateway's in a request of the Messages API to
// an upstream that speaks it: signatures, marks for the cache and tools of Anthropic's own stay.
func TestEditsKeepClaudesOwn(t *testing.T) {
	t.Parallel()
	const tool = `{"name":"complete_task","input_schema":{"type":"object","properties":{"id":{"type":"string"%s}},"required":["id"]},"cache_control":{"type":"ephemeral"}}`
	const own = `{"type":"web_search_20250305","name":"web_search"}`
	const system = `[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}]`
	const past = `{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"EqQBown"},{"type":"tool_use","id":"toolu_0","name":"complete_task","input":{"id":1.50}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_0","content":"r"}%s]}`
	rows := map[string]struct {
		route, more      string // keys of the route, and members of the request
		declared         string // in the schema
		asked            int
		says             []string // of the last request
		system, lastText string
	}{
		"date":       {route: "date_context: UTC", asked: 1, system: `,{"type":"text","text":"Today's date is `},
		"references": {route: "guard: off", declared: `,"x-reference":{"tool":"list_tasks","match":"title","value":"id"}`, asked: 1},
		"loop": {route: "{loop_guard: answer, max_rounds: 1}", asked: 1, says: []string{`"tool_choice":{"type":"none"}`},
			lastText: `,{"type":"text","text":"No further tool calls`},
		"guard":         {route: "guard: enforce", asked: 2, lastText: `,{"type":"text","text":"`},
		"forced choice": {route: "guard: enforce", more: `"thinking":{"type":"adaptive"},`, asked: 2, lastText: `,{"type":"text","text":"`},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var bodies []string
			url := upstream(t, func(w http.ResponseWriter, r received) {
				mu.Lock()
				bodies = append(bodies, r.body)
				mu.Unlock()
				w.Header().Set("content-type", "application/json")
				io.WriteString(w, `{"id":"msg_01","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"Done! I've completed the task Buy milk."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":3}}`)
			})
			route := strings.Trim(row.route, "{}")
			g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: anthropic, base_url: %q}}\nmodels: {m: {%s, targets: [{provider: up, model: claude-x}]}}", url, route))
			talk := fmt.Sprintf(past, "")
			if name == "guard" || name == "forced choice" {
				talk = fmt.Sprintf(past, `,{"type":"text","text":"Complete the task Buy milk."}`)
			}
			request := `{"model":%q,"max_tokens":9,` + row.more + `"container":"c","system":` + system + `,"tools":[` + own + `,` + tool + `],"messages":[` + talk + `]}`
			r := g.messages(fmt.Sprintf(request, "m", row.declared))
			if r.status != http.StatusOK && name != "guard" && name != "forced choice" || len(bodies) < row.asked {
				t.Fatalf("got status %d after %d requests: %s", r.status, len(bodies), r.body)
			}
			last := bodies[len(bodies)-1]
			for _, kept := range append(row.says, `"signature":"EqQBown"`, own, `"container":"c"`, `"input":{"id":1.50}`, fmt.Sprintf(tool, ""), strings.TrimSuffix(system, "]")+row.system) {
				if !strings.Contains(last, kept) {
					t.Errorf("got no %s in\n%s", kept, last)
				}
			}
			if !strings.Contains(last, `"content":"r"}`+row.lastText) && row.lastText != "" && !strings.Contains(last, `Buy milk."}`+row.lastText) {
				t.Errorf("got no %s behind the last message in\n%s", row.lastText, last)
			}
			if row.more != "" && strings.Contains(last, "tool_choice") {
				t.Errorf("got a demanded call of a model that thinks in\n%s", last)
			}
		})
	}
}
