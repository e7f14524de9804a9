package textcall

import (
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
)

func TestReasoningStart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		set      chain.Reasoning
		model    string
		request  string
		streamed bool
		want     chain.Reasoning
	}{
		{chain.Auto, "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", `{"model":"m"}`, true, chain.Open},
		{chain.Auto, "deepseek-ai/DeepSeek-R1", `{"model":"m"}`, false, chain.Auto},
		{chain.Auto, "Qwen/Qwen3-32B", `{"model":"m"}`, true, chain.Auto},
		{chain.Closed, "deepseek-r1", `{"model":"m"}`, true, chain.Closed},
		{chain.Open, "any", `{"model":"m"}`, true, chain.Open},
		{chain.Open, "any", `{"model":"m","chat_template_kwargs":{"enable_thinking":false}}`, true, chain.Closed},
		{chain.Open, "any", `{"model":"m","chat_template_kwargs":{"thinking":false}}`, true, chain.Closed},
		{chain.Open, "any", `{"model":"m","chat_template_kwargs":{"enable_thinking":true}}`, true, chain.Open},
		{chain.Open, "any", `{"model":"m","chat_template_kwargs":null}`, true, chain.Open},
		{chain.Auto, "qwq-32b", `{"model":"m","enable_thinking":false}`, true, chain.Open},
		{chain.Open, "any", `{"model":"m","enable_thinking":false}`, true, chain.Closed},
		{chain.Open, "any", `{"model":"m","reasoning_effort":"none"}`, true, chain.Closed},
		{chain.Auto, "qwq-32b", `{"model":"m","reasoning_effort":"low"}`, true, chain.Open},
	} {
		req, err := gateway.ParseRequest([]byte(tt.request))
		if err != nil {
			t.Fatal(err)
		}
		a := &gateway.AttemptInfo{Model: tt.model, Sent: req, Target: gateway.Target{Reasoning: tt.set}}
		s := &stage{attempt: a, begins: reasoningStart(a)}
		if got := s.startOf(!tt.streamed); got != tt.want {
			t.Errorf("%d, %s, %s, streamed %t: got %d, want %d", tt.set, tt.model, tt.request, tt.streamed, got, tt.want)
		}
	}
}
