package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/protocol/messages/messagestest"
)

// messages posts a body to the Messages API, as Claude Code does.
func (g *gate) messages(body string, header ...string) result {
	g.t.Helper()
	return g.do(g.request("POST", "/v1/messages?beta=true", body, append([]string{"anthropic-version", "2023-06-01"}, header...)...))
}

// claudeCode is a turn as Claude Code sends it to a model that it does not know. paid is what the
// first block of the system says of who pays.
func claudeCode(paid string) string {
	var tools []string
	for i := range 24 {
		tools = append(tools, fmt.Sprintf(`{"name":"Tool%d","description":%q,"input_schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"command":{"type":"string"}},"required":["command"],"additionalProperties":false},"eager_input_streaming":true,"defer_loading":true,"cache_control":{"type":"ephemeral"}}`, i, strings.Repeat("What it does. ", 150)))
	}
	return `{"model":"claude-qwen3","max_tokens":32000,"stream":true,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},` +
		`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"s\"}"},` +
		`"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1; cc_entrypoint=cli; cch=` + paid + `;"},{"type":"text","text":"You are Claude Code.","cache_control":{"type":"ephemeral"}},{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral","scope":"global"}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"list files","cache_control":{"type":"ephemeral"}}]},{"role":"system","content":"The skills are: none."}],"tools":[` + strings.Join(tools, ",") + `]}`
}

const betas = "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,prompt-caching-scope-2026-01-05,mid-conversation-system-2026-02-01,effort-2025-11-24"

// TestMessagesClaudeCode has a turn of Claude Code's: no field of it is refused, the system's
// messages stand in front, and what differs with every request is not in the prompt.
func TestMessagesClaudeCode(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var bodies []string
	url := upstream(t, func(w http.ResponseWriter, r received) {
		mu.Lock()
		bodies = append(bodies, r.body)
		mu.Unlock()
		w.Header().Set("content-type", "text/event-stream")
		io.WriteString(w, stream("Let me see.\n<tool_call>\n{\"name\": \"Tool3\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>"))
	})
	g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q}}\nmodels: {claude-qwen3: {targets: [{provider: up, model: qwen3, parser: hermes}]}}", url))
	for _, paid := range []string{"1a2b", "3c4d"} {
		r := g.messages(claudeCode(paid), "anthropic-beta", betas)
		m, err := messagestest.Stream([]byte(r.body))
		if r.status != 200 || err != nil {
			t.Fatalf("got status %d, %v:\n%s", r.status, err, r.body)
		}
		if got := messageMeaning(m); got.text != "Let me see.\n" && got.text != "Let me see." || len(got.calls) != 1 || got.calls[0] != `Tool3 {"command": "ls"}` {
			t.Errorf("got %+v", got)
		}
		if r.header.Get("request-id") == "" || r.header.Get("content-type") != "text/event-stream" {
			t.Errorf("got the header %v", r.header)
		}
	}
	if bodies[0] != bodies[1] {
		t.Error("two requests that differ in who pays alone go out as different prompts")
	}
	var got struct {
		Messages []struct{ Role, Content string }
		Tools    []any
	}
	if err := json.Unmarshal([]byte(bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Tools) != 24 || len(got.Messages) != 2 || got.Messages[0].Role != "system" || got.Messages[0].Content != "You are Claude Code.\n\nBe brief.\n\nThe skills are: none." ||
		got.Messages[1].Content != "<system-reminder>x</system-reminder>\n\nlist files" {
		t.Errorf("got %d tools and the messages %+v", len(got.Tools), got.Messages)
	}
	for _, word := range []string{"cch=", "context_management", "eager_input", "cache_control", "session_id"} {
		if strings.Contains(bodies[0], word) {
			t.Errorf("%s goes to the upstream", word)
		}
	}
}

