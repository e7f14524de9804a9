package framing

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// Inkling reads the form of Inkling. The name in front of a call's JSON is said
// again inside of it; where they differ nobody knows which one is meant.
func Inkling() sdk.Spec {
	const (
		model    = "<|message_model|>"
		thinking = "<|content_thinking|>"
		text     = "<|content_text|>"
		// Their blocks are text, and neither a call nor an answer of anybody's.
		invokeText = "<|content_invoke_tool_text|>"
		toolError  = "<|content_tool_error|>"
		invoke     = "<|content_invoke_tool_json|>"
		end        = "<|end_message|>"
		sampled    = "<|content_model_end_sampling|>"
	)
	f := &format{
		markers: []marker{
			{model, heads, anywhere},
			{thinking, thinks, anywhere},
			{text, answers, anywhere},
			{invokeText, answers, anywhere},
			{toolError, answers, anywhere},
			{invoke, calls, between | inText | inCall},
			{invoke, endsHead, inHeader},
			{end, skips, anywhere},
			{sampled, skips, anywhere},
		},
		read: func(header []byte) message {
			name := bytes.TrimSpace(bytes.TrimPrefix(header, []byte(model)))
			if !validName(name) {
				name = nil
			}
			return message{kind: isCall, name: string(name)}
		},
		headText: true,
		bareHead: true,
		body:     callsJSON,
		keys:     callobject.Keys{Name: []string{"name"}, Args: []string{"args", "arguments", "parameters"}, ID: []string{"id"}},
	}
	return spec(abi.Parser{
		Name:     "inkling",
		Priority: 45,
		Formats:  []string{`<|message_model|>NAME<|content_invoke_tool_json|>{"name", "args"}<|end_message|>`},
		Example:  `<|message_model|>get_weather<|content_invoke_tool_json|>{"name": "get_weather", "args": {"city": "Oslo"}}<|end_message|>`,
		Triggers: []string{model, thinking, text, invokeText, toolError, invoke, end, sampled},
		Starts:   []string{""},
		Models:   []string{"*inkling*"},
	}, f, inklingHead)
}

// inklingHead wants a marker, or at the start of the output, whose prompt has begun the message,
// the name of a call and the marker behind it.
func inklingHead(head []byte) sdk.Verdict {
	const invoke = "<|content_invoke_tool_json|>"
	head = chars.SkipSpace(head)
	if len(head) > 0 && head[0] == '<' {
		return sdk.Yes
	}
	n := 0
	for n < len(head) && markup.IsName(head[n]) {
		n++
	}
	if n == 0 && len(head) > 0 || n > callobject.MaxName || n < len(head) && !validName(head[:n]) {
		return sdk.No
	}
	return markup.Match(head[n:], invoke)
}
