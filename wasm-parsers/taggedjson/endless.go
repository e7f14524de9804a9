package taggedjson

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

// The tokens around calls in the template of Phi-4-mini. Granite 3 has the first.
const (
	phiOpen  = "<|tool_call|>"
	phiClose = "<|/tool_call|>"
)

// Granite reads the form of Granite 3, which has no end marker. vLLM's parser of it
// also takes the tag as plain text at the start of the output, as Granite 3.0 wrote
// it.
func Granite() sdk.Spec {
	return spec(abi.Parser{
		Name:     "granite",
		Priority: 58,
		Formats:  []string{`<|tool_call|>[{"name", "arguments"}]`, `<tool_call>[{"name", "arguments"}]`},
		Models:   []string{"*granite-3*"},
	}, format{forms: []form{
		{open: []string{phiOpen}, after: []string{phiClose, "</tool_call>"}, body: listBody},
		{open: []string{"<tool_call>"}, after: []string{"</tool_call>"}, body: callsBody, atStart: true},
	}})
}

// Granite20bFC reads the form of Granite-20B-FunctionCalling.
func Granite20bFC() sdk.Spec {
	return spec(abi.Parser{
		Name:     "granite_20b_fc",
		Aliases:  []string{"granite-20b-fc"},
		Priority: 38,
		Formats:  []string{`<function_call> {"name", "arguments"}`},
		Models:   []string{"*granite-20b-functioncalling*", "*granite-20b-fc*"},
	}, format{forms: []form{{
		open: []string{"<function_call>"}, after: []string{"</function_call>"}, body: objectBody,
	}}})
}

// Phi4MiniJSON reads the form of Phi-4-mini and FireFunction-v2. Phi-4-mini also
// writes the token of its template.
func Phi4MiniJSON() sdk.Spec {
	return spec(abi.Parser{
		Name:     "phi4_mini_json",
		Aliases:  []string{"phi4", "firefunction"},
		Priority: 46,
		Formats:  []string{`functools[{"name", "arguments"}]`},
		Triggers: []string{"functools[", "functools {", "functools [", "functools{", phiOpen},
		Models:   []string{"*phi-4-mini*", "*firefunction*"},
	}, format{forms: []form{
		{open: []string{"functools"}},
		{open: []string{phiOpen}, after: []string{phiClose}, body: listBody},
	}})
}

// gigaEnd ends a message of GigaChat.
const gigaEnd = "<|message_sep|>"

// gigaToken begins a call of GigaChat 3.1.
func gigaToken() form {
	return form{open: []string{"<|function_call|>"}, after: []string{gigaEnd}}
}

// GigaChat3 reads the form of GigaChat 3, a message of a role of its own, and as
// vLLM's parser of that name also the one of 3.1. That parser takes the role
// without the token behind it, too: here only at the start of the output, since the
// words are ordinary ones.
func GigaChat3() sdk.Spec {
	const role, sep = "function call", "<|role_sep|>"
	after := []string{gigaEnd}
	return spec(abi.Parser{
		Name:     "gigachat3",
		Priority: 36,
		Formats:  []string{`<|message_sep|>function call<|role_sep|>{"name", "arguments"}`, `<|function_call|>{"name", "arguments"}`},
		Models:   []string{"*gigachat3*"},
	}, format{forms: []form{
		{open: []string{gigaEnd, role + sep}, after: after},
		{open: []string{role + sep}, after: after},
		{open: []string{role}, after: after, body: objectBody, atStart: true},
		gigaToken(),
	}})
}

// GigaChat31 reads the form of GigaChat 3.1.
func GigaChat31() sdk.Spec {
	return spec(abi.Parser{
		Name:     "gigachat31",
		Priority: 37,
		Formats:  []string{`<|function_call|>{"name", "arguments"}`},
		Models:   []string{"*gigachat3.1*"},
	}, format{forms: []form{gigaToken()}})
}