// TestMessagesErrors has failures of upstreams, in Anthropic's form.
func TestMessagesErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status           int
		body             string
		wantStatus       int
		wantType, says   string
		retry, wantRetry string
	}{
		"rate limit":     {429, `{"error":{"message":"slow down","type":"x","code":"rate_limit_exceeded"}}`, 429, "rate_limit_error", "", "3", "true"},
		"overloaded":     {529, `{"error":{"message":"busy"}}`, 529, "overloaded_error", "", "", "true"},
		"unavailable":    {503, `{"error":{"message":"busy"}}`, 503, "overloaded_error", "", "", "true"},
		"broken":         {500, `oops`, 500, "api_error", "", "", "true"},
		"no such model":  {404, `{"error":{"message":"no model","code":"model_not_found"}}`, 404, "not_found_error", "no model", "", "false"},
		"refused":        {400, `{"error":{"message":"Bad tool schema."}}`, 400, "invalid_request_error", "Bad tool schema.", "", "false"},
		"OpenAI's limit": {400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.","code":"context_length_exceeded"}}`, 400, "invalid_request_error", "prompt is too long: 9001 tokens > 8192 maximum", "", "false"},
		"vLLM's limit":   {400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5120 tokens (4120 in the messages, 1000 in the completion).","type":"BadRequestError","code":400}`, 400, "invalid_request_error", "prompt is too long: 5120 tokens > 4096 maximum", "", "false"},
		"llama.cpp's":    {400, `{"error":{"code":400,"message":"request (70001 tokens) exceeds the available context size (65536 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":70001,"n_ctx":65536}}`, 400, "invalid_request_error", "prompt is too long: 70001 tokens > 65536 maximum", "", "false"},
		"DashScope's":    {400, `{"error":{"message":"Range of input length should be [1, 30720]","code":"invalid_parameter_error"}}`, 400, "invalid_request_error", "prompt is too long: 30721 tokens > 30720 maximum", "", "false"},
		"Gemini's":       {400, `{"error":{"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","code":400}}`, 400, "invalid_request_error", "prompt is too long: 1200000 tokens > 1048576 maximum", "", "false"},
		"Moonshot's":     {400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072","type":"invalid_request_error"}}`, 400, "invalid_request_error", "prompt is too long: 131073 tokens > 131072 maximum", "", "false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := []string{}
			if c.retry != "" {
				header = append(header, "retry-after", c.retry)
			}
			url := static(t, c.status, "application/json", c.body, header...)
			g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q, retry: {max_retries: 0, max_delay: 1s}}}\nadmin: {listen: \"off\"}", url))
			for _, streamed := range []bool{false, true} {
				r := g.messages(fmt.Sprintf(`{"model":"up/m","max_tokens":9,"stream":%v,"messages":[{"role":"user","content":"hi"}]}`, streamed))
				var got struct {
					Type      string
					Error     messagestest.StreamError
					RequestID string `json:"request_id"`
				}
				if err := json.Unmarshal([]byte(r.body), &got); err != nil {
					t.Fatalf("%v in %s", err, r.body)
				}
				if r.status != c.wantStatus || got.Type != "error" || got.Error.Type != c.wantType || got.Error.Message == "" || !strings.Contains(got.Error.Message, c.says) {
					t.Errorf("got status %d and %s, want %d, %s, %q", r.status, r.body, c.wantStatus, c.wantType, c.says)
				}
				if got.RequestID == "" || r.header.Get("request-id") != got.RequestID || r.header.Get("x-should-retry") != c.wantRetry || r.header.Get("retry-after") != c.retry {
					t.Errorf("got the header %v and the id %q", r.header, got.RequestID)
				}
			}
		})
	}
}

