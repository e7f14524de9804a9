package framing

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

const (
	solarCalls = "<|tool_calls|>"
	solarCall  = "<|tool_call:begin|>"
	solarName  = "<|tool_call:name|>"
)

// SolarOpen reads the form of Upstage's Solar Open.
func SolarOpen() sdk.Spec {
	f := &format{
		markers: []marker{
			{"<|begin|>assistant", skips, anywhere},
			{"<|think|>", thinks, between | inText | inCall},
			{"<|content|>", answers, between | inText | inCall},
			{solarCalls, skips, between | inText | inCall},
			{solarCall, heads, between | inHeader | inCall},
			{"<|tool_call:args|>", endsHead, inHeader},
			{"<|tool_call:end|>", skips, anywhere},
			{"<|calls|>", skips, anywhere},
			{"<|end|>", skips, anywhere},
		},
		read:   readSolar,
		braced: true,
		body:   argsJSON,
	}
	return spec(abi.Parser{
		Name:     "solar_open",
		Aliases:  []string{"solar-open", "solar"},
		Priority: 45,
		Formats:  []string{"<|tool_calls|><|tool_call:begin|>ID<|tool_call:name|>NAME<|tool_call:args|>ARGS<|tool_call:end|><|calls|>"},
		Example: `<|tool_calls|><|tool_call:begin|>call00001<|tool_call:name|>get_weather<|tool_call:args|>{"city": "Oslo"}` +
			`<|tool_call:end|><|calls|>`,
		Triggers: []string{solarCalls, solarCall, "<|begin|>assistant<|", "<|end|><|begin|>assistant<|", "<|tool_call:end|>", "<|calls|>"},
		Starts:   []string{"<|think|>", "<|content|>"},
		Models:   []string{"*solar-open*"},
	}, f, solarHead)
}

// solarHead wants a call behind the marker of calls, which Sarashina has too.
func solarHead(head []byte) sdk.Verdict {
	rest, found := bytes.CutPrefix(head, []byte(solarCalls))
	if !found {
		return markup.MatchAny(head, solarCalls, solarCall, "<|begin|>assistant<|", "<|end|><|begin|>assistant<|",
			"<|tool_call:end|>", "<|calls|>", "<|think|>", "<|content|>")
	}
	rest = chars.SkipSpace(rest)
	if len(rest) == 0 {
		return sdk.Maybe
	}
	return markup.MatchAny(rest, solarCall, "<|calls|>")
}

// readSolar reads the id and the name of a call.
func readSolar(header []byte) message {
	id, name, found := bytes.Cut(bytes.TrimPrefix(header, []byte(solarCall)), []byte(solarName))
	id, name = chars.TrimSpace(id), chars.TrimSpace(name)
	if !found || !validName(name) {
		return message{kind: isContent, broken: len(id) > 0}
	}
	if len(id) > callobject.MaxName {
		id = nil
	}
	return message{kind: isCall, name: string(name), id: string(id)}
}
