package framing

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/xmlparams"
)

// atemBlock begins a block of calls.
const atemBlock = "<atem:function_calls>"

// Muse reads the form of Meta's Muse and Glimmer: headers with a recipient, and calls
// as atem tags. Only a message to a tool is a call.
func Muse() sdk.Spec {
	body := xmlparams.ATEM()
	f := &format{
		markers: []marker{
			{startTag + assistant, heads, between | inText | inCall},
			{recipient, heads, between},
			{messageTag, endsHead, inHeader},
			{messageTag, calls, between}, // without a header
			{"<|eom|>", skips, anywhere},
			{"<|eot|>", skips, anywhere},
			{atemBlock, nests, between | inHeader | inCall},
			{"<atem:invoke ", nests, inCall},
		},
		read:   readMuse,
		inline: &marker{recipient, heads, inText},
		body:   nested,
		nested: body.New,
	}
	return spec(abi.Parser{
		Name:     "muse",
		Aliases:  []string{"muse_glimmer", "glimmer", "muse_spark", "musespark1x", "atem"},
		Priority: 60,
		Formats:  append([]string{" to=NAME<|message|>" + body.Formats[0] + "<|eom|>"}, " to=self<|message|>TEXT<|eom|>", " to=user<|message|>TEXT<|eot|>"),
		Example:  "to=get_weather<|message|>" + body.Example + "<|eot|>",
		Triggers: []string{startTag + assistant + " to=", startTag + assistant + messageTag, atemBlock},
		Starts:   []string{recipient, messageTag},
		Models:   []string{"*muse*", "*glimmer*"},
	}, f, museHead)
}

// museHead wants a recipient and the end of the header right behind it, or a block without any.
func museHead(head []byte) sdk.Verdict {
	if v := markup.MatchAny(head, startTag+assistant+messageTag, messageTag, atemBlock); v == sdk.Yes {
		return v
	}
	head = bytes.TrimPrefix(head, []byte(startTag+assistant))
	rest, found := bytes.CutPrefix(chars.SkipSpace(head), []byte(recipient))
	if !found {
		return markup.MatchAny(chars.SkipSpace(head), recipient, startTag+assistant, messageTag, atemBlock)
	}
	name := word(rest)
	if len(name) == len(rest) {
		return sdk.Maybe
	}
	if !validName(name) {
		return sdk.No
	}
	return markup.Match(rest[len(name):], messageTag)
}

func readMuse(header []byte) message {
	_, to, found := bytes.Cut(header, []byte(recipient))
	switch to = chars.TrimSpace(to); {
	case !found: // its block says what it is
		return message{kind: isCall}
	case string(to) == "user", string(to) == "commentary":
		return message{kind: isContent}
	case string(to) == "self":
		return message{kind: isReasoning}
	}
	if !validName(to) {
		return message{kind: isContent}
	}
	return message{kind: isCall, name: string(to)}
}