// TestMessagesOwnErrors has mistakes of clients.
func TestMessagesOwnErrors(t *testing.T) {
	t.Parallel()
	g := serve(t, "limits: {body: 64KiB}")
	for name, c := range map[string]struct {
		body   string
		status int
		kind   string
	}{
		"no JSON":       {`{`, 400, "invalid_request_error"},
		"a model twice": {`{"model":"a","model":"b","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, 400, "invalid_request_error"},
		"no such model": {`{"model":"nope","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, 404, "not_found_error"},
		"too large":     {`{"model":"demo/echo","max_tokens":1,"messages":[{"role":"user","content":"` + strings.Repeat("x", 65<<10) + `"}]}`, 413, "request_too_large"},
		"prefill":       {`{"model":"demo/echo","max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}`, 400, "invalid_request_error"},
		"a PDF's URL":   {`{"model":"demo/echo","max_tokens":1,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"url","url":"https://x/a.pdf"}}]}]}`, 400, "invalid_request_error"},
		"a deep schema": {`{"model":"demo/echo","max_tokens":1,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":` + strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200) + `}]}`, 400, "invalid_request_error"},
	} {
		r := g.messages(c.body)
		if r.status != c.status || !strings.Contains(r.body, `{"type":"error","error":{"type":"`+c.kind+`"`) || r.header.Get("request-id") == "" {
			t.Errorf("%s: got status %d and %s, want %d and %s", name, r.status, r.body, c.status, c.kind)
		}
	}
}

// TestMessagesKeys has the headers in which clients send their key.
func TestMessagesKeys(t *testing.T) {
	t.Parallel()
	g := serve(t, fmt.Sprintf("admin: {listen: \"off\"}\nproviders: {demo: {type: demo}}\nkeys: [{name: a, hash: %q}, {name: b, hash: %q}]", hashed("cg-a"), hashed("cg-b")))
	const body = `{"model":"demo/echo","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
	for want, headers := range map[int][][]string{
		200: {{"x-api-key", "cg-a"}, {"authorization", "Bearer cg-a"}, {"x-api-key", "cg-a", "authorization", "Bearer cg-a"}, {"x-api-key", "sk-ant-other", "authorization", "Bearer cg-a"}, {"x-api-key", "cg-b", "authorization", "Bearer other"}},
		401: {{}, {"x-api-key", ""}, {"x-api-key", "cg-c"}, {"authorization", "Basic cg-a"}, {"x-api-key", "cg-a", "authorization", "Bearer cg-b"}},
	} {
		for _, h := range headers {
			r := g.messages(body, h...)
			told := strings.Contains(r.body, `"type":"authentication_error"`) && strings.Contains(r.body, `\"x-api-key\" or`)
			if r.status != want || want == 401 && !told {
				t.Errorf("%v: got status %d and %s, want %d", h, r.status, r.body, want)
			}
			if r := g.get("/v1/models", append([]string{"anthropic-version", "2023-06-01"}, h...)...); r.status != want {
				t.Errorf("%v: got status %d for the models, want %d", h, r.status, want)
			}
		}
	}
}

