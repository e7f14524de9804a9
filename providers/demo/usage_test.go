package demo_test

import (
	"encoding/json"
	"testing"
)

// promptTokens is what a model counts for a request.
func promptTokens(t *testing.T, model, request string) int {
	t.Helper()
	reply := chat(t.Context(), t, fast(), model, request)
	defer reply.Close()
	f, err := reply.Next()
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		}
	}
	if err := json.Unmarshal(f.Data, &c); err != nil {
		t.Fatal(err)
	}
	return c.Usage.Prompt
}

// TestPromptTokens checks that four characters are a token, and that all models but
// the one that drops the tools count those.
func TestPromptTokens(t *testing.T) {
	t.Parallel()
	const text = "Äpfel, wo?" // ten characters in eleven bytes
	const calls = `[{"id":"1","type":"function","function":{"name":"get_weather","arguments":"{}"}}]`
	plain := `{"model":"m","temperature":0.123456789,"messages":[{"role":"user","content":"` + text + `"},{"role":"user","content":[{"type":"text","text":"` + text + `"}]}`
	bare := plain + `]}`
	called := plain + `,{"role":"assistant","content":null,"tool_calls":` + calls + `},{"role":"tool","tool_call_id":"1","content":"` + text + `"}]`
	tooled := called + `,"tools":[` + weather + `]}`
	want := 1 + (3*len([]rune(text))+len(calls)+len(`[`+weather+`]`))/4
	for _, model := range []string{"native", "hermes", "broken_args", "ghost", "loops", "by_title"} {
		if got := promptTokens(t, model, tooled); got != want {
			t.Errorf("%s: got %d tokens, want %d", model, got, want)
		}
	}
	for request, want := range map[string]int{bare: 1 + 20/4, called + `}`: 1 + 30/4, tooled: 1 + 30/4} {
		if got := promptTokens(t, "ignores_tools", request); got != want {
			t.Errorf("ignores_tools: got %d tokens for %s, want %d", got, request, want)
		}
	}
	if got := promptTokens(t, "no_tools/hermes", bare); got != 1+20/4 {
		t.Errorf("no_tools/hermes: got %d tokens, want %d", got, 1+20/4)
	}
}
