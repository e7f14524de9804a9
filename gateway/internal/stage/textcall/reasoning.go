package textcall

import (
	"path"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/wire"
)

// thinkers are models whose prompt always ends inside the reasoning, so that their
// output has an end marker and no start marker. (From their chat templates. Models
// that can be told not to think are not among them: for those the configuration has
// to say it.)
var thinkers = [...]string{
	"*deepseek-r1*", "*qwq*", "*qwen3*-thinking*", "*minimax-m2*", "*step-3*", "*kimi-k3*", "*ernie-4.5*-thinking*",
	"*apriel-1.6*", "*mimo-*thinking*",
}

// reasoningStart says how the output of a model begins. What the configuration says stands,
// but a client that switches the thinking off gets none.
func reasoningStart(a *gateway.AttemptInfo) chain.Reasoning {
	start := a.Target.Reasoning
	if start != chain.Closed && thinkingOff(a.Sent) && !alwaysThinks(a.Model) {
		return chain.Closed
	}
	return start
}

// startOf is how a choice begins. A stream cannot take back what it has sent as content when
// an end marker comes, so for models that always think it begins as reasoning; a whole answer
// shows by itself what it is.
func (s *stage) startOf(whole bool) chain.Reasoning {
	if s.begins == chain.Auto && !whole && alwaysThinks(s.attempt.Model) {
		return chain.Open
	}
	return s.begins
}

func alwaysThinks(model string) bool {
	flat := strings.ReplaceAll(strings.ToLower(model), "/", "-")
	return slices.ContainsFunc(thinkers[:], func(glob string) bool {
		ok, err := path.Match(glob, flat)
		return err == nil && ok
	})
}

// thinkingOff reports whether the client asks for no reasoning, in one of the ways
// that servers know: enable_thinking and thinking of vLLM's and SGLang's
// chat_template_kwargs, enable_thinking of Qwen's API, think of Ollama's, and
// OpenAI's reasoning_effort.
func thinkingOff(r *gateway.Request) (off bool) {
	body := r.Body.Bytes()
	isFalse := func(v wire.Span) bool { return string(v.Of(body)) == "false" }
	wire.Members(body, 0, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "chat_template_kwargs":
			if body[v.Start] == '{' {
				off = isFalse(wire.Find(body, v, "enable_thinking")) || isFalse(wire.Find(body, v, "thinking"))
			}
		case "enable_thinking", "think":
			off = isFalse(v)
		case "reasoning_effort":
			off = string(v.Of(body)) == `"none"`
		}
		return !off
	})
	return off
}