// TestMessagesBeside has what clients of the Messages API ask besides.
func TestMessagesBeside(t *testing.T) {
	t.Parallel()
	g := serve(t, "providers: {demo: {type: demo}}\nmodels: {claude-b: {targets: [{provider: demo, model: echo}]}, claude-c: {targets: [{provider: demo, model: echo}]}, \"a/x y\": {targets: [{provider: demo, model: echo}]}}")
	if r := g.do(g.request("HEAD", "/", "")); r.status != 200 {
		t.Errorf("HEAD /: got status %d", r.status)
	}
	const hi = `{"model":"claude-b","messages":[{"role":"user","content":"How many tokens does this have?"}]`
	counts := []int{}
	for _, more := range []string{"", `,"system":"Some words to the model that it is to heed."`, `,"tools":[{"name":"f","description":"It does this and that.","input_schema":{"type":"object","properties":{"city":{"type":"string"}}}}]`} {
		r := g.do(g.request("POST", "/v1/messages/count_tokens?beta=true", hi+more+"}"))
		var got struct {
			N int `json:"input_tokens"`
		}
		if err := json.Unmarshal([]byte(r.body), &got); r.status != 200 || err != nil || got.N < 8 || r.header.Get("request-id") == "" {
			t.Errorf("got status %d and %s", r.status, r.body)
		}
		counts = append(counts, got.N)
	}
	if counts[1] <= counts[0]+5 || counts[2] <= counts[0]+10 {
		t.Errorf("got the counts %v: the system and the tools count", counts)
	}
	for _, header := range [][]string{nil, {"x-callgate-max-retries", "many"}} { // a request that would not be answered is not counted
		model := "no-such-model"
		if header != nil {
			model = "m"
		}
		body := `{"model":"` + model + `","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`
		want, got := g.do(g.request("POST", "/v1/messages", body, header...)), g.do(g.request("POST", "/v1/messages/count_tokens", body, header...))
		said := func(r result) string { before, _, _ := strings.Cut(r.body, `"request_id"`); return before }
		if want.status == 200 || got.status != want.status || said(got) != said(want) {
			t.Errorf("%v: got %d %s, want %d %s", header, got.status, got.body, want.status, want.body)
		}
	}
	if r := g.do(g.request("POST", "/v1/messages/count_tokens", `{"model":"m","messages":3}`)); r.status != 400 || !strings.Contains(r.body, `"invalid_request_error"`) {
		t.Errorf("got status %d and %s", r.status, r.body)
	}
	version := []string{"anthropic-version", "2023-06-01"}
	for path, want := range map[string]string{
		"/v1/models?limit=2":                    `{"data":[{"type":"model","id":"a/x y","display_name":"a/x y","created_at":"1970-01-01T00:00:00Z"},{"type":"model","id":"claude-b","display_name":"claude-b","created_at":"1970-01-01T00:00:00Z"}],"has_more":true,"first_id":"a/x y","last_id":"claude-b"}`,
		"/v1/models?limit=1&after_id=claude-b":  `{"data":[{"type":"model","id":"claude-c","display_name":"claude-c","created_at":"1970-01-01T00:00:00Z"}],"has_more":true,"first_id":"claude-c","last_id":"claude-c"}`,
		"/v1/models?limit=1&before_id=claude-c": `{"data":[{"type":"model","id":"claude-b","display_name":"claude-b","created_at":"1970-01-01T00:00:00Z"}],"has_more":true,"first_id":"claude-b","last_id":"claude-b"}`,
		"/v1/models/claude-b":                   `{"type":"model","id":"claude-b","display_name":"claude-b","created_at":"1970-01-01T00:00:00Z"}`,
	} {
		if r := g.get(path, version...); r.status != 200 || strings.TrimSpace(r.body) != want {
			t.Errorf("%s: got status %d and %s\nwant %s", path, r.status, r.body, want)
		}
	}
	if r := g.get("/v1/models/a/x%20y"); r.status != 200 || strings.TrimSpace(r.body) != `{"id":"a/x y","object":"model","created":0,"owned_by":"callgate"}` {
		t.Errorf("got status %d and %s", r.status, r.body)
	}
	if r := g.get("/v1/models/nope", version...); r.status != 404 || !strings.Contains(r.body, `"type":"not_found_error"`) {
		t.Errorf("got status %d and %s", r.status, r.body)
	}
	if r := g.get("/v1/models/nope"); r.status != 404 || !strings.Contains(r.body, `"code":"model_not_found"`) {
		t.Errorf("got status %d and %s", r.status, r.body)
	}
	if r := g.get("/v1/models?limit=x", version...); r.status != 400 {
		t.Errorf("got status %d and %s", r.status, r.body)
	}
}

