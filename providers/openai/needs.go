package openai

import "github.com/callgate/callgate/gateway"

// OwnNeeds is what OpenAI's own API demands of a conversation, and Azure's: it
// refuses a call without its result, a result without its call, and ids of more than
// 40 bytes. It does not read the arguments of earlier calls.
func OwnNeeds() gateway.Needs {
	return gateway.Needs{Pairs: true, IDs: gateway.ShortID}
}

// Needs implements [gateway.Needer]. It is Config.Needs, and what the Server demands:
// vLLM, SGLang and llama.cpp parse the arguments of earlier calls for the model's
// chat template, and fail if they are no JSON.
func (p *Provider) Needs() gateway.Needs {
	needs := p.needs
	needs.Arguments = needs.Arguments || p.server != ""
	return needs
}
