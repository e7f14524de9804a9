package protocol

import (
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// Lost says which members of a chat completion have no place in another protocol, such as the sources that
// Perplexity puts beside the answer. The zero value is ready.
type Lost struct{ looked bool }

// See looks at a frame: at whole answers, and of a stream at the first one, at those that end a choice, and
// at those without a choice, which is where servers put what is about the answer as a whole.
func (l *Lost) See(f *wire.Frame, s *gateway.Summary) {
	choices := f.Choices()
	ends := len(choices) == 0
	for i := range choices {
		ends = ends || choices[i].Reason != ""
	}
	if l.looked && !ends && !f.Whole {
		return
	}
	l.looked = true
	warnOfMembers(f.Data, inAnswer, "", s)
	for i := range choices {
		c := &choices[i]
		if c.Index != 0 { // of which there is another warning
			continue
		}
		warnOfMembers(c.Object.Of(f.Data), inChoice, "choices.", s)
		if !c.Body.Empty() {
			warnOfMembers(c.Body.Of(f.Data), inMessage, "message.", s)
			warnOfForm(c.Body.Of(f.Data), s)
		}
	}
}

// maxMember is how long a name may be in a warning that comes from the upstream.
const maxMember = 64

// warnOfForm warns of members that are known, and not read in the form that they have: reasoning that is no text, and calls
// in a text.
func warnOfForm(message []byte, s *gateway.Summary) {
	for _, name := range [...]string{"reasoning_content", "reasoning", "reasoning_text", "tool_calls"} {
		if v := memberOf(message, name); v != nil && isString(v) == (name == "tool_calls") && !IsHollow(v) {
			s.Warn("dropped:answer.message." + name)
		}
	}
}

// warnOfMembers warns of members of an object that say something and are not known.
func warnOfMembers(object []byte, known Names, place string, s *gateway.Summary) {
	known.Leftover(object, nil, func(name string) {
		if len(name) > maxMember || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" {
			name = "other"
		}
		if len(s.Warnings) < maxWarnings {
			s.Warn("dropped:answer." + place + name)
		}
	})
}

// The members that are read, or that say nothing about the answer itself: counts, times, and what filters and
// caches of servers have done. They are the gateway's own, and those of OpenAI, Azure, vLLM, SGLang, llama.cpp, Ollama, Groq, Cerebras,
// OpenRouter and MiniMax.
var (
	inAnswer = NamesOf("id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier", "error", "execution", "callgate",
		"prompt_filter_results", "prompt_logprobs", "prompt_token_ids", "prompt_text", "kv_transfer_params", "metadata", "timings", "time_info", "x_groq",
		"usage_breakdown", "provider", "obfuscation", "request_id", "input_sensitive", "output_sensitive", "input_sensitive_type", "output_sensitive_type",
		"output_sensitive_int", "base_resp", "nvext", "provider_specific_fields", "moderation", "__verbose", "type", "sla_metrics", "cost")
	inChoice = NamesOf("index", "message", "delta", "finish_reason", "logprobs", "stop_reason", "matched_stop", "native_finish_reason",
		"content_filter_results", "content_filter_offsets", "token_ids", "hidden_states", "routed_experts", "seed", "text", "usage", "provider_specific_fields")
	inMessage = NamesOf("role", "content", "refusal", "reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "thinking_blocks", "tool_calls", "function_call",
		"annotations", "audio", "images", "executed_tools", "provider_specific_fields", "name", "token_ids", "prefix", "partial", "phase", "channel",
		"id", "type", "recipient")
)