// TestMessagesPing has an upstream that is silent, before its answer and within it, and ends
// without its end: events of Anthropic's say both.
func TestMessagesPing(t *testing.T) {
	t.Parallel()
	goOn := make(chan bool)
	url := upstream(t, func(w http.ResponseWriter, r received) {
		<-goOn
		w.Header().Set("content-type", "text/event-stream")
		send(w, delta("one"))
		<-goOn
		send(w, delta("two"))
	})
	g := serve(t, fmt.Sprintf("heartbeat: 1ms\nproviders: {up: {type: openai, base_url: %q, retry: {max_retries: 0}}}", url))
	resp, err := g.client.Do(g.request("POST", "/v1/messages", `{"model":"up/m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var all []byte
	read := func(until string) {
		for from := len(all); !strings.Contains(string(all[from:]), until); {
			b := make([]byte, 4<<10)
			n, err := resp.Body.Read(b)
			all = append(all, b[:n]...)
			if err != nil {
				t.Fatalf("%v behind\n%s", err, all)
			}
		}
	}
	const ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	read(ping)
	goOn <- true
	read(`"text":"one"`)
	read(ping)
	goOn <- true
	rest, _ := io.ReadAll(resp.Body)
	all = append(all, rest...)
	var failure *messagestest.StreamError
	m, err := messagestest.Stream(all)
	if !errors.As(err, &failure) || failure.Type != "api_error" || !strings.HasPrefix(m.ID, "msg_") {
		t.Errorf("got %v and %+v of\n%s", err, m, all)
	}
}

// TestMessagesFailsLate has an upstream that fails when pings have gone out already.
func TestMessagesFailsLate(t *testing.T) {
	t.Parallel()
	url := upstream(t, func(w http.ResponseWriter, r received) {
		time.Sleep(20 * time.Millisecond) // some heartbeats; without one the status says the same
		http.Error(w, `{"error":{"message":"down"}}`, http.StatusServiceUnavailable)
	})
	g := serve(t, fmt.Sprintf("heartbeat: 1ms\nproviders: {up: {type: openai, base_url: %q, retry: {max_retries: 0}}}", url))
	r := g.messages(`{"model":"up/m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	var failure *messagestest.StreamError
	if _, err := messagestest.Stream([]byte(r.body)); r.status == 200 && (!errors.As(err, &failure) || failure.Type != "overloaded_error") {
		t.Errorf("got %v of\n%s", err, r.body)
	}
}

const anthropicStream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_01\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-x\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":11,\"cache_read_input_tokens\":1000,\"cache_creation_input_tokens\":200,\"cache_creation\":{\"ephemeral_5m_input_tokens\":150,\"ephemeral_1h_input_tokens\":50},\"output_tokens\":1}}}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n" +
	"event: ping\ndata: {\"type\":\"ping\"}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"EqQBabc==\"}}\n\n" +
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"zz\"}}\n\n" +
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"server_tool_use\",\"id\":\"srvtoolu_1\",\"name\":\"web_search\",\"input\":{}}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"query\\\":\\\"x\\\"}\"}}\n\n" +
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":2}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"text_delta\",\"text\":\"caf\\u00e9\"}}\n\n" +
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":3}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":4,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_01\",\"name\":\"f\",\"input\":{}}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":4,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\": 1.0}\"}}\n\n" +
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":4}\n\n" +
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":30,\"server_tool_use\":{\"web_search_requests\":1}},\"context_management\":{\"applied_edits\":[]}}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

const anthropicWhole = `{"id":"msg_01","type":"message","role":"assistant","model":"claude-x","content":[{"type":"thinking","thinking":"hm","signature":"EqQBabc=="},{"type":"text","text":"one ","citations":[{"type":"char_location","cited_text":"x"}]},{"type":"text","text":"two"},{"type":"thinking","thinking":"and","signature":"Eq2="},{"type":"tool_use","id":"toolu_01","name":"f","input":{"a": 1.0}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":11,"cache_read_input_tokens":1000,"cache_creation_input_tokens":200,"output_tokens":30},"context_management":{"applied_edits":[]}}`

// TestMessagesAnthropic has an upstream that speaks the Messages API itself: it gets what the
// client has sent but the model's name, and the client gets what it says.
func TestMessagesAnthropic(t *testing.T) {
	t.Parallel()
	bodies, headers := make(chan string, 9), make(chan http.Header, 9)
	url := upstream(t, func(w http.ResponseWriter, r received) {
		bodies <- r.body
		headers <- r.Header
		if r.wantsStream() {
			w.Header().Set("content-type", "text/event-stream")
			io.WriteString(w, anthropicStream)
			return
		}
		w.Header().Set("content-type", "application/json")
		w.Header().Set("request-id", "req_theirs")
		io.WriteString(w, anthropicWhole)
	})
	g := serve(t, fmt.Sprintf("providers: {up: {type: anthropic, base_url: %q, api_key: sk-up}}\nmodels: {opus: {targets: [{provider: up, model: claude-x}]}}", url))
	const request = `{ "model": "%s", "max_tokens":9,"stream":%t, "thinking":{"type":"enabled","budget_tokens":2000}, "container":"c", "context_management":{"edits":[]},"mcp_servers":[],` +
		`"system":[{"type":"text","text":"x-anthropic-billing-header: cch=1;"},{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],"tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"f","input_schema":{ },"cache_control":{"type":"ephemeral"}}],` +
		`"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"EqQBown"},{"type":"redacted_thinking","data":"d"},{"type":"tool_use","id":"toolu_0","name":"f","input":{ "x":1.50 }}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_0","content":[{"type":"image","source":{"type":"file","file_id":"file_1"}}]},{"type":"text","text":"caf\u00e9"}]},{"role":"system","content":"mid"}]}`
	for _, streamed := range []bool{true, false} {
		r := g.messages(fmt.Sprintf(request, "opus", streamed), "anthropic-beta", betas)
		equalBytes(t, "requests", <-bodies, fmt.Sprintf(request, "claude-x", streamed))
		if h := <-headers; h.Get("anthropic-beta") != betas || h.Get("x-api-key") != "sk-up" || h.Get("anthropic-version") != "2023-06-01" {
			t.Errorf("got the header %v", h)
		}
		if r.status != 200 {
			t.Fatalf("got status %d: %s", r.status, r.body)
		}
		if streamed {
			m, err := messagestest.Stream([]byte(r.body))
			if err != nil {
				t.Fatalf("%v in\n%s", err, r.body)
			}
			got, _ := json.Marshal(m.Content)
			const want = `[{"type":"thinking","thinking":"hm","signature":"EqQBabc=="},{"type":"redacted_thinking","data":"zz"},{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},{"type":"text","text":"café"},{"type":"tool_use","id":"toolu_01","name":"f","input":{"a":1.0}}]`
			if string(got) != want || m.ID != "msg_01" {
				t.Errorf("got  %s\nwant %s\n%s", got, want, r.body)
			}
			sameData(t, r.body, anthropicStream)
			continue
		}
		equalBytes(t, "answers", r.body, anthropicWhole)
		if r.header.Get("request-id") == "req_theirs" || r.header.Get("x-callgate-upstream-request-id") != "req_theirs" {
			t.Errorf("got the header %v", r.header)
		}
	}
}

// TestMessagesMoves has a conversation that began with a model which writes calls as text, and
// goes on with Anthropic's: what that has never signed does not go there, and all else does.
func TestMessagesMoves(t *testing.T) {
	t.Parallel()
	text := static(t, 200, "text/event-stream", stream("<think>I think.</think>Let me see.<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"))
	bodies := make(chan string, 1)
	claude := upstream(t, func(w http.ResponseWriter, r received) {
		bodies <- r.body
		w.Header().Set("content-type", "application/json")
		io.WriteString(w, anthropicWhole)
	})
	g := serve(t, fmt.Sprintf("providers: {text: {type: openai, base_url: %q}, claude: {type: anthropic, base_url: %q}}\nmodels: {a: {targets: [{provider: text, model: m, parser: hermes}]}, b: {targets: [{provider: claude, model: m}]}}", text, claude))
	const tools = `"thinking":{"type":"enabled","budget_tokens":2000},"tools":[{"name":"f","input_schema":{"type":"object"}}]`
	r := g.messages(`{"model":"a","max_tokens":9,"stream":true,` + tools + `,"messages":[{"role":"user","content":"go"}]}`)
	m, err := messagestest.Stream([]byte(r.body))
	if err != nil || len(m.Content) != 3 || m.Content[0].Thinking != "I think." {
		t.Fatalf("got %v and %s", err, r.body)
	}
	content, _ := json.Marshal(m.Content)
	r = g.messages(fmt.Sprintf(`{"model":"b","max_tokens":9,%s,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":%s},{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"r"}]}]}`, tools, content, m.Content[2].ID))
	if r.status != 200 || !strings.Contains(r.header.Get("x-callgate-warnings"), "dropped:messages.thinking") {
		t.Errorf("got status %d, the header %v and %s", r.status, r.header, r.body)
	}
	want := fmt.Sprintf(`{"model":"m","max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"text","text":"Let me see."},{"type":"tool_use","id":%q,"name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"r"}]}]}`, m.Content[2].ID, m.Content[2].ID)
	equalBytes(t, "requests", <-bodies, want)
}

// TestMessagesEncrypted has a model whose provider encrypts what it wants back with the call, as OpenRouter gives it of
// Gemini: a client of the Messages API brings it back, the same as a client of chat completions would, and Anthropic
// never gets it.
func TestMessagesEncrypted(t *testing.T) {
	t.Parallel()
	const detail = `{"type":"reasoning.encrypted","data":"EjQKMgEMOdbH\u002b","format":"google-gemini-v1","id":"tool_f_1","index":0}`
	const call = `"tool_calls":[{"type":"function","index":0,"id":"tool_f_1","function":{"name":"f","arguments":"{}"}}]`
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint(stream), func(t *testing.T) {
			t.Parallel()
			bodies := make(chan string, 1)
			gemini := upstream(t, func(w http.ResponseWriter, r received) {
				bodies <- r.body
				if !stream {
					w.Header().Set("content-type", "application/json")
					io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"g","choices":[{"index":0,"message":{"role":"assistant","content":null,`+call+`,"reasoning_details":[`+detail+`]},"finish_reason":"tool_calls"}]}`)
					return
				}
				w.Header().Set("content-type", "text/event-stream")
				for _, delta := range []string{`{"role":"assistant","content":"",` + call + `}`, `{"content":"","reasoning_details":[` + detail + `]}`} {
					fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"g","choices":[{"index":0,"delta":%s,"finish_reason":null}]}`+"\n\n", delta)
				}
				io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"g","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
			})
			claude := upstream(t, func(w http.ResponseWriter, r received) {
				bodies <- r.body
				w.Header().Set("content-type", "application/json")
				io.WriteString(w, anthropicWhole)
			})
			g := serve(t, fmt.Sprintf("providers: {gemini: {type: openai, base_url: %q}, claude: {type: anthropic, base_url: %q}}\nmodels: {a: {targets: [{provider: gemini, model: m}]}, b: {targets: [{provider: claude, model: m}]}}", gemini, claude))
			const thinks, tools = `"thinking":{"type":"enabled","budget_tokens":2000},`, `"tools":[{"name":"f","input_schema":{"type":"object"}}],`
			ask := func(members, messages string) (r result, sent string) {
				r = g.messages(fmt.Sprintf(`{"max_tokens":9,"stream":%v,%s"messages":[{"role":"user","content":"go"}%s]}`, stream, members, messages))
				return r, <-bodies
			}
			r, _ := ask(`"model":"a",`+thinks+tools, "")
			read := messagestest.Whole
			if stream {
				read = messagestest.Stream
			}
			m, err := read([]byte(r.body))
			if err != nil || len(m.Content) != 2 {
				t.Fatalf("got %v and %s", err, r.body)
			}
			content, _ := json.Marshal(m.Content)
			turn := fmt.Sprintf(`,{"role":"assistant","content":%s},{"role":"user","content":[{"type":"tool_result","tool_use_id":"tool_f_1","content":"r"}]}`, content)
			if _, sent := ask(`"model":"a",`+thinks+tools, turn); !strings.Contains(sent, `{"role":"assistant","content":null,"reasoning_details":[`+detail+`],"tool_calls":[{"id":"tool_f_1"`) {
				t.Errorf("got no detail in %s, of %s", sent, content)
			}
			r, sent := ask(`"model":"b",`+tools, turn)
			if strings.Contains(sent, "redacted_thinking") || !strings.Contains(sent, `[{"type":"tool_use","id":"tool_f_1"`) || !strings.Contains(r.header.Get("x-callgate-warnings")+r.body, "dropped:messages.thinking") {
				t.Errorf("Anthropic got %s, and the client %v and %s", sent, r.header, r.body)
			}
			r, _ = ask(`"model":"a",`+tools, "") // a client that wants no thinking gets it as well: Gemini 3 wants it back all the same
			if m, err = read([]byte(r.body)); err != nil || len(m.Content) != 2 {
				t.Fatalf("got %v and %s", err, r.body)
			}
			content, _ = json.Marshal(m.Content)
			turn = fmt.Sprintf(`,{"role":"assistant","content":%s},{"role":"user","content":[{"type":"tool_result","tool_use_id":"tool_f_1","content":"r"}]}`, content)
			if _, sent := ask(`"model":"a",`+tools, turn); !strings.Contains(sent, `{"role":"assistant","content":null,"reasoning_details":[`+detail+`],"tool_calls":[{"id":"tool_f_1"`) {
				t.Errorf("without thinking got no detail in %s, of %s", sent, content)
			}
		})
	}
}

