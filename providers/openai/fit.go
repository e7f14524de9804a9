package openai

import (
	"bytes"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// taste is what an upstream refuses of requests that were translated from another protocol, and
// that a client of chat completions would not have sent it.
type taste uint8

const (
	openMinded taste = iota // servers ignore what they do not know
	strict                  // Groq, Mistral, Cerebras, Azure and the like do not
	openAIs                 // OpenAI's own models have names of their own besides
	thoughtful              // DeepSeek and Moonshot want the thoughts behind each call back
)

// strictHosts end the names of hosts that refuse what they do not know, openAIHosts those of OpenAI's own
// models. thoughtfulHosts refuse a call without reasoning_content while the model thinks, also one that it, or
// another model, has made without thinking: then a space will do, which is the least that Moonshot takes
// (pydantic-ai's deepseek.py; LiteLLM, llms/moonshot/chat/transformation.py).
var (
	strictHosts = []string{"api.groq.com", "api.mistral.ai", "api.cerebras.ai"}
	openAIHosts = []string{"api.openai.com", ".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"}

	thoughtfulHosts = []string{"api.deepseek.com", "api.moonshot.ai", "api.moonshot.cn"}
)

func tasteOf(host string) taste {
	for _, known := range [...]struct {
		hosts []string
		taste taste
	}{{openAIHosts, openAIs}, {strictHosts, strict}, {thoughtfulHosts, thoughtful}} {
		if slices.ContainsFunc(known.hosts, func(end string) bool { return strings.HasSuffix(host, end) }) {
			return known.taste
		}
	}
	return openMinded
}

// fits reports whether a request is to be fitted: one that was translated from another protocol, for
// an upstream that is particular. What a client of chat completions sends goes out as it is.
func (p *Provider) fits(req *gateway.Request) bool {
	return req.Source != nil && p.taste != openMinded
}

// thoughtMembers are where a message keeps its reasoning, in forms that are not OpenAI's.
var thoughtMembers = []string{"reasoning_content", "reasoning_details", "thinking_blocks"}

// signatureMember is where a call keeps what Google's servers have signed of the thoughts behind it.
const signatureMember = "extra_content"

// fit says which members of a request the upstream would refuse, if they are there, what is to be
// changed of others, and what is to be said of its messages.
func (p *Provider) fit(body []byte, model string) (gone []string, edits []wire.Edit, said []string) {
	if p.taste == thoughtful {
		return nil, fillThoughts(body), nil
	}
	gone = []string{"top_k"}
	if p.taste == strict || !reasons(model) {
		gone = append(gone, "reasoning_effort")
	}
	wire.Members(body, 0, func(key []byte, v wire.Span) bool {
		switch {
		case string(key) == "max_tokens" && p.taste == openAIs && reasons(model):
			if at := bytes.LastIndex(body[:v.Start], key); at >= 0 {
				edits = append(edits, wire.Edit{At: wire.Span{Start: at, End: at + len(key)}, With: []byte("max_completion_tokens")})
			}
		case string(key) == "messages":
			var of []wire.Edit
			of, said = dropThoughts(body, v)
			edits = append(edits, of...)
		}
		return true
	})
	return gone, edits, said
}

// dropThoughts takes what is thought out of messages, and messages out that say nothing else: Mistral refuses one
// of the assistant without content or calls (pydantic-ai, models/mistral.py). dropped names what is gone.
func dropThoughts(body []byte, messages wire.Span) (edits []wire.Edit, dropped []string) {
	kept, from := -1, -1 // as in wire.Remove
	wire.Elements(body, messages.Start, func(_ int, m wire.Span) bool {
		var inside []wire.Edit
		drop := func(at wire.Span, place string, members ...string) {
			for _, name := range members {
				if len(wire.Remove(at.Of(body), name)) > 0 && !slices.Contains(dropped, place+name) {
					dropped = append(dropped, place+name)
				}
			}
			inside = append(inside, wire.Shifted(wire.Remove(at.Of(body), members...), at.Start)...)
		}
		drop(m, "", thoughtMembers...)
		calls := wire.Find(body, m, "tool_calls")
		if len(inside) > 0 && calls.IsNull(body) && isEmptyText(wire.Find(body, m, "content").Of(body)) {
			if from < 0 {
				from = m.Start
			}
			return true
		}
		if !calls.IsNull(body) {
			wire.Elements(body, calls.Start, func(_ int, call wire.Span) bool {
				drop(call, "tool_calls.", signatureMember)
				return true
			})
		}
		if from >= 0 { // with the comma behind them
			edits = append(edits, wire.Edit{At: wire.Span{Start: from, End: m.Start}})
			from = -1
		}
		edits, kept = append(edits, inside...), m.End
		return true
	})
	if from >= 0 {
		if kept >= 0 { // with the comma in front
			from = kept
		}
		edits = append(edits, wire.Edit{At: wire.Span{Start: from, End: messages.End - len("]")}})
	}
	return edits, dropped
}

// isEmptyText reports whether a content is none, or an empty text.
func isEmptyText(content []byte) bool {
	return len(content) == 0 || string(content) == "null" || string(content) == `""`
}

// fillThoughts adds thoughts that say nothing to messages that call without any.
func fillThoughts(body []byte) (edits []wire.Edit) {
	messages := wire.Find(body, wire.Span{End: len(body)}, "messages")
	if messages.IsNull(body) {
		return nil
	}
	wire.Elements(body, messages.Start, func(_ int, m wire.Span) bool {
		if wire.Find(body, m, "tool_calls").IsNull(body) || !wire.Find(body, m, thoughtMembers[0]).IsNull(body) {
			return true
		}
		edits = append(edits, wire.Edit{At: wire.Span{Start: m.End - len("}"), End: m.End - len("}")}, With: []byte(`,"` + thoughtMembers[0] + `":" "`)})
		return true
	})
	return edits
}

// reasons reports whether a model of OpenAI's thinks before it answers, by its name: all do since
// o1 and gpt-5. Those take max_completion_tokens, and no max_tokens.
func reasons(model string) bool {
	for _, older := range [...]string{"gpt-3", "gpt-4", "chatgpt-4"} {
		if strings.HasPrefix(model, older) {
			return false
		}
	}
	return true
}
