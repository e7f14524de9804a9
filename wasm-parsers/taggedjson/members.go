package taggedjson

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

// Specs are the parsers of the models' own formats, the one that is asked first in
// front.
func Specs() []sdk.Spec {
	return []sdk.Spec{
		Hermes(), MistralArray(), Jamba(), NemotronJSON(), Granite(), Longcat(), InternLM(),
		Phi4MiniJSON(), Apertus(), MiniMaxM1(), Granite20bFC(), GigaChat31(), GigaChat3(), Pangu(),
	}
}

// example is a call as most of the formats write it.
const example = `{"name": "get_weather", "arguments": {"city": "Oslo"}}`

// New makes a parser for a model of your own that writes
// START {"name": …, "arguments": {…}} END. An empty end means that the region ends
// with its JSON. It is what a plugin for a new model mostly needs.
func New(name string, priority int, start, end string) sdk.Spec {
	return spec(abi.Parser{
		Name:     name,
		Priority: priority,
		Formats:  []string{start + `{"name", "arguments"}` + end},
	}, format{forms: []form{{open: []string{start}, close: end}}})
}

// Longcat reads the form of LongCat-Flash.
func Longcat() sdk.Spec {
	return spec(abi.Parser{
		Name:     "longcat",
		Priority: 48,
		Formats:  []string{`<longcat_tool_call>{"name", "arguments"}</longcat_tool_call>`},
		Models:   []string{"*longcat*"},
	}, format{forms: []form{{open: []string{"<longcat_tool_call>"}, close: "</longcat_tool_call>"}}})
}

// NemotronJSON reads the form of the Nemotron models before the third generation.
// The template of Nemotron-Nano-v2 writes calls as a second message of the
// assistant, whose header and end are part of the region.
func NemotronJSON() sdk.Spec {
	const open, end = "<TOOLCALL>", "</TOOLCALL>"
	after := []string{"<SPECIAL_12>"}
	return spec(abi.Parser{
		Name:     "nemotron_json",
		Aliases:  []string{"nemotron_deci", "default"},
		Priority: 60,
		Formats:  []string{`<TOOLCALL>[{"name", "arguments"}]</TOOLCALL>`},
		Models:   []string{"*nemotron-nano-*v2*", "*nemotron-super*", "*nemotron-ultra*"},
	}, format{forms: []form{
		{open: []string{open}, close: end, after: after, body: listBody},
		{open: []string{"<SPECIAL_12>", "<SPECIAL_11>Assistant", open}, close: end, after: after, body: listBody},
	}})
}

// InternLM reads the form of InternLM 2 and Intern-S1, which differ by the space
// between the two tokens. What follows <|interpreter|> is code and no call.
func InternLM() sdk.Spec {
	return spec(abi.Parser{
		Name:     "internlm",
		Aliases:  []string{"internlm2", "interns1", "intern-s1"},
		Priority: 47,
		Formats:  []string{`<|action_start|><|plugin|>{"name", "parameters"}<|action_end|>`},
		Models:   []string{"*internlm2*", "*internlm3*", "*intern-s1*"},
	}, format{forms: []form{{open: []string{"<|action_start|>", "<|plugin|>"}, close: "<|action_end|>"}}})
}

// Apertus reads the form of Apertus, where the function's name is a key.
func Apertus() sdk.Spec {
	return spec(abi.Parser{
		Name:     "apertus",
		Aliases:  []string{"apertus2509"},
		Priority: 45,
		Formats:  []string{`<|tools_prefix|>[{NAME: arguments}]<|tools_suffix|>`},
		Example:  `<|tools_prefix|>[{"get_weather": {"city": "Oslo"}}]<|tools_suffix|>`,
		Models:   []string{"*apertus*"},
	}, format{
		forms: []form{{open: []string{"<|tools_prefix|>"}, close: "<|tools_suffix|>", body: listBody}},
		keyed: true,
	})
}

// Pangu reads the form of openPangu, whose tokens are written as [unused11] and
// [unused12] where the vocabulary has no names for them. LFM2 writes calls in
// Python's syntax between the same tokens.
func Pangu() sdk.Spec {
	return spec(abi.Parser{
		Name:     "pangu",
		Aliases:  []string{"lfm2", "lfm2-thinking"},
		Priority: 35,
		Formats: []string{
			`<|tool_call_start|>[{"name", "arguments"}]<|tool_call_end|>`,
			`[unused11][{"name", "arguments"}][unused12]`,
		},
		Example: `[unused11][` + example + `][unused12]`,
		Models:  []string{"*pangu*"},
	}, format{forms: []form{
		{open: []string{"<|tool_call_start|>"}, close: "<|tool_call_end|>"},
		{open: []string{"[unused11]"}, close: "[unused12]"},
	}})
}