// TestMessagesKept has answers that are kept: an equal request gets one again, and one that
// has the upstream look something up does not, though the chat completions are the same.
func TestMessagesKept(t *testing.T) {
	t.Parallel()
	asked := make(chan bool, 9)
	url := upstream(t, func(w http.ResponseWriter, r received) {
		asked <- true
		w.Header().Set("content-type", "text/event-stream")
		io.WriteString(w, stream("ok"))
	})
	g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q}}\nmodels: {m: {answer_cache: memory, targets: [{provider: up}]}}", url))
	const request = `{"model":"m","max_tokens":9,"stream":true,"temperature":0,%s"messages":[{"role":"user","content":"hi"}]}`
	for i, c := range []struct{ more, want string }{
		{"", "miss"}, {"", "hit"}, {`"tools":[{"type":"web_search_20250305","name":"web_search"}],`, "bypass"}, {`"thinking":{"type":"disabled"},`, "miss"}, {`"container":"c",`, "bypass"},
	} {
		r := g.messages(fmt.Sprintf(request, c.more))
		m, err := messagestest.Stream([]byte(r.body))
		if err != nil || r.header.Get("x-callgate-cache") != c.want || messageMeaning(m).text != "ok" {
			t.Errorf("request %d: got %v, the header %v and\n%s\nwant %s", i, err, r.header, r.body, c.want)
		}
	}
	if len(asked) != 4 {
		t.Errorf("the upstream was asked %d times, want 4", len(asked))
	}
}

