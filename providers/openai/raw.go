package openai

import "github.com/callgate/callgate/gateway"

// Servers whose text can be had unparsed.
const (
	VLLM     = "vllm"
	SGLang   = "sglang"
	LlamaCpp = "llama.cpp"
)

// rawFields are what each server needs so that the tools are in the prompt, and the
// model's text, special tokens and all, in the answer. choice says that the request
// offers tools and leaves it to the model to call one.
func rawFields(server string, choice bool) []gateway.Field {
	switch server {
	case VLLM:
		fields := []gateway.Field{
			{Name: "skip_special_tokens", Value: "false"},
			{Name: "spaces_between_special_tokens", Value: "false"},
		}
		if choice {
			// "auto" is refused by a server without a tool parser. With "none" the
			// tools stay in the prompt (unless the server runs with
			// --exclude-tools-when-tool-choice-none) and the text is not parsed.
			fields = append(fields, gateway.Field{Name: "tool_choice", Value: `"none"`})
		}
		return fields
	case SGLang: // keeps special tokens if tools are offered; with "none" they would not be in the prompt
		return []gateway.Field{
			{Name: "skip_special_tokens", Value: "false"},
			{Name: "separate_reasoning", Value: "false"},
		}
	case LlamaCpp:
		return []gateway.Field{
			{Name: "parse_tool_calls", Value: "false"},
			{Name: "reasoning_format", Value: `"none"`},
		}
	}
	return nil
}
