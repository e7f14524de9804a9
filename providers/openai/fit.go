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
			var f fitting
			f.messages(body, v)
			edits, said = append(edits, f.edits...), f.said
		}
		return true
	})
	return gone, edits, said
}

// fitting takes reasoning out of messages.
type fitting struct {
	edits []wire.Edit
	said  []string // what went, by its place
}

// messages takes it out of the messages at this place. One with nothing else goes too.
func (f *fitting) messages(body []byte, list wire.Span) {
	kept, from := -1, -1 // where the last message ends that stays, and where those begin that go behind it
	wire.Elements(body, list.Start, func(_ int, m wire.Span) bool {
		cuts := f.cut(body, m, "", thoughtMembers...)
		if len(cuts) > 0 && isThoughtOnly(m.Of(body)) {
			f.note("empty")
			if from < 0 {
				from = m.Start
			}
			return true
		}
		if from >= 0 { // with the comma behind them
			f.edits, from = append(f.edits, wire.Edit{At: wire.Span{Start: from, End: m.Start}}), -1
		}
		kept, f.edits = m.End, append(f.edits, cuts...)
		if calls := wire.Find(body, m, "tool_calls"); !calls.IsNull(body) {
			wire.Elements(body, calls.Start, func(_ int, call wire.Span) bool {
				f.edits = append(f.edits, f.cut(body, call, "tool_calls.", signatureMember)...)
				return true
			})
		}
		return true
	})
	if from < 0 {
		return
	}
	if kept >= 0 { // with the comma in front
		from = kept
	}
	f.edits = append(f.edits, wire.Edit{At: wire.Span{Start: from, End: list.End - 1}})
}

// cut are the edits that take members out of an object, which place is in front of in what is said of them.
func (f *fitting) cut(body []byte, object wire.Span, place string, members ...string) []wire.Edit {
	for _, name := range members {
		if len(wire.Remove(object.Of(body), name)) > 0 {
			f.note(place + name)
		}
	}
	return wire.Shifted(wire.Remove(object.Of(body), members...), object.Start)
}

func (f *fitting) note(name string) {
	if !slices.Contains(f.said, name) {
		f.said = append(f.said, name)
	}
}

// isThoughtOnly reports whether a message says nothing but what the model has thought, as an answer that was stopped
// there. Mistral refuses a message of the assistant that says nothing; see LiteLLM's mistral/chat/transformation.py.
func isThoughtOnly(message []byte) bool {
	only := true
	wire.Members(message, 0, func(key []byte, at wire.Span) bool {
		v := at.Of(message)
		hollow := v[0] == 'n' || (v[0] == '"' || v[0] == '[' || v[0] == '{') && wire.Blank(v[1:len(v)-1])
		only = hollow || string(key) == "role" && string(v) == `"assistant"` || slices.Contains(thoughtMembers, string(key))
		return only
	})
	return only
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
