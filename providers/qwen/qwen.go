// Package qwen is the provider for Alibaba Cloud's Model Studio (DashScope) in its
// compatible mode, after its documentation "OpenAI compatible - Chat", "Function
// calling" and "Error messages". The wire is OpenAI's.
//
// Streams of DashScope mix up parallel calls. A streamed request that offers tools is
// therefore asked for whole; the gateway streams the answer to its client. Arguments
// that are no JSON (a trailing comma, a bare key) are repaired by the gateway and not
// here.
package qwen

import (
	"cmp"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/openai"
)

// DefaultBaseURL is the international endpoint. That of mainland China is
// "https://dashscope.aliyuncs.com/compatible-mode/v1"; a key belongs to one of them.
const DefaultBaseURL = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"

// StreamOnly are the models that think before they answer and can only do so in a
// stream, by DashScope's documentation "Deep thinking": QwQ, QVQ, the thinking
// editions, and the open models of Qwen3, which are named by their size and think
// unless they are told not to. The commercial ones, such as qwen-plus, can do both.
func StreamOnly() []string {
	return []string{"qwq-*", "qvq-*", "*-thinking", "*-thinking-*", "qwen3-*b"}
}

// quotaCode is DashScope's for an account that is in debt. Its "insufficient_quota",
// unlike OpenAI's, means a rate of tokens that was too high, and goes away by itself.
const quotaCode = "Arrearage"

// New returns a provider, or an error that says which field of c is wrong and never
// quotes a secret. An empty BaseURL means DefaultBaseURL. StreamOnly of c names the models
// that DashScope answers in a stream only, whose streams stay streams, also with tools; nil
// means [StreamOnly]. What the wire is c need not say.
func New(c openai.Config) (*openai.Provider, error) {
	if c.StreamOnly == nil {
		c.StreamOnly = StreamOnly()
	}
	c.BaseURL, c.WholeWithTools, c.QuotaCodes = cmp.Or(c.BaseURL, DefaultBaseURL), true, []string{quotaCode}
	c.Needs = gateway.Needs{Arguments: true, Pairs: true}
	return openai.New(c)
}