// TestMessagesHaveIDs has an upstream that gives all answers one id, as some servers do. Claude
// Code takes messages with the same id for one: it would send the calls of all in one turn.
func TestMessagesHaveIDs(t *testing.T) {
	t.Parallel()
	url := upstream(t, func(w http.ResponseWriter, r received) {
		if strings.Contains(r.body, `"stream":true`) {
			w.Header().Set("content-type", "text/event-stream")
			io.WriteString(w, stream("Hi."))
			return
		}
		io.WriteString(w, `{"id":"c1","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}`)
	})
	g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q}}", url))
	ids := map[string]bool{}
	for _, streams := range []bool{false, false, true, true} {
		r := g.messages(fmt.Sprintf(`{"model":"up/m","max_tokens":9,"stream":%v,"messages":[{"role":"user","content":"x"}]}`, streams))
		_, rest, _ := strings.Cut(r.body, `"id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		if !strings.HasPrefix(id, "msg_") || ids[id] {
			t.Errorf("got the id %q, want one of its own: %s", id, r.body)
		}
		ids[id] = true
	}
}

// TestCountTokensForwarded has upstreams of Anthropic's API count a request: its own tokens, and our
// estimate where one does not, fails or answers nonsense.
func TestCountTokensForwarded(t *testing.T) {
	t.Parallel()
	const request = `{"model":%q,"system":"s","messages":[{"role":"user","content":"How many tokens have I?"}]}`
	asked := make(chan string, 9)
	for name, c := range map[string]struct {
		kind, answer string
		status       int
		exact        bool
	}{
		"counts":   {"anthropic", `{"input_tokens":4711}`, 200, true},
		"fails":    {"anthropic", `{"type":"error","error":{"type":"api_error","message":"no"}}`, 500, false},
		"nonsense": {"anthropic", `{"tokens":"many"}`, 200, false},
		"chat":     {"openai", `{"input_tokens":4711}`, 200, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := upstream(t, func(w http.ResponseWriter, r received) {
				if name == "counts" {
					asked <- r.URL.Path + " " + r.Header.Get("x-api-key") + " " + r.body
				}
				w.Header().Set("content-type", "application/json")
				w.WriteHeader(c.status)
				io.WriteString(w, c.answer)
			})
			g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: %s, base_url: %q, api_key: sk-up}}\nmodels: {m: {targets: [{provider: up, model: claude-x}]}}", c.kind, url))
			r := g.do(g.request("POST", "/v1/messages/count_tokens?beta=true", fmt.Sprintf(request, "m"), "anthropic-version", "2023-06-01"))
			var got struct {
				Tokens int `json:"input_tokens"`
			}
			if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.status != 200 || (got.Tokens == 4711) != c.exact || got.Tokens < 5 {
				t.Errorf("got status %d and %s, want the upstream's count: %v", r.status, r.body, c.exact)
			}
			if said := strings.Contains(r.header.Get("x-callgate-warnings"), "tokens_estimated"); said == c.exact {
				t.Errorf("got the warnings %q of the count %s", r.header.Get("x-callgate-warnings"), r.body)
			}
			if c.exact && r.header.Get("x-callgate-provider") != "up" {
				t.Errorf("got no word of who has counted: %v", r.header)
			}
			if name == "counts" {
				if got, want := <-asked, "/v1/messages/count_tokens sk-up "+fmt.Sprintf(request, "claude-x"); got != want {
					t.Errorf("the upstream got %s, want %s", got, want)
				}
			}
		})
	}
}
