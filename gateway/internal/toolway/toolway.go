// Package toolway knows how servers refuse tools, and how such a server can be asked
// nevertheless: for the model's own text, with the tools in the prompt by the server's chat
// template, or with the tools in a prompt of ours.
package toolway

import "strings"

// Way is how a server that refuses tools is asked for calls.
type Way uint8

// The ways.
const (
	// Native sends tools as they came.
	Native Way = iota
	// Raw asks for the model's own text. The server's chat template writes the tools.
	Raw
	// Prompted writes the tools into the prompt.
	Prompted
)

// String is the way's name for operators.
func (w Way) String() string { return [...]string{"native", "raw", "prompted"}[w] }

// Refusal is what a server says that does not take tools.
type Refusal struct {
	Server string // "vllm", "llama.cpp", "tgi", or "" if the words do not tell
	Way    Way    // how to ask it
}

// maxRead is how much of a refusal is read.
const maxRead = 4 << 10

// Refused reports whether an upstream's refusal says that it takes no tools. auto says that
// the request leaves it to the model to call one. The words are those of
//
//   - vLLM without its options, entrypoints/openai: "\"auto\" tool choice requires
//     --enable-auto-tool-choice and --tool-call-parser to be set"
//   - llama.cpp, server/utils.hpp: "tools param requires --jinja flag"
//   - Ollama, server/routes.go: "MODEL does not support tools"
//   - TGI with --disable-grammar-support, router/src/validation.rs: "grammar is not supported", by
//     which it means the tools, of which it makes a grammar
//   - OpenRouter: "No endpoints found that support tool use"
//   - Groq and others: "`tool calling` is not supported with this model"
func Refused(body []byte, auto bool) (r Refusal, refused bool) {
	text := fieldsOfTools.Replace(strings.ToLower(string(body[:min(len(body), maxRead)])))
	switch {
	case strings.Contains(text, "--enable-auto-tool-choice"), strings.Contains(text, "--tool-call-parser"):
		if !auto { // its text is not parsed with a choice of "none" alone
			return Refusal{Server: "vllm", Way: Prompted}, true
		}
		return Refusal{Server: "vllm", Way: Raw}, true
	case strings.Contains(text, "requires --jinja"):
		return Refusal{Server: "llama.cpp", Way: Prompted}, true
	case strings.Contains(text, "grammar is not supported"):
		return Refusal{Server: "tgi", Way: Prompted}, true
	}
	named := strings.Contains(text, "tool") || strings.Contains(text, "function call")
	for _, words := range []string{"not support", "unsupported", "no endpoints found that support", "not available", "isn't supported", "not enabled"} {
		if named && strings.Contains(text, words) {
			return Refusal{Way: Prompted}, true
		}
	}
	return Refusal{}, false
}

// fieldsOfTools are words of requests that may be refused on their own, by an upstream
// that takes tools.
var fieldsOfTools = strings.NewReplacer("tool_choice", "", "parallel_tool_calls", "", "tool_call_id", "", "tools[", "", "role 'tool'", "", `role \"tool\"`, "")

// families are the formats that models have learned, by a part of their names. The first that
// fits counts.
var families = []struct{ part, format string }{ //nolint:gochecknoglobals // a table
	{"qwen3-coder", "qwen3_coder"}, {"qwen3.5", "qwen3_coder"}, {"qwen", "hermes"}, {"hermes", "hermes"},
	{"glm-4.7", "glm47"}, {"glm-5", "glm47"}, {"glm", "glm45"}, {"minimax-m2", "minimax_m2"},
	{"nemotron", "nemotron_json"}, {"ministral", "mistral"}, {"mistral", "mistral"}, {"mixtral", "mistral"}, {"devstral", "mistral"}, {"magistral", "mistral"},
	{"deepseek-v3.2", "deepseek_v32"}, {"deepseek-v3.1", "deepseek_v31"}, {"deepseek", "deepseek_v3"}, {"kimi-k2", "kimi_k2"},
	{"granite", "granite"}, {"lfm2", "lfm2"}, {"llama-4", "llama4_pythonic"}, {"llama4", "llama4_pythonic"}, {"llama", "llama3_json"},
	{"functionary", "functionary_v31"}, {"phi-4-mini", "phi4_mini_json"}, {"phi4-mini", "phi4_mini_json"}, {"command-r", "command_r"},
}

// Format is the format in which a model is shown tools, by the upstream's name of it: that of
// its family, or "hermes", which is JSON in tags.
func Format(model string) string {
	name := strings.ToLower(model)
	for _, f := range families {
		if strings.Contains(name, f.part) {
			return f.format
		}
	}
	return "hermes"
}
