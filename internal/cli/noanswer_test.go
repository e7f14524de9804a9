package cli

import (
	"fmt"
	"strings"
	"testing"
)

// TestNoAnswer has what servers send with status 200 in the place of an answer. A client of chat completions gets it as it
// came; in the other protocols it is an error, and no answer that has ended with nothing in it.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"MiniMax's error":    `{"id":"c","choices":null,"base_resp":{"status_code":1002,"status_msg":"rate limit"}}`,
		"Ollama's own API":   `{"model":"m","message":{"role":"assistant","content":"Hi","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":true}`,
		"FastAPI's error":    `{"detail":"Internal server error"}`,
		"a list of nothing":  `{"id":"c","object":"chat.completion","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":0,"total_tokens":3}}`,
		"a list of no thing": `{"id":"c","object":"chat.completion","choices":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q, retry: {max_retries: 0}}}\nmodels: {a: {targets: [{provider: up, model: m}]}}", static(t, 200, "application/json", body)))
			if r := g.chat(`{"model":"a","messages":[{"role":"user","content":"x"}]}`); r.status != 200 || r.body != body {
				t.Errorf("a client of chat completions got status %d and %s", r.status, r.body)
			}
			if r := g.messages(`{"model":"a","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`); r.status != 502 || !strings.Contains(r.body, `"api_error"`) {
				t.Errorf("a client of Messages got status %d and %s", r.status, r.body)
			}
			if r := g.do(g.request("POST", "/v1/responses", `{"model":"a","input":"x"}`)); r.status != 502 || strings.Contains(r.body, `"completed"`) {
				t.Errorf("a client of Responses got status %d and %s", r.status, r.body)
			}
		})
	}
}
