package openai_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/openai"
)

// TestRawText checks what each server is sent so that the model's text comes back
// unparsed, and that nothing is sent where nobody asked for it.
func TestRawText(t *testing.T) {
	t.Parallel()
	const tools = `"tools":[{"type":"function","function":{"name":"f"}}]`
	tests := []struct {
		name, server, body, want string
		raw                      bool
	}{
		{"vllm", openai.VLLM, `{"model":"m",` + tools + `}`, `{"skip_special_tokens":false,"spaces_between_special_tokens":false,"tool_choice":"none","model":"m",` + tools + `}`, true},
		{"vllm auto", openai.VLLM, `{"tool_choice":"auto","model":"m",` + tools + `}`, `{"skip_special_tokens":false,"spaces_between_special_tokens":false,"tool_choice":"none","model":"m",` + tools + `}`, true},
		{"vllm required", openai.VLLM, `{"tool_choice":"required","model":"m",` + tools + `}`, `{"skip_special_tokens":false,"spaces_between_special_tokens":false,"tool_choice":"required","model":"m",` + tools + `}`, true},
		{"vllm without tools", openai.VLLM, `{"model":"m","skip_special_tokens":true}`, `{"spaces_between_special_tokens":false,"model":"m","skip_special_tokens":false}`, true},
		{"sglang", openai.SGLang, `{"model":"m",` + tools + `}`, `{"skip_special_tokens":false,"separate_reasoning":false,"model":"m",` + tools + `}`, true},
		{"llama.cpp", openai.LlamaCpp, `{"model":"m",` + tools + `}`, `{"parse_tool_calls":false,"reasoning_format":"none","model":"m",` + tools + `}`, true},
		{"not asked for", openai.VLLM, `{"model":"m",` + tools + `}`, `{"model":"m",` + tools + `}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := make(chan string, 1)
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got <- string(body)
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, "{}")
			})
			p := mustNew(t, openai.Config{BaseURL: url, Server: tt.server})
			req, err := gateway.ParseRequest([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Raw.Wanted = tt.raw
			if _, err := p.Chat(t.Context(), "m", req); err != nil {
				t.Fatal(err)
			}
			if body := <-got; body != tt.want {
				t.Errorf("got  %s\nwant %s", body, tt.want)
			}
		})
	}
}
