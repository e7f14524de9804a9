package anthropic

import (
	"fmt"
	"strconv"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// asked is a request as it goes upstream, and what the reply has to know of it.
type asked struct {
	body     wire.Pieces
	model    string
	usage    bool // the client wants the stream's last chunk to hold the usage
	native   bool // the client speaks the Messages API
	warnings warnings
}

// request is a chat completion request on its way to the Messages API.
//
// Each field of the client's goes one of four ways: those in handled are translated;
// those in foreign are OpenAI's or another server's alone, and are dropped and
// reported; all others are taken for Anthropic's own, thinking, top_k, cache_control,
// mcp_servers or what comes next year, and pass through as they are. What nobody
// knows Anthropic refuses, in words that name the field.
type request struct {
	in       map[string]value // the fields in handled, those that are not null
	passed   []field
	warnings warnings
}

type field struct {
	name string
	v    value
}

// handled are the fields that this package reads.
var handled = set("model", "messages", "system", "stream", "stream_options", "n",
	"max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "stop", "stop_sequences",
	"tools", "tool_choice", "parallel_tool_calls", "functions", "function_call",
	"reasoning_effort", "thinking", "output_config", "response_format",
	"user", "safety_identifier", "metadata", "service_tier")

// foreign are fields that the Messages API has no word for, with the value that
// means as much as if the field were not there.
var foreign = map[string]string{
	// OpenAI
	"audio": "", "frequency_penalty": "0", "logit_bias": "", "logprobs": "false", "modalities": `["text"]`,
	"moderation": "", "prediction": "", "presence_penalty": "0", "prompt_cache_key": "", "prompt_cache_options": "",
	"prompt_cache_retention": "", "seed": "", "store": "false", "top_logprobs": "0", "verbosity": "",
	"web_search_options": "",
	// vLLM, SGLang, llama.cpp, DashScope, OpenRouter
	"best_of": "1", "chat_template_kwargs": "", "enable_thinking": "", "guided_grammar": "", "guided_json": "",
	"guided_regex": "", "ignore_eos": "false", "include_reasoning": "", "length_penalty": "1", "min_p": "0",
	"min_tokens": "0", "models": "", "plugins": "", "provider": "", "reasoning": "", "repetition_penalty": "1",
	"separate_reasoning": "", "skip_special_tokens": "true", "stop_token_ids": "", "structured_outputs": "",
	"think": "", "thinking_budget": "", "transforms": "", "use_beam_search": "false",
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}

// translate turns the body of a chat completion request, which has been validated,
// into one for the Messages API, under the upstream's name of the model. defaultMax is the
// max_tokens of a client that names none. An error is a [*gateway.Error] of Kind Invalid that names the place: what has
// no counterpart and cannot be left out is refused and never guessed.
func translate(body []byte, model string, defaultMax int) (*asked, error) {
	r := readRequest(body)
	r.in["model"] = quote(model)
	if err := r.refused(); err != nil {
		return nil, err
	}
	talk, err := readMessages(r.in["system"], r.in["messages"], &r.warnings)
	if err != nil {
		return nil, err
	}
	tools, err := r.readTools()
	if err != nil {
		return nil, err
	}
	choice, err := r.readChoice(tools.count > 0)
	if err != nil {
		return nil, err
	}
	if tools.count == 0 && !choice.forced && len(talk.called) > 0 {
		r.addTools(talk.called, &tools)
		choice.v = value(`{"type":"none"}`)
	}
	think := r.readThinking(defaultMax, situation{
		model: generationOf(model), forced: choice.forced, mustThink: talk.lacksThinking(),
	})

	var o object
	o.set("model", r.in["model"])
	o.set("max_tokens", think.max)
	r.setPlain(&o, think)
	r.setStop(&o)
	r.setMetadata(&o)
	r.setOutput(&o, generationOf(model), think)
	var out rope
	out.add(o)
	out.setBlocks("tools", &tools)
	out.set("tool_choice", choice.v)
	out.setBlocks("system", &talk.system)
	out.key("messages")
	talk.writeTo(&out)
	for _, f := range r.passed {
		out.set(f.name, f.v)
	}
	out.close()
	out.end()
	usage := string(fields(r.in["stream_options"])["include_usage"]) == "true"
	return &asked{body: out.pieces, model: model, usage: usage, warnings: r.warnings}, nil
}

// readRequest sorts the fields.
func readRequest(body value) *request {
	r := &request{in: map[string]value{}}
	_ = members(body, func(name string, v value) error {
		neutral, known := foreign[name]
		switch {
		case absent(v):
		case handled[name]:
			r.in[name] = v
		case !known:
			r.passed = append(r.passed, field{name, v})
		case !hollow(v) && !equal(v, neutral):
			r.warnings.drop(name)
		}
		return nil
	})
	return r
}

// equal compares two values, numbers by what they are worth.
func equal(v value, text string) bool {
	if string(v) == text {
		return true
	}
	a, err := strconv.ParseFloat(string(v), 64)
	b, err2 := strconv.ParseFloat(text, 64)
	return err == nil && err2 == nil && a == b
}

// refused is the error of a request that asks for what cannot be had.
func (r *request) refused() error {
	if n, ok := r.in["n"]; ok && !equal(n, "1") {
		return invalid("n", "This model gives one answer to a request; n must be 1, not %s.", excerpt(n))
	}
	for _, name := range []string{"functions", "function_call"} {
		if v := r.in[name]; !hollow(v) && string(v) != `"none"` && string(v) != `"auto"` {
			return invalid(name, "The field %q is OpenAI's old form of tools, which this model's API does not have: use tools and tool_choice.", name)
		}
	}
	return nil
}

func invalid(param, format string, args ...any) *gateway.Error {
	return &gateway.Error{Kind: gateway.Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}

// excerpt is v cut to a length that a message can carry.
func excerpt(v value) string { return cut(string(v)) }
