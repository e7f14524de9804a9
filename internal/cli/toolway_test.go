package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// plainServer is a server that refuses tools in words of its own, and answers with a call as
// text whoever asks as it wants.
type plainServer struct {
	status  int
	refusal string
	refuses func(body map[string]any) bool

	mu   sync.Mutex
	sent []map[string]any
}

func (p *plainServer) answer(w http.ResponseWriter, r received) {
	var body map[string]any
	_ = json.Unmarshal([]byte(r.body), &body)
	p.mu.Lock()
	p.sent = append(p.sent, body)
	p.mu.Unlock()
	w.Header().Set("content-type", "application/json")
	if p.refuses(body) {
		w.WriteHeader(p.status)
		io.WriteString(w, p.refusal)
		return
	}
	const call = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"
	content, _ := json.Marshal(call)
	if body["stream"] == true {
		w.Header().Set("content-type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%s},\"finish_reason\":null}]}\n\n", content)
		io.WriteString(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		return
	}
	fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}]}`, content)
}

// TestPlainServers holds that a server which refuses tools is asked in the way that it takes,
// that this is said, and that the next request goes that way at once. The refusals are those of
// the servers' sources, as toolway.Refused cites them.
func TestPlainServers(t *testing.T) {
	t.Parallel()
	offers := func(body map[string]any) bool { return body["tools"] != nil }
	unlessNone := func(body map[string]any) bool { return body["tools"] != nil && body["tool_choice"] != "none" }
	for _, row := range []struct {
		name, refusal, warning string
		status                 int
		refuses                func(map[string]any) bool
		choice                 string // of the request
		raw                    bool   // tools stay tools
	}{
		{name: "vllm", status: 400, refuses: unlessNone, raw: true, warning: "tools_raw:upstream",
			refusal: `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}`},
		{name: "vllm new", status: 400, refuses: unlessNone, raw: true, warning: "tools_raw:upstream",
			refusal: `{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}}`},
		{name: "vllm required", status: 400, refuses: offers, choice: `,"tool_choice":"required"`, warning: "tools_prompted:upstream",
			refusal: `{"error":{"message":"tool_choice=\"required\" requires --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}}`},
		{name: "llama.cpp", status: 500, refuses: offers, warning: "tools_prompted:upstream",
			refusal: `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`},
		{name: "ollama", status: 400, refuses: offers, warning: "tools_prompted:upstream",
			refusal: `{"error":{"message":"registry.ollama.ai/library/gemma3:4b does not support tools","type":"api_error","param":null,"code":null}}`},
		{name: "tgi", status: 422, refuses: offers, warning: "tools_prompted:upstream",
			refusal: `{"error":"Input validation error: grammar is not supported","error_type":"validation"}`},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s stream %t", row.name, stream), func(t *testing.T) {
				t.Parallel()
				p := &plainServer{status: row.status, refusal: row.refusal, refuses: row.refuses}
				g := serve(t, "", "--upstream", upstream(t, p.answer))
				body := fmt.Sprintf(`{"model":"Qwen/Qwen3-8B","stream":%t,"messages":[{"role":"user","content":"Weather in Oslo?"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]%s}`, stream, row.choice)
				for n := range 2 {
					out := g.do(g.request("POST", "/v1/chat/completions", body))
					if out.status != http.StatusOK || !strings.Contains(out.body, `"get_weather"`) || strings.Contains(out.body, "<tool_call>") {
						t.Fatalf("request %d: got status %d and %s, want a call", n+1, out.status, out.body)
					}
					if got := out.header.Get("x-callgate-warnings"); !strings.Contains(got, row.warning) {
						t.Errorf("request %d: got the warnings %q, want %s", n+1, got, row.warning)
					}
				}
				if len(p.sent) != 3 {
					t.Fatalf("the upstream got %d requests, want 3: the second goes the way that was found", len(p.sent))
				}
				for _, sent := range p.sent[1:] {
					if hasTools := sent["tools"] != nil; hasTools != row.raw {
						t.Errorf("got %v, want tools among the tools: %t", sent, row.raw)
					}
				}
			})
		}
	}
}

// TestPlainServerIgnores holds that a server which takes tools and leaves calls in the text, as SGLang
// does without --tool-call-parser, is sent tools with each request, and its text is read.
func TestPlainServerIgnores(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		p := &plainServer{refuses: func(map[string]any) bool { return false }}
		g := serve(t, "", "--upstream", upstream(t, p.answer))
		body := fmt.Sprintf(`{"model":"Qwen/Qwen3-8B","stream":%t,"messages":[{"role":"user","content":"Weather in Oslo?"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}`, stream)
		for n := range 2 {
			out := g.do(g.request("POST", "/v1/chat/completions", body))
			if out.status != http.StatusOK || !strings.Contains(out.body, `"tool_calls"`) || strings.Contains(out.body, "<tool_call>") {
				t.Errorf("stream %t, request %d: got status %d and %s, want a call", stream, n+1, out.status, out.body)
			}
		}
		if len(p.sent) != 2 || p.sent[0]["tools"] == nil || p.sent[1]["tools"] == nil {
			t.Errorf("stream %t: got %v, want two requests with tools", stream, p.sent)
		}
	}
}

// TestPlainServerUnread holds that a server which refuses tools is not asked for text that nobody
// reads.
func TestPlainServerUnread(t *testing.T) {
	t.Parallel()
	p := &plainServer{status: 400, refusal: `{"error":"this model does not support tools"}`, refuses: func(b map[string]any) bool { return b["tools"] != nil }}
	g := serve(t, "", "--parser", "none", "--upstream", upstream(t, p.answer))
	out := g.do(g.request("POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f"}}]}`))
	if out.status != http.StatusBadRequest || len(p.sent) != 1 {
		t.Errorf("got status %d after %d requests, want the upstream's refusal", out.status, len(p.sent))
	}
}

// TestPlainServerFlags holds that serve asks an upstream from the first request on as its flags say:
// with the tools in the prompt, or for the model's own text.
func TestPlainServerFlags(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		args  []string
		first func(body map[string]any) bool
	}{
		"prompted": {[]string{"--tools", "prompted", "--parser", "hermes"}, func(body map[string]any) bool {
			return body["tools"] == nil && strings.Contains(fmt.Sprint(body["messages"]), "get_weather")
		}},
		"raw text of vLLM": {[]string{"--raw-tool-text", "vllm"}, func(body map[string]any) bool {
			return body["tools"] != nil && body["tool_choice"] == "none" && body["skip_special_tokens"] == false
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &plainServer{refuses: func(map[string]any) bool { return false }}
			g := serve(t, "", append([]string{"--upstream", upstream(t, p.answer)}, row.args...)...)
			r := g.chat(prompt("any", "What is the weather in Oslo?", false))
			whole(t, r.body).same(t, said{finish: "tool_calls", calls: []called{{"get_weather", `{"city":"Oslo"}`}}})
			if len(p.sent) != 1 || !row.first(p.sent[0]) {
				t.Errorf("sent %v", p.sent)
			}
		})
	}
	t.Run("prompted without a parser", func(t *testing.T) {
		t.Parallel()
		status, _, stderr := command(t, "", "serve", "--upstream", "http://127.0.0.1:1/v1", "--tools", "prompted")
		if status != exitUsage || !strings.Contains(stderr, "parser") {
			t.Errorf("got status %d, %s, want the parser to be asked for", status, stderr)
		}
	})
}
