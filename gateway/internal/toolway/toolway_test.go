package toolway_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/internal/prompted"
	"github.com/callgate/callgate/gateway/internal/toolway"
)

// TestRefused reads what servers say, as their sources and reports have it, and what only sounds
// like it.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		body string
		way  toolway.Way
	}{
		{`{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}}`, toolway.Raw},
		{`{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, toolway.Prompted},
		{`{"error":{"message":"registry.ollama.ai/library/gemma3:4b does not support tools","type":"api_error"}}`, toolway.Prompted},
		{`{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing","code":404}}`, toolway.Prompted},
		{"{\"error\":{\"message\":\"`tool calling` is not supported with this model\",\"type\":\"invalid_request_error\"}}", toolway.Prompted},
		{`{"error":"Input validation error: grammar is not supported","error_type":"validation"}`, toolway.Prompted},
		{`{"error":"Input validation error: grammar is not valid: unexpected token","error_type":"validation"}`, toolway.Native},
		{`{"error":{"message":"Invalid parameter: 'tool_choice' is only allowed when 'tools' are specified."}}`, toolway.Native},
		{`{"error":{"message":"parallel_tool_calls is not supported with this model"}}`, toolway.Native},
		{`{"error":{"message":"This model's maximum context length is 8192 tokens"}}`, toolway.Native},
		{`{"error":{"message":"image input is not supported"}}`, toolway.Native},
		{``, toolway.Native},
	} {
		got, refused := toolway.Refused([]byte(row.body), true)
		if got.Way != row.way || refused != (row.way != toolway.Native) {
			t.Errorf("%s: got %s (%t), want %s", row.body, got.Way, refused, row.way)
		}
	}
	if got, _ := toolway.Refused([]byte(`{"message":"tool_choice=\"required\" requires --tool-call-parser to be set"}`), false); got.Way != toolway.Prompted {
		t.Errorf("a demanded call: got %s, want prompted", got.Way)
	}
}

// TestFormat holds that each format that is chosen has a form for prompts.
func TestFormat(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"Qwen/Qwen3-8B": "hermes", "Qwen/Qwen3-Coder-30B-A3B-Instruct": "qwen3_coder", "zai-org/GLM-4.6": "glm45", "zai-org/GLM-4.7": "glm47",
		"mistralai/Mistral-Small-3.2": "mistral", "deepseek-ai/DeepSeek-V3.1": "deepseek_v31", "meta-llama/Llama-3.1-8B-Instruct": "llama3_json",
		"moonshotai/Kimi-K2-Instruct": "kimi_k2", "ibm-granite/granite-3.3-8b-instruct": "granite", "LiquidAI/LFM2-1.2B": "lfm2",
		"MiniMaxAI/MiniMax-M2": "minimax_m2", "microsoft/Phi-4-mini-instruct": "phi4_mini_json", "CohereForAI/c4ai-command-r-v01": "command_r",
		"google/gemma-3-4b": "hermes", "": "hermes",
	} {
		got := toolway.Format(model)
		if _, ok := prompted.Find(got); !ok || got != want {
			t.Errorf("%s: got %s (in prompts: %t), want %s", model, got, ok, want)
		}
	}
}
